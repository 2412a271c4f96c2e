"""Checks of what a diagnosis says about values: copied, worked out, left out, first said."""

from __future__ import annotations

import re
from datetime import date, timedelta
from fractions import Fraction

from _audit_text import (
    Claim,
    Run,
    Template,
    arguments,
    evaluate,
    first_fault,
    flat,
    folded,
    number,
    numbers,
    own,
    results,
    same_value,
    stands,
    template,
    unless,
    whole,
    within,
)

_MARKUP = re.compile(r"og:|(?:width|height|viewport|scale)\W|https?://\S*$|\bFile \"|\.py[:\"]")
_MONTHS = {
    name[:3]: place
    for place, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SMALL = dict(
    zip(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
        range(13),
        strict=True,
    )
)
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "that this with from have here what which when where there their them then than they were will would "
        "been into your about total answer result value step code task plan based following provided exitcode "
        "execution succeeded output print using",
    )
)
_LINE = 200
"""Characters from which a line is more than a piece of mark-up."""
_NEAR = 3
"""Words beside a value that may name it."""
_BARE = 120
"""Characters of a source that has hardly more than its value."""


def _speaker(claim: Claim, name: str = "agent") -> str:
    said = claim.text(name)
    return unless(claim.step.agent == said, f"step {claim.index} is by {claim.step.agent!r}")


def _says(claim: Claim) -> str:
    return unless(same_value(claim.text("value"), own(claim.step)), f"{claim.text('value')!r} is not said in the step")


def _passes(claim: Claim) -> str:
    calls = [call for call in claim.step.tool_calls if call.name == claim.text("tool")]
    return first_fault(
        unless(bool(calls), f"no call of {claim.text('tool')!r} in the step"),
        unless(stands(claim.text("value"), arguments(claim.step)), f"{claim.text('value')!r} is not passed"),
    )


def _act(claim: Claim) -> str:
    return _passes(claim) if "tool" in claim.words else _says(claim)


def _source(claim: Claim) -> tuple[str, str]:
    """What is wrong with the source that is named, and its text."""
    if "n" not in claim.words:
        if "who" not in claim.words:
            return "", claim.run.task
        given = [step for step in claim.run.steps[: claim.index] if step.agent == claim.text("who")]
        return unless(bool(given), f"{claim.text('who')!r} says nothing before it"), "\n".join(map(whole, given))
    source = claim.other()
    if source is None or source.index > claim.index:
        return f"step {claim.number('n')} does not come before it", ""
    who = claim.text("who")
    calls = [call for call in source.tool_calls if call.name == who]
    text = "\n".join(call.result or call.error or "" for call in calls) if calls else whole(source)
    return unless(bool(calls) or source.agent == who, f"step {source.index} is by {source.agent!r}"), text


def _contradicts(claim: Claim) -> str:
    fault, text = _source(claim)
    value, other = claim.text("value"), claim.text("other")
    return first_fault(
        _speaker(claim),
        _act(claim),
        fault,
        unless(same_value(other, text), f"{other!r} does not stand in the source"),
        unless(folded(value) != folded(other), "both values are the same"),
        unless(
            is_of_the_same(value, own(claim.step), other, text),
            f"nothing in the texts shows that {value!r} and {other!r} are values of the same thing",
        ),
    )


def is_of_the_same(value: str, own_text: str, other: str, source: str) -> bool:
    """Whether one value stands in the place of the other: in a like sentence, under one key, or against a bare reply.

    Both must be of one sort, and the two lines may not each have a name or number that the other lacks.
    """
    if _is_slip(value, other):
        pairs = ((a, b) for a in _lines(value, own_text) for b in _lines(other, source))
        return any(not _is_of_another(a, b, value, other) for a, b in pairs)
    if _sort(value) != _sort(other):
        return False
    for mine in _lines(value, own_text):
        for theirs in _lines(other, source):
            if '":' in theirs and _has_key(mine, theirs, other):
                return True
            if _is_named_otherwise(mine, theirs, value, other):
                continue
            is_name = _sort(value) == "words"
            if _is_alike(mine, theirs, value, other):
                return True
            if not is_name and not _beside(value, mine).isdisjoint(_beside(other, theirs)):
                return True
    is_bare = len(flat(source)) <= _BARE and len(numbers(source)) == 1
    return _sort(value) != "words" and is_bare and not same_value(value, source)


