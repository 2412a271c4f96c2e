"""Expected answers as values: a number, a date or time, a yes or no, or a list; and the like of them in an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from tracer_hooks.values._dates import WEEKDAYS, DateValue, TimeValue, dates_in, same_date, same_time, times_in
from tracer_hooks.values._quantities import Quantity, quantities_in, same_quantity
from tracer_hooks.values._stated import open_choices, stated_values
from tracer_hooks.values._text import folded, lazy

_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_ORDINAL_WORDS = _ORDINALS.split()
_ORDINAL = lazy(rf"\b(?:(\d{{1,9}})(?:st|nd|rd|th)|({'|'.join(_ORDINAL_WORDS)}))\b", re.IGNORECASE)
_WRAPPING = " \t\n\"'`*.,;:!$()[]"
_NOUN = lazy(r"(?:\s?-?[^\W\d_]{2,20}){1,2}")
_RANGE_BETWEEN = lazy(r"\s?(?:[-–—]|to|and|through|until|bis)\s?")
_CHANGE = lazy(
    r"\b(?:rose|rises|fell|grew|went|moved|changed|increased|decreased|dropped|up|down|converted) from\s$",
    re.IGNORECASE,
)


class ExpectedNumber(NamedTuple):
    """A number to look for."""

    quantity: Quantity
    noun: str = ""
    """The noun that is counted, folded: "copies"."""
    upper: Quantity | None = None
    """The other end, when a range is expected."""
    is_ordinal: bool = False


class Range(NamedTuple):
    """Two quantities with "to" or a dash between them."""

    lower: Quantity
    upper: Quantity
    text: str
    start: int
    end: int


def expected_number(expected: str) -> ExpectedNumber | None:
    """The number that ``expected`` is, and nothing else but its unit and one noun; None where it is text."""
    ordinals = ordinals_in(expected)
    if len(ordinals) == 1 and ordinals[0].text == expected.strip():
        return ExpectedNumber(ordinals[0], is_ordinal=True)
    found = quantities_in(expected)
    ranges, _ = _ranges(expected, found)
    if len(ranges) == 1 and not _rest(expected, ranges[0].start, ranges[0].end):
        return ExpectedNumber(ranges[0].lower, upper=ranges[0].upper)
    if len(found) != 1:
        return None
    quantity = found[0]
    before, after = expected[: quantity.start], expected[quantity.end :].strip(_WRAPPING)
    if before.strip(_WRAPPING) and not quantity.is_approximate:
        return None
    if not after:
        return ExpectedNumber(replace(quantity, is_label=False))
    return ExpectedNumber(quantity, noun=folded(after)) if _NOUN.fullmatch(after) else None


def numbers_that_count(expected: ExpectedNumber, answer: str) -> Sequence[Quantity | Range]:
    """The numbers of ``answer`` that are its answer, of the kind that is expected; none where it states none."""
    found = quantities_in(answer)
    ranges, ends = _ranges(answer, found)
    if expected.upper is not None:
        return stated_values(answer, ranges)
    if expected.is_ordinal and (ordinals := ordinals_in(answer)):
        return stated_values(answer, ordinals)
    choices = open_choices(answer, found)
    singles = [quantity for at, quantity in enumerate(found) if at not in ends and at not in choices]
    if not all(quantity.in_words for quantity in singles):
        singles = [quantity for quantity in singles if not (quantity.in_words and quantity.value == 1)]
    singles = _of_kind(expected, singles, answer)
    if not singles and not found:
        singles = ordinals_in(answer)
    return stated_values(answer, singles)


def is_number(expected: ExpectedNumber, found: Quantity | Range) -> bool:
    """Tell whether ``found`` is the expected number."""
    if isinstance(found, Range):
        return expected.upper is not None and all(
            same_quantity(*ends) for ends in ((expected.quantity, found.lower), (expected.upper, found.upper))
        )
    return same_quantity(expected.quantity, found)


def number_places(expected: ExpectedNumber, text: str) -> list[tuple[int, int]]:
    """The places of the number in ``text``, in any role."""
    found = quantities_in(text)
    if expected.upper is not None:
        return [(each.start, each.end) for each in _ranges(text, found)[0] if is_number(expected, each)]
    everything = found + ordinals_in(text) + (_years(text) if _is_year(expected.quantity) else [])
    return [(each.start, each.end) for each in everything if same_quantity(expected.quantity, each)]


def ordinals_in(text: str) -> list[Quantity]:
    """The ordinal numbers, in digits and up to twelve in words, as 3 for "third"."""
    return [
        Quantity(
            Fraction(int(match[1]) if match[1] else _ORDINAL_WORDS.index(match[2].casefold()) + 1),
            None,
            match.group(),
            match.start(),
            match.end(),
        )
        for match in _ORDINAL.finditer(text)
    ]


def _of_kind(expected: ExpectedNumber, found: list[Quantity], answer: str) -> list[Quantity]:
    """The candidates that can be meant: years for a year, the right unit, the right noun; no labels if possible."""
    if _is_year(expected.quantity):
        years = [quantity for quantity in found if _is_year(quantity)]
        years = sorted(years + _years(answer), key=lambda quantity: quantity.start)
        if years:
            return years
    if expected.quantity.unit is not None:
        same_measure = [quantity for quantity in found if _may_be(expected.quantity, quantity)]
        found = [quantity for quantity in same_measure if quantity.unit] or same_measure or found
    if expected.noun:
        found = _with_noun(expected.noun, found, answer)
    return [quantity for quantity in found if not quantity.is_label] or found


def _may_be(expected: Quantity, found: Quantity) -> bool:
    return same_quantity(replace(expected, value=Fraction(0)), replace(found, value=Fraction(0)))


def _with_noun(noun: str, found: list[Quantity], answer: str) -> list[Quantity]:
    stem = noun.rsplit(" ", 1)[-1].rstrip("s")
    following = {quantity.start: folded(answer[quantity.end : quantity.end + 60]) for quantity in found}
    named = [
        quantity
        for quantity in found
        if any(
            word.startswith(stem[:-1] if stem.endswith("ie") else stem)
            for word in following[quantity.start].split()[:3]
        )
    ]
    # A number that no word follows may count the same.
    return named or [quantity for quantity in found if not following[quantity.start][:1].isalpha()]


def _is_year(quantity: Quantity) -> bool:
    return quantity.text.isdigit() and len(quantity.text) == 4 and 1000 <= quantity.value <= 2199


def _years(text: str) -> list[Quantity]:
    return [
        Quantity(Fraction(date.year), None, str(date.year), date.start, date.end)
        for date in dates_in(text)
        if date.year is not None
    ]


def _ranges(text: str, found: Sequence[Quantity]) -> tuple[list[Range], set[int]]:
    """The ranges in ``text``, and the numbers of those ``found`` that are their ends."""
    ranges: list[Range] = []
    ends: set[int] = set()
    for at in range(1, len(found)):
        lower, upper = found[at - 1], found[at]
        if at - 1 in ends or upper.start - lower.end > 10 or lower.value >= upper.value:
            continue
        joint = text[lower.end : upper.start]
        before = text[max(0, lower.start - 30) : lower.start].casefold()
        if _joins(joint, before) and not re.match(r"\s?=", text[upper.end : upper.end + 3]):
            unit = lower.unit or upper.unit
            ranges.append(
                Range(replace(lower, unit=unit), upper, text[lower.start : upper.end], lower.start, upper.end)
            )
            ends |= {at - 1, at}
    return ranges, ends


def _joins(joint: str, before: str) -> bool:
    if not _RANGE_BETWEEN.fullmatch(joint):
        return False
    if "and" in joint:
        return before.endswith("between ")
    if joint == " - ":
        return False  # a subtraction
    return _CHANGE.search(before) is None


def _rest(text: str, start: int, end: int) -> str:
    return (text[:start].casefold().replace("between", "").replace("from", "") + text[end:]).strip(_WRAPPING)


_FILLING = frozenset(["at", "on", "the", "of", ",", "t", "z", "uhr"])


class ExpectedMoment(NamedTuple):
    """A date, a time of day, or a date with a time."""

    date: DateValue | None
    time: TimeValue | None


def expected_moment(expected: str) -> ExpectedMoment | None:
    """The date or time that ``expected`` is and nothing else; None where it is something else."""
    dates, times = dates_in(expected), times_in(expected)
    if len(dates) > 1 or len(times) > 1 or not (dates or times):
        return None
    rest = expected
    values: list[DateValue | TimeValue] = [*dates, *times]
    for value in sorted(values, key=lambda value: -value.start):
        rest = f"{rest[: value.start]} {rest[value.end :]}"
    words = folded(rest).replace(",", " ").strip(" .").split()
    if not all(word in _FILLING or word.capitalize() in WEEKDAYS for word in words):
        return None
    return ExpectedMoment(dates[0] if dates else None, times[0] if times else None)


def moments_that_count(expected: ExpectedMoment, answer: str) -> Sequence[DateValue | TimeValue]:
    """The dates (or times, where only a time is expected) that are the answer's answer."""
    if expected.date is not None:
        return stated_values(answer, _not_left(answer, dates_in(answer)), one_a_sentence=False)
    return stated_values(answer, times_in(answer), one_a_sentence=False)


