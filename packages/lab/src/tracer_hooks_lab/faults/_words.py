"""Words that can be exchanged in place: names of the run, words with an opposite, and units with a neighbour."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from random import Random

from tracer_hooks_lab.faults._text_parts import sentences

_NAME = re.compile(r"\b[A-Z][a-z]+(?:[ -][A-Z][a-z]+)*\b")
_QUOTED = re.compile(r"(?<=[\"'`])[A-Za-z][\w .-]{1,40}(?=[\"'`])")
_NO_NAMES = frozenset(
    re.findall(
        r"\w+",
        "I A An The If So It We You He She They This That These Those In On At To For From With And Or But As Then "
        "Thus Hence Therefore Next First Second Third Finally Now Let Step Answer Final Result Total Note Checked "
        "Correct Yes No True False Plan Please Here There When Where Since Because After Before Each Every All "
        "Both Given Task Question What Which Who How Why Is Are Was Were Do Does Did Can Could Should Would Will "
        "Use Using Add Compute Return Call Find Check Verify Sum Times Divide Subtract Python Monday Tuesday "
        "Wednesday Thursday Friday Saturday Sunday January February March April May June July August September "
        "October November December None EUR USD ",
    )
)


def names_in(text: str) -> list[str]:
    """Names of people, places and things in a text: capitalised inside a sentence, or quoted; each once, in order."""
    starts = {span.start for span in sentences(text)}
    found = []
    for match in _NAME.finditer(text):
        name, start = match.group(), match.start()
        if start in starts:  # the first word of a sentence is a name only if it stands elsewhere as well
            first, _, rest = name.partition(" ")
            if first in _NO_NAMES:
                name = rest
            elif not rest and len(re.findall(rf"\b{re.escape(name)}\b", text)) < 2:
                continue
        if name and name not in _NO_NAMES:
            found.append(name)
    found += [match.group() for match in _QUOTED.finditer(text)]
    return list(dict.fromkeys(found))


def other_name(name: str, known: Iterable[str], rng: Random) -> str | None:
    """Another name of the run to stand in for ``name``: of as many words, when there is one."""
    others = [other for text in known for other in names_in(text) if other.lower() != name.lower()]
    others = [o for o in dict.fromkeys(others) if o not in name and name not in o]
    alike = [o for o in others if o.count(" ") == name.count(" ")]
    return rng.choice(alike or others) if others else None


def exchange(text: str, one: str, other: str) -> str:
    """``text`` with two names in each other's place."""
    both = re.compile(rf"\b(?:{re.escape(one)}|{re.escape(other)})\b")
    return both.sub(lambda m: other if m.group() == one else one, text)


def swap_names(text: str, known: Sequence[str], rng: Random) -> str | None:
    """``text`` with one name in the place of another: two of its own exchanged, or one from ``known`` put in."""
    own = names_in(text)
    rng.shuffle(own)
    for name in own:
        other = other_name(name, known, rng)
        if other is not None:
            changed = exchange(text, name, other)
            if changed != text:
                return changed
    return exchange(text, own[0], own[1]) if len(own) > 1 else None