def _is_slip(value: str, other: str) -> bool:
    """Whether one may be a slip of the other: digits exchanged, a unit or a part of a name changed, a day off."""
    days = [_date(one, 2023) for one in (value, other)]
    if days[0] is not None and days[1] is not None:
        return abs((days[0] - days[1]).days) <= 31
    a, b = (re.sub(r"[\W_]+", "", one).casefold() for one in (value, other))
    digits = [re.sub(r"\D", "", one) for one in (value, other)]
    if min(len(a), len(b)) < 2 or (_sort(value) == "small") != (_sort(other) == "small"):
        return False
    if digits[0] and digits[0] == digits[1]:
        return True
    if not digits[0] and not digits[1]:
        return bool(set(value.casefold().split()) & set(other.casefold().split())) and a[:2] == b[:2]
    if len(digits[0]) == len(digits[1]) > 1:
        apart = sum(x != y for x, y in zip(*digits, strict=True))
        return sorted(digits[0]) == sorted(digits[1]) or (len(digits[0]) > 3 and apart == 1)
    return False


def _is_of_another(mine: str, theirs: str, value: str, other: str) -> bool:
    """Whether each line has two names or numbers that the other lacks: two things of one sort."""
    a, b = _specific(mine, value), _specific(theirs, other)
    return len(a - b) >= 2 and len(b - a) >= 2


def _sort(value: str) -> str:
    """A year, a date, a small number in words, a number, a code, or words."""
    plain = value.strip()
    if re.fullmatch(r"(?:1[5-9]|20)\d\d", plain):
        return "year"
    if _date_texts(plain):
        return "date"
    if plain.casefold() in _SMALL:
        return "small"
    if number(plain) is not None:
        return "number"
    return "code" if any(char.isdigit() for char in plain) else "words"


def _lines(value: str, text: str) -> list[str]:
    """The lines, and of long ones the sentences, in which a value stands; of JSON the object."""
    parts = re.split(r"\n|(?<=[.!?])\s+|[{}]", text)
    return [part for part in parts if same_value(value, part)]


def _specific(line: str, *without: str) -> set[str]:
    """The names and numbers of a line that tell what it is about; in JSON the names alone, of currencies none."""
    for value in without:
        line = line.replace(value, " ")
    numbers_too = r"|\d[\w.,]*" if '":' not in line else ""
    found = re.findall(rf"(?<!\w)[A-Z]\w+{numbers_too}", re.sub(r"^\W*\w+", " ", line))
    return {one for one in found if re.fullmatch(r"[A-Z]{3}", one) is None}


def _is_named_otherwise(mine: str, theirs: str, value: str, other: str) -> bool:
    a, b = _specific(mine, value), _specific(theirs, other)
    return bool(a - b) and bool(b - a)


def _is_alike(mine: str, theirs: str, value: str, other: str) -> bool:
    a, b = (
        set(re.findall(r"[^\W\d_]{3,}", line.replace(gone, " ").casefold()))
        for line, gone in ((mine, value), (theirs, other))
    )
    return len(a & b) * 3 >= len(a | b) > 0


def _has_key(line: str, entry: str, value: str) -> bool:
    """Whether a line has the words of the key that a JSON object has before a value."""
    key = re.search(rf'"([^"]+)"\s*:\s*"?[^,"]*(?<![\w.]){re.escape(value)}(?!\w)', entry)
    names = re.findall(r"[^\W\d_]{4,}", key[1].casefold()) if key is not None else []
    return bool(names) and all(one[:5] in line.casefold() for one in names)


def _beside(value: str, line: str) -> set[str]:
    """The telling words within three words of a value."""
    plain, wanted = folded(line), folded(value)
    at = plain.find(wanted)
    if at < 0:
        return set()
    if '":' in line:  # in JSON the key alone
        at = at - len(plain[:at].rpartition(",")[2])
        plain = plain[at:].partition(",")[0]
        at = plain.find(wanted)
    before = re.findall(r"[^\W\d_]{3,}", plain[:at].replace("_", " "))[-_NEAR:]
    after = re.findall(r"[^\W\d_]{3,}", plain[at + len(wanted) :].replace("_", " "))[:_NEAR]
    return {word[:6] for word in (*before, *after)} - {word[:6] for word in _COMMON}


def _leaves_out(claim: Claim) -> str:
    source = claim.run.task if "n" not in claim.words else whole(step) if (step := claim.other()) is not None else ""
    place = claim.quote or claim.step.content
    for value in claim.texts("values"):
        fault = first_fault(
            unless(same_value(value, source), f"{value!r} does not stand in the source"),
            unless(_times(value, place) < _times(value, source), f"{value!r} stands in the passage"),
            unless(claim.quote != "" or not same_value(value, own(claim.step)), f"{value!r} stands in the step"),
        )
        if fault:
            return fault
    others = _listed_with(claim.texts("values")[0], source)
    kept = [one for one in others if _is_kept(one, own(claim.step))]
    return first_fault(_speaker(claim), unless(len(kept) >= 2, "fewer than two others of the list stand in the step"))


