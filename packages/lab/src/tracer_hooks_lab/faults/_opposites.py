"""Words with an opposite, and units with a neighbour: exchanged in place, in the case they are written in."""

from __future__ import annotations

import re
from random import Random

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