_DIRECTIONS = (
    ("at least", "at most"),
    ("more than", "less than"),
    ("no more than", "no less than"),
    ("greater", "smaller"),
    ("maximum", "minimum"),
    ("largest", "smallest"),
    ("highest", "lowest"),
    ("increase", "decrease"),
    ("increases", "decreases"),
    ("ascending", "descending"),
    ("before", "after"),
    ("add", "subtract"),
    ("plus", "minus"),
    ("first", "last"),
    ("inclusive", "exclusive"),
    ("including", "excluding"),
    ("included", "excluded"),
    ("all", "some"),
    ("always", "rarely"),
    ("even", "odd"),
    ("earlier", "later"),
    ("earliest", "latest"),
    ("left", "right"),
    ("above", "below"),
)
_VERDICTS = (
    ("correct", "incorrect"),
    ("right", "wrong"),
    ("true", "false"),
    ("yes", "no"),
    ("valid", "invalid"),
    ("possible", "impossible"),
    ("passes", "fails"),
    ("pass", "fail"),
    ("approved", "rejected"),
    ("approve", "reject"),
    ("accept", "decline"),
    ("accepted", "declined"),
    ("holds", "does not hold"),
    ("agree", "disagree"),
    ("confirmed", "refuted"),
    ("consistent", "inconsistent"),
)
_UNITS = (
    ("km", "miles"),
    ("kilometres", "miles"),
    ("kilometers", "miles"),
    ("cm", "mm"),
    ("m", "cm"),
    ("metres", "feet"),
    ("meters", "feet"),
    ("kg", "g"),
    ("grams", "ounces"),
    ("litres", "gallons"),
    ("liters", "gallons"),
    ("hours", "minutes"),
    ("minutes", "seconds"),
    ("days", "hours"),
    ("weeks", "days"),
    ("months", "weeks"),
    ("years", "months"),
    ("EUR", "USD"),
    ("euros", "dollars"),
    ("degrees", "radians"),
)
_IS_ANSWER = re.compile(r"[*_ \t]*(?:[,.;:!)]|$)", re.MULTILINE)
_NEGATABLE = re.compile(
    r"\b(is|are|was|were|can|does|do|will|should|must|has to|have to)\b(?! not\b|n't)", re.IGNORECASE
)
_NEGATED = re.compile(r"\b(is|are|was|were|does|do|will|should|must)(?: not|n't)\b|\bcannot\b|\bcan't\b", re.IGNORECASE)


def turn_direction(text: str, rng: Random) -> str | None:
    """``text`` with one comparison, order or operation turned round; None when it holds none."""
    return _exchange_one(text, _DIRECTIONS, rng)


def turn_verdict(text: str) -> str | None:
    """``text`` with every verdict turned round (``correct`` to ``incorrect``); None when it holds none."""
    table = _both_ways(_VERDICTS)
    pattern = _words(table)

    def turned(match: re.Match[str]) -> str:
        word = match.group()
        if word.lower() == "no" and not _IS_ANSWER.match(text, match.end()):
            return word  # of "no element", not a verdict
        return _in_case(word, table[word.lower()])

    changed = pattern.sub(turned, text)
    return changed if changed != text else None


def change_unit(text: str, rng: Random) -> str | None:
    """``text`` with one unit after a number exchanged throughout; None when it holds none."""
    table = {unit.lower(): other for unit, other in _both_ways(_UNITS).items()}
    units = sorted({m.group(1) for m in re.finditer(r"\d[ ]?([A-Za-z]+)\b", text) if m.group(1).lower() in table})
    if not units:
        return None
    unit = rng.choice(units)
    return re.sub(rf"(?<=\d)([ ]?){re.escape(unit)}\b", lambda m: m.group(1) + table[unit.lower()], text)


def negate(sentence: str) -> str | None:
    """``sentence`` with its first verb negated, or its negation taken away; None when it has neither."""
    match = _NEGATED.search(sentence)
    if match is not None:
        verb = match.group(1) or _in_case(match.group(), "can")
        return sentence[: match.start()] + verb + sentence[match.end() :]
    match = _NEGATABLE.search(sentence)
    if match is None:
        return None
    verb = match.group(1)
    negated = {"can": "cannot", "has to": "does not have to", "have to": "do not have to"}
    return sentence[: match.start()] + negated.get(verb.lower(), f"{verb} not") + sentence[match.end() :]


def _exchange_one(text: str, pairs: tuple[tuple[str, str], ...], rng: Random) -> str | None:
    table = _both_ways(pairs)
    matches = list(_words(table).finditer(text))
    if not matches:
        return None
    match = rng.choice(matches)
    return text[: match.start()] + _in_case(match.group(), table[match.group().lower()]) + text[match.end() :]


def _both_ways(pairs: tuple[tuple[str, str], ...]) -> dict[str, str]:
    table = {other: word for word, other in reversed(pairs)}
    return table | dict(pairs)


def _words(table: dict[str, str]) -> re.Pattern[str]:
    longest_first = sorted(table, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b", re.IGNORECASE)


def _in_case(model: str, word: str) -> str:
    if model.isupper() and len(model) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word