def _times(value: str, text: str) -> int:
    return len(re.findall(rf"(?<![\w.]){re.escape(folded(value))}(?!\w|[.,]\d)", folded(text)))


def _is_kept(item: str, text: str) -> bool:
    """Whether an item of a list stands in a text: a number as it is, a thing with each of its first telling words."""
    words = re.findall(r"[^\W\d_]{4,}", re.sub(r"\(.*|:.*", "", item).casefold())[:2]
    if not words:
        return same_value(item, text)
    return all(re.search(rf"(?<!\w){re.escape(word[:5])}", text.casefold()) for word in words)


def _listed_with(value: str, source: str) -> list[str]:
    """The other items of the list that a value is an item of: numbers for a number, else a row of commas or marks."""
    if number(value) is not None:
        return [one for one in re.findall(r"\d[\d.,]*\d|\d", source) if one not in value]
    marked = [
        re.sub(r"^\s*(?:[-*\u2022]|\d+[.)])\s*", "", one)
        for one in re.findall(r"^\s*(?:[-*\u2022]|\d+[.)])\s.*", source, re.MULTILINE)
    ]
    if any(within(value, one) for one in marked):
        return [flat(one).strip(" .*:")[:60] for one in marked if not within(value, one)]
    for sentence in re.split(r"\n|(?<=[.:!?])\s", source):
        items = [flat(one).strip(" .*'\"[]") for one in re.split(r",\s*(?:and |or )?|;|\band\b|\bor\b|&", sentence)]
        if len(items) >= 3 and any(folded(value) in (folded(one), _bare_item(one)) for one in items):
            return [one for one in items if folded(value) not in (folded(one), _bare_item(one))]
    return []


def _bare_item(item: str) -> str:
    """An item without the words that lead its list in, or a note in brackets."""
    return folded(re.sub(r"\(.*", "", item.rpartition(":")[2]))


def _reply_has(claim: Claim) -> str:
    text = results(claim.step)
    return first_fault(
        _speaker(claim),
        _passes(claim),
        unless(within(claim.text("other"), text), f"{claim.text('other')!r} is not in the reply"),
        unless(within(claim.text("key"), text), f"{claim.text('key')!r} is not in the reply"),
        unless(claim.text("other") != claim.text("value"), "both values are the same"),
    )


def _reply_lacks(claim: Claim) -> str:
    return first_fault(
        _speaker(claim),
        _passes(claim),
        unless(not within(claim.text("value"), results(claim.step)), "the reply has it"),
    )


def _exchanged(claim: Claim) -> str:
    one, other = claim.text("one"), claim.text("two")
    goes = rf"{re.escape(other)}(?!\w).{{0,80}}?(?:\bto\b|\binto\b|\bin\b|→|->).{{0,30}}?(?<!\w){re.escape(one)}"
    return first_fault(
        _speaker(claim),
        unless(stands(one, arguments(claim.step)) and stands(other, arguments(claim.step)), "not both are passed"),
        unless(re.search(goes, flat(claim.run.task), re.IGNORECASE) is not None, "the task does not say that order"),
    )


def _nobody_before(claim: Claim) -> str:
    value = claim.text("value")
    before = next((at for at, text in enumerate(claim.run.earlier(claim.index)) if same_value(value, text)), None)
    where = "the task" if before == 0 else f"step {(before or 0) - 1}"
    said = "tool" in claim.words or any(
        len(line) > _LINE or not _MARKUP.search(line) for line in _lines(value, claim.step.content)
    )
    return first_fault(
        _speaker(claim),
        _act(claim),
        unless(before is None, f"{value!r} stands in {where}"),
        unless(said or not claim.step.content, f"{value!r} stands only in mark-up, an address or a traceback"),
    )


def _written(calculation: str, text: str) -> bool:
    """Whether the numbers of a calculation all stand in a text."""
    parts = re.findall(r"\d+(?:[.,]\d+)*", calculation)
    return all(re.search(rf"(?<!\d){re.escape(part)}(?!\d)", text) for part in parts)


def _date_texts(text: str) -> list[str]:
    return re.findall(r"\d{4}-\d\d-\d\d|(?:[A-Z][a-z]{2,8} \d{1,2}|\d{1,2} [A-Z][a-z]{2,8})", text)


