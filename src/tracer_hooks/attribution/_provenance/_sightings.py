"""Values as they stand in one text: numbers, dates, times, codes and names, in a form that can be compared."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from tracer_hooks.values import (
    DateValue,
    Quantity,
    TimeValue,
    common_measure,
    dates_in,
    quantities_in,
    readings,
    times_in,
)

MAX_SIGHTINGS = 400
"""Values that are read of one text; of a longer list the first and the last ones."""

# A token with letters and digits, or with a joint between digits: INV-2203, B-17, HAT047, 2024-118.
_CODE = re.compile(
    r"(?<![\w.@/-])#?(?=[\w@-]{0,60}\d)(?=[\w@-]{0,60}[A-Za-z])[A-Za-z0-9]+(?:[-_@][A-Za-z0-9]+)*(?![\w-])"
)
_ID = re.compile(r"(?<![\w.,/-])\d{3,}(?:-\d+)+(?![\w-])|(?<![\w.,/-])\d{7,}(?![\w-]|[.,]\d)")
_NO_CODE = re.compile(
    r"\d{1,3}(?:st|nd|rd|th)|\d{1,2}[ap]m|\d+(?:\.\d+)?[A-Za-z]{1,3}|\d+-(?:hour|day|week|month|year|minute"
    r"|person|page)s?",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<![\w-])[A-Z][a-zß-ÿ]{2,}(?:[ -](?:(?:de|van|von|der) )?[A-Z][a-zß-ÿ]{2,}){1,3}(?![\w-])")
_OPENERS = frozenset(
    ("The", "This", "That", "These", "Those", "Dear", "Your", "Our", "Her", "His", "Its", "For", "From")
)
_WORD = re.compile(r"[^\W\d_]+")
_SMALL = 12
"""Up to here whole numbers stand in every text."""


class Kind(StrEnum):
    """What sort of value it is."""

    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    CODE = "code"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Sighting:
    """A value in one place of a text."""

    kind: Kind
    keys: tuple[Hashable, ...]
    """Two sightings with one of them in common are the same value."""
    text: str
    start: int
    end: int
    number: Fraction | None = None
    unit: str | None = None
    decimals: int = 0
    in_words: bool = False
    date: DateValue | None = None

    @property
    def is_telling(self) -> bool:
        """Whether it says something by itself."""
        if self.kind is not Kind.NUMBER or self.number is None:
            return True
        return abs(self.number) > _SMALL or self.number.denominator != 1 or self.unit not in (None, "day", "min", "h")


def sightings_in(text: str) -> tuple[Sighting, ...]:
    """Every value of ``text`` in order; no place counts twice."""
    found = [*map(_of_date, dates_in(text)), *map(_of_time, times_in(text))]
    taken = _Taken(found)
    found += (code for code in _codes(text) if taken.is_free(code.start, code.end))
    taken = _Taken(found)
    found += (
        _of_quantity(one) for one in quantities_in(text) if not one.is_label and taken.is_free(one.start, one.end)
    )
    found += (name for name in _names(text) if taken.is_free(name.start, name.end))
    found.sort(key=lambda one: one.start)
    half = MAX_SIGHTINGS // 2
    return tuple(found if len(found) <= MAX_SIGHTINGS else found[:half] + found[-half:])


def same_value(one: Sighting, other: Sighting) -> bool:
    """Whether two sightings are one value: equal, the same in another unit, or one of them rounded."""
    if one.kind is not other.kind:
        return False
    if not set(one.keys).isdisjoint(other.keys):
        return not units_clash(one, other)
    if one.number is None or other.number is None:
        return False
    if not _units_agree(one, other):
        return _is_converted(one, other)
    return any(
        _is_rounded(a, b, one.decimals + shift_a, other.decimals + shift_b)
        for a, shift_a in _magnitudes(one)
        for b, shift_b in _magnitudes(other)
    )


def units_clash(one: Sighting, other: Sighting) -> bool:
    """Whether the units make two equal numbers different values: 3.5 kN and 3.5 N, 750 g and 750 ml."""
    if one.unit is None or other.unit is None or one.unit == other.unit or one.number is None or other.number is None:
        return False
    worth = common_measure(one.unit, other.unit)
    return worth is None or one.number * worth[0] != other.number * worth[1]


def _is_converted(one: Sighting, other: Sighting) -> bool:
    """Whether one is the other in a unit of the same measure, rounded: 0.0148 A and 14.8 mA."""
    assert one.number is not None
    assert other.number is not None
    worth = common_measure(one.unit or "", other.unit or "")
    if worth is None:
        return False
    there = one.number * worth[0] / worth[1]
    finer = round(math.log10(worth[1] / worth[0]))
    return _is_rounded(there, other.number, max(0, one.decimals + finer), other.decimals)


def _units_agree(one: Sighting, other: Sighting) -> bool:
    return one.unit == other.unit or one.unit is None or other.unit is None or "%" in (one.unit, other.unit)


def _magnitudes(one: Sighting) -> list[tuple[Fraction, int]]:
    assert one.number is not None
    whole = [(one.number, 0)]
    return [*whole, (one.number / 100, 2)] if one.unit == "%" else whole


def _is_rounded(a: Fraction, b: Fraction, decimals_a: int, decimals_b: int) -> bool:
    """Whether the number with fewer decimals is the other one, rounded or cut off."""
    if decimals_a == decimals_b:
        return abs(a) == abs(b)
    coarse, fine, decimals = (a, b, decimals_a) if decimals_a < decimals_b else (b, a, decimals_b)
    if decimals == 0 and abs(coarse) < _SMALL:
        return False  # 3 may stand for anything
    return abs(abs(coarse) - abs(fine)) < Fraction(1, 10**decimals)


def _of_quantity(found: Quantity) -> Sighting:
    keys: list[Hashable] = [found.value]
    if found.unit == "%":
        keys.append(found.value / 100)
    elif found.unit is not None:
        keys += [(measure, found.value * factor) for measure, factor in readings(found.unit)]
    return Sighting(
        Kind.NUMBER,
        tuple(keys),
        found.text,
        found.start,
        found.end,
        number=found.value,
        unit=found.unit,
        decimals=found.decimals,
        in_words=found.in_words,
    )


def _of_date(found: DateValue) -> Sighting:
    keys: list[Hashable] = []
    if found.day is not None:
        keys.append((found.month, found.day) if found.year is None else (found.year, found.month, found.day))
    else:
        keys.append((found.year, found.month))
    return Sighting(Kind.DATE, tuple(keys), found.text.rstrip("."), found.start, found.end, date=found)


def same_date_value(one: Sighting, other: Sighting) -> bool:
    """Whether two dates are one, where either may lack the year."""
    a, b = one.date, other.date
    if a is None or b is None or (a.month, a.day) != (b.month, b.day):
        return False
    return a.year is None or b.year is None or a.year % 100 == b.year % 100


def _of_time(found: TimeValue) -> Sighting:
    return Sighting(Kind.TIME, ((found.hour, found.minute),), found.text, found.start, found.end)


def _codes(text: str) -> Iterator[Sighting]:
    for pattern in (_CODE, _ID):
        for match in pattern.finditer(text):
            if _NO_CODE.fullmatch(match.group()) is None and _is_id(match.group()):
                folded = match.group().lstrip("#").casefold()
                yield Sighting(Kind.CODE, (folded,), match.group(), match.start(), match.end())


def _is_id(token: str) -> bool:
    """Whether it looks made up for one thing: not "bs4", "h2" or "utf8"."""
    return any(char.isupper() for char in token) or sum(char.isdigit() for char in token) >= 3


def _names(text: str) -> Iterator[Sighting]:
    for match in _NAME.finditer(text):
        if match.group().partition(" ")[0] in _OPENERS:
            continue
        words = frozenset(word.casefold() for word in _WORD.findall(match.group()))
        yield Sighting(Kind.NAME, (words,), match.group(), match.start(), match.end())


class _Taken:
    """Places that hold a value already."""

    def __init__(self, found: Iterable[Sighting]) -> None:
        spans = sorted((one.start, one.end) for one in found)
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]

    def is_free(self, start: int, end: int) -> bool:
        place = bisect_right(self._starts, start)
        if place and self._ends[place - 1] > start:
            return False
        return place == len(self._starts) or self._starts[place] >= end
