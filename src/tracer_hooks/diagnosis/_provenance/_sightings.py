"""Values as they stand in one text: numbers, dates, times, codes and names, in a form that can be compared."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from tracer_hooks.values import (
    DateValue,
    Quantity,
    TextReader,
    TimeValue,
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
_MIXED = re.compile(r"[^\W\d_][-_@]{0,60}\d|\d[-_@]{0,60}[^\W\d_]")
"""A letter and a digit with no more than joints between them, as every such token has."""
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
SMALL = 12
"""Up to here whole numbers stand in every text."""


NumberKey = tuple[str | None, int, int]
"""A measure, or None, and a number in it as a ratio of whole numbers."""


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
    ratio: tuple[int, int] = (0, 1)
    """The number without its sign, in whole numbers: they compare ten times as fast as fractions."""
    unit: str | None = None
    decimals: int = 0
    in_words: bool = False
    date: DateValue | None = None

    @property
    def is_telling(self) -> bool:
        """Tell whether it says something by itself."""
        if self.kind is not Kind.NUMBER or self.number is None:
            return True
        numerator, denominator = self.ratio
        return numerator > SMALL or denominator != 1 or self.unit not in (None, "day", "min", "h")

    @property
    def identity(self) -> Hashable:
        """What decides which other values it is the same as, wherever it stands."""
        day = None if self.date is None else (self.date.year, self.date.month, self.date.day)
        return self.kind, self.keys, self.unit, self.decimals, day


def sightings_in(text: str, *, reader: TextReader | None = None) -> tuple[Sighting, ...]:
    """Every value of ``text`` in order; no place counts twice.

    Args:
        text: Any text.
        reader: Whose reading of its quantities is shared with others who look at the same text.
    """
    found = [*map(_of_date, dates_in(text)), *map(_of_time, times_in(text))]
    taken = _Taken(found)
    found += (code for code in _codes(text) if taken.is_free(code.start, code.end))
    taken = _Taken(found)
    quantities = quantities_in(text) if reader is None else reader.quantities(text)
    found += (_of_quantity(one) for one in quantities if not one.is_label and taken.is_free(one.start, one.end))
    found += (name for name in _names(text) if taken.is_free(name.start, name.end))
    found.sort(key=lambda one: one.start)
    half = MAX_SIGHTINGS // 2
    return tuple(found if len(found) <= MAX_SIGHTINGS else found[:half] + found[-half:])


def number_key(number: Fraction, measure: str | None = None) -> NumberKey:
    """Under what a number is the same as others, by itself or in a measure."""
    return measure, number.numerator, number.denominator


def ratio_of(number: Fraction) -> tuple[int, int]:
    """A number without its sign, in whole numbers."""
    return abs(number.numerator), number.denominator


def _of_quantity(found: Quantity) -> Sighting:
    keys = [number_key(found.value)]
    if found.unit == "%":
        keys.append(number_key(found.value / 100))
    elif found.unit is not None:
        keys += [number_key(found.value * factor, measure) for measure, factor in readings(found.unit)]
    return Sighting(
        Kind.NUMBER,
        tuple(keys),
        found.text,
        found.start,
        found.end,
        number=found.value,
        ratio=ratio_of(found.value),
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


def _of_time(found: TimeValue) -> Sighting:
    return Sighting(Kind.TIME, ((found.hour, found.minute),), found.text, found.start, found.end)


def _codes(text: str) -> Iterator[Sighting]:
    for pattern in (_CODE, _ID) if _MIXED.search(text) else (_ID,):
        for match in pattern.finditer(text):
            if _NO_CODE.fullmatch(match.group()) is None and _is_id(match.group()):
                folded = match.group().lstrip("#").casefold()
                yield Sighting(Kind.CODE, (folded,), match.group(), match.start(), match.end())


def _is_id(token: str) -> bool:
    """Tell whether it looks made up for one thing: not "bs4", "h2" or "utf8"."""
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