def _calculated(claim: Claim) -> str:
    """Of "A is B, not C" A and C stand in the step, and A comes to B."""
    left, right, said = (claim.words[name] for name in ("left", "right", "said"))
    dated = _calendar(left, right, said, claim.run)
    if dated is not None:
        return first_fault(dated, unless(within(said.split()[-1], claim.step.content), f"{said!r} is not in the step"))
    value, stated = evaluate(left), evaluate(right)
    if value is None or stated is None:
        return f"{left!r} cannot be worked out"
    places = len(right.partition(".")[2].strip("% ").split(" ")[0]) if "." in right else 0
    return first_fault(
        unless(abs(value - stated) <= Fraction(1, 2 * 10**places), f"it is {float(value):g}"),
        unless(evaluate(said) != stated, "both results are the same"),
        unless(_written(left, claim.step.content), f"{left!r} is not written in the step"),
        unless(
            same_value(said, claim.step.content) or within(said, claim.step.content), f"{said!r} is not in the step"
        ),
    )


def _calendar(left: str, right: str, said: str, run: Run) -> str | None:
    """What is wrong with a statement about dates; None when it is none."""
    weekday = re.fullmatch(r"an? (\w+)", right)
    if weekday is not None and weekday[1] in _DAYS:
        day = _date(left, None)
        return unless(day is not None and _DAYS[day.weekday()] == weekday[1], "the calendar has another weekday")
    term = re.fullmatch(r"(\d+) (?:working )?(day|week|night)s? (after|before) (.+)", left)
    if term is not None:
        year = next((int(one) for one in re.findall(r"\b(?:19|20)\d\d\b", f"{right} {left} {run.task}")), 2023)
        begin, end = _date(term[4], year), _date(right, year)
        days = int(term[1]) * (7 if term[2] == "week" else 1) * (1 if term[3] == "after" else -1)
        if begin is None or end is None:
            return "the dates cannot be read"
        right_day = _working(begin, days) if " working " in left else begin + timedelta(days=days)
        return unless((right_day.month, right_day.day) == (end.month, end.day), f"it is {right_day}")
    span = re.fullmatch(r"from (.+) to (.+)", left, re.IGNORECASE)
    if span is not None:
        one, other = _date(span[1], 2023), _date(span[2], 2023)
        count = re.match(r"\d+", right)
        if one is None or other is None or count is None:
            return "the dates cannot be read"
        both = 1 if right.endswith("counted with both") else 0
        return unless((other - one).days + both == int(count[0]), f"it is {(other - one).days + both}")
    return None


def _working(day: date, count: int) -> date:
    while count:
        day += timedelta(days=1)
        count -= day.weekday() < 5
    return day


def _date(text: str, year: int | None) -> date | None:
    iso = re.search(r"(\d{4})-(\d\d)-(\d\d)", text)
    if iso is not None:
        return date(int(iso[1]), int(iso[2]), int(iso[3]))
    month = next(
        (_MONTHS[word[:3].casefold()] for word in re.findall(r"[A-Za-z]{3,}", text) if word[:3].casefold() in _MONTHS),
        None,
    )
    day = re.search(r"(?<!\d)(\d{1,2})(?:st|nd|rd|th)?(?!\d)", text)
    named = re.search(r"\b(\d{4})\b", text)
    full_year = int(named[1]) if named is not None else year
    if month is None or day is None or full_year is None:
        return None
    try:
        return date(full_year, month, int(day[1]))
    except ValueError:
        return None


_SOURCES = (
    "{who!} returned {other!} in step {n#}.",
    "{who!} said {other!} in step {n#}.",
    "the task says {other!}.",
    "{who!} said {other!}.",
)
_ACTS = ("{agent!} says {value!}", "{agent!} passes {value!} to {tool!}")
_LONE = "; nobody said it before, and no tool returned it."

VALUES: tuple[Template, ...] = (
    *(template(f"{act}, but {source}", _contradicts) for act in _ACTS for source in _SOURCES),
    *(template(act + _LONE, _nobody_before) for act in _ACTS),
    template("{agent!} leaves out {values*}, which step {n#} lists with the others.", _leaves_out),
    template("{agent!} leaves out {values*}, which the task lists with the others.", _leaves_out),
    template("{agent!} passes {value!} to {tool!}, whose reply has {other!} as {key!}.", _reply_has),
    template("{agent!} passes {value!} to {tool!}, whose reply repeats all of the call but this.", _reply_lacks),
    template(
        "{agent!} asks {tool!} for {a~} {one!} and {b~} {two!}, but the task goes from {second!} to {first!}.",
        _exchanged,
    ),
)
"""What is said of values; the general form of a calculation is last of all, since it fits nearly anything."""

CALCULATION = template("{left~} is {right~}, not {said~}.", _calculated)