def _not_left(answer: str, dates: Sequence[DateValue]) -> list[DateValue]:
    """Without the dates that something was moved away from: "from May 1 to May 2"."""
    kept = list(dates)
    for date, following in pairwise(dates):
        is_from = answer[max(0, date.start - 5) : date.start].casefold() == "from "
        if is_from and answer[date.end : following.start].strip() == "to":
            kept.remove(date)
    return kept


def is_moment(expected: ExpectedMoment, found: DateValue | TimeValue, answer: str) -> bool:
    """Tell whether ``found`` is the expected date or time; with a date, the time has to stand somewhere, too."""
    if isinstance(found, TimeValue):
        return expected.time is not None and same_time(expected.time, found)
    if expected.date is None or not same_date(expected.date, found):
        return False
    time = expected.time
    return time is None or any(same_time(time, other) for other in times_in(answer))


def moment_places(expected: ExpectedMoment, text: str) -> list[tuple[int, int]]:
    """The places of the date and the time in ``text``, in any role; nowhere where one of them is missing."""
    date, time = expected.date, expected.time
    dates = [other for other in dates_in(text) if date is not None and same_date(date, other)]
    if date is not None and not dates:
        return []
    times = [other for other in times_in(text) if time is not None and same_time(time, other)]
    if time is not None and not times:
        return []
    return [(date.start, date.end) for date in dates] + [(other.start, other.end) for other in times]


_BULLET = lazy(r"^\s{0,12}(?:[-*•–+]|\d{1,3}[.)])\s+(?=\S)")
_SEPARATOR = lazy(r";\s*|,\s*(?=\D)|,\s+|(?<=\D),\s*")
_AND = lazy(r"\s+(?:and|or|und|&)\s+")
_LEADING_AND = lazy(r"^(?:and|or|und|&)\s+", re.IGNORECASE)
_SENTENCE = lazy(r"[.!?:=<>{}()\[\]]|^(?:not|but)\b")
_INTRODUCTION = lazy(r"^.{0,80}?\b(?:are|is|were|was|includes?)\b\s", re.IGNORECASE)
_BRACKETS = {"[": "]", "(": ")", "{": "}"}
_BRACKETED = lazy(r"\[[^\[\]\n]{0,5000}\]|\([^()\n]{0,5000}\)|\{[^{}\n]{0,5000}\}")
_MAX_WORDS = 4


class Listing(NamedTuple):
    """The items of a list."""

    items: tuple[str, ...]
    is_ordered: bool = False
    """In square or round brackets, as programs print lists: the order counts."""


def expected_list(expected: str) -> Listing | None:
    """The list that ``expected`` is, from two items on; None where it is a text."""
    text = expected.strip()
    found = _bracketed(text) or _bulleted(text.splitlines()) or _in_line(text)
    return found if found and (len(found.items) > 1 or found.is_ordered) else None


def answered_list(answer: str, longest: int) -> Listing | None:
    """The list that ``answer`` is and nothing else but an introduction; None where it is prose.

    ``longest`` is how many words the longest expected item has: what has clearly longer ones is prose.
    """
    text = answer.strip()
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and lines[0].rstrip().endswith(":") and len(lines) > 1:
        lines = lines[1:]
    found = _bracketed(text) or _bulleted(lines)
    if found is None and len(lines) == 1:
        line = lines[0].rpartition(": ")[2].rstrip(" .")
        for part in (line, _INTRODUCTION.sub("", line, count=1)):
            found = _in_line(part, _MAX_WORDS)
            if found and all(len(item.split()) <= longest + 1 for item in found.items):
                return found
        return None
    return found


def lists_in_brackets(answer: str) -> list[Listing]:
    """Every list in brackets within ``answer``."""
    found = (_bracketed(match.group()) for match in _BRACKETED.finditer(answer))
    return [listing for listing in found if listing]


def _bracketed(text: str) -> Listing | None:
    if len(text) < 3 or _BRACKETS.get(text[0]) != text[-1]:
        return None
    inner = text[1:-1]
    if any(sign in inner for sign in "[]{}():") or not inner.strip():
        return None
    items = tuple(item.strip().strip("'\"") for item in inner.split(","))
    if items and not items[-1]:
        items = items[:-1]
    return Listing(items, is_ordered=text[0] != "{") if all(items) and items else None


def _bulleted(lines: list[str]) -> Listing | None:
    items = [_BULLET.sub("", line).strip() for line in lines if _BULLET.match(line)]
    return Listing(tuple(items)) if items and len(items) == len([line for line in lines if line.strip()]) else None


def _in_line(text: str, most_words: int = _MAX_WORDS) -> Listing | None:
    """``a, b and c``; several lines, sentences and long items are text."""
    if "\n" in text or len(text) > 5_000:
        return None
    if re.fullmatch(r"-?\d+(?:,-?\d+){2,}", text):
        return Listing(tuple(text.split(",")))
    parts = [part for part in _SEPARATOR.split(text) if part.strip()]
    if not parts:
        return None
    if len(parts) == 1:
        parts = _AND.split(text)
        most_words = 2
    else:
        parts[-1:] = _AND.split(_LEADING_AND.sub("", parts[-1])) if "," in text or ";" in text else parts[-1:]
    items = tuple(part.strip() for part in parts)
    if len(items) < 2 or not all(items):
        return None
    if any(len(item.split()) > most_words or _SENTENCE.search(_without_number(item)) for item in items):
        return None
    return Listing(items)


def _without_number(item: str) -> str:
    return re.sub(r"\d[\d.,:/-]*", "0", item)


_TRUTHS = {
    **dict.fromkeys(("yes", "true", "yeah", "yep", "correct", "right", "ja", "affirmative"), True),
    **dict.fromkeys(("no", "false", "nope", "nah", "incorrect", "wrong", "untrue", "nein", "negative"), False),
}
_EXPECTED = ("yes", "no", "true", "false")
_NO_ANSWER = lazy(r"\bno (?:problem|worries|doubt|wonder)\b|\bof course\b|\bright (?:now|away)\b|\ball right\b")
_TRUTH_WORD = r"(yes|yeah|yep|ja|true|correct|affirmative|no|nope|nah|nein|false|incorrect|untrue|wrong|negative|right)"
_STATED = lazy(rf"\b(?:answer|result|verdict|conclusion)\b\W{{0,4}}(?:is\b|=)?\W{{0,4}}{_TRUTH_WORD}\b")
_FIRST = lazy(rf"^\W{{0,4}}{_TRUTH_WORD}(?=$|[\s.,;:!?)\"'-])")
_LAST = lazy(rf"(?:^|[\s:(\"']){_TRUTH_WORD}\W{{0,4}}$")
_CLAIM = lazy(
    r"\b(?P<not>not|n't|isn't|aren't|wasn't|doesn't|never)?\s?(?:a |an |the |entirely |quite )?"
    r"(?P<word>true|correct|right|false|incorrect|untrue|wrong)\b"
)
_REFUSAL = lazy(
    r"(?:^|\s)(?:(?:unfortunately|certainly|definitely|absolutely|afraid|probably|surely)\s+not"
    r"|(?:is|are|was|were|does|do|did|can|will|has|have)(?: not|n't))\W{0,4}$"
)
_ALONE = lazy(r"\b(?P<word>yes|nope|yep|yeah)\b|\bno\b(?=[.,;!]|$)")
_BOTH = lazy(r"\byes (?:and|or) no\b|\bno (?:and|or) yes\b|\btrue or false\b|\byes/no\b")
_NEGATED = lazy(r"(?:\bnot|n't|never)\s(?:a |an |the |quite |entirely )?$")
_ENDS = 2_000
"""Characters of the beginning and of the end of an answer that are read for its yes or no."""


def expected_truth(expected: str) -> bool | None:
    """The yes or no (or true or false) that ``expected`` is; None where it is something else."""
    word = folded(expected).strip(" .!\"'")
    return _TRUTHS[word] if word in _EXPECTED else None


def answered_truth(answer: str) -> bool | None:
    """Tell whether ``answer`` says yes or no; None where it says neither, or both."""
    whole = folded(answer)
    text = whole if len(whole) <= 2 * _ENDS else f"{whole[:_ENDS]} ... {whole[-_ENDS:]}"
    text = _NO_ANSWER.sub(" ", text).strip()
    if _BOTH.search(text):
        return None
    stated = _STATED.findall(text)
    if stated:
        return _TRUTHS[stated[-1]]
    for pattern in (_FIRST, _LAST):
        match = pattern.search(text)
        if match and not _NEGATED.search(text[max(0, match.start(1) - 20) : match.start(1)]):
            return _TRUTHS[match[1]]
    if _REFUSAL.search(text):
        return False
    claims = {_TRUTHS[match["word"]] != bool(match["not"]) for match in _CLAIM.finditer(text)}
    alone = {match["word"] is not None and match["word"] != "nope" for match in _ALONE.finditer(text)}
    said = alone or claims
    return said.pop() if len(said) == 1 else None
