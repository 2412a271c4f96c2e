"""Values as they stand in a text, in a form that can be compared: numbers, dates, times, codes and names."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from operator import attrgetter

from tracer_hooks.values import (
    DateValue,
    Quantity,
    TextReader,
    TimeValue,
    common_measure,
    dates_in,
    days_apart,
    readings,
    times_in,
)

MAX_SIGHTINGS = 400
"""Values that are read of one text; of a longer list the first and the last ones."""

# A token with letters and digits, or with a joint between digits: INV-2203, B-17, HAT047, 2024-118.
_CODE = re.compile(
    r"(?<![\w.@/-])#?(?=[\w@-]{0,60}\d)(?=[\w@-]{0,60}[A-Za-z])[A-Za-z0-9]+(?:[-_@][A-Za-z0-9]+)*(?![\w-])"
)
_MIXED = re.compile(r"\d(?:(?<=[^\W\d_]\d)|(?<=[^\W\d_][-_@]\d)|[-_@]?[^\W\d_])")
"""A letter and a digit with no more than a joint between them, as every such token has."""
_ID = re.compile(r"\d(?<![\w.,/-]\d)(?:\d{2,}(?:-\d+)+(?![\w-])|\d{6,}(?![\w-]|[.,]\d))")
_NO_CODE = re.compile(
    r"\d{1,3}(?:st|nd|rd|th)|\d{1,2}[ap]m|\d+(?:\.\d+)?[A-Za-z]{1,3}|\d+-(?:hour|day|week|month|year|minute"
    r"|person|page)s?",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Z](?<![\w-][A-Z])[a-zß-ÿ]{2,}(?:[ -](?:(?:de|van|von|der) )?[A-Z][a-zß-ÿ]{2,}){1,3}(?![\w-])")
_OPENERS = frozenset(
    ("The", "This", "That", "These", "Those", "Dear", "Your", "Our", "Her", "His", "Its", "For", "From")
)
_WORD = re.compile(r"[^\W\d_]+")
SMALL = 12
"""Up to here whole numbers stand in every text."""


NumberKey = tuple[str | None, int, int]
"""A measure, or None, and a number in it as a ratio of whole numbers."""


class Kind(StrEnum):
    """Sort of a value."""

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
        """Tell whether it says something by itself."""
        if self.kind is not Kind.NUMBER or self.number is None:
            return True
        number = self.number
        return number.denominator != 1 or abs(number.numerator) > SMALL or self.unit not in (None, "day", "min", "h")

    @property
    def identity(self) -> Hashable:
        """All that decides which other values it is the same as, wherever it stands."""
        day = None if self.date is None else (self.date.year, self.date.month, self.date.day)
        return self.kind, self.keys, self.unit, self.decimals, day


class Texts:
    """The texts of a run, each read once: a run says the same again and again."""

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader
        self._sightings: dict[str, tuple[Sighting, ...]] = {}

    def sightings(self, text: str) -> tuple[Sighting, ...]:
        """Every value of a text in order; no place counts twice."""
        known = self._sightings.get(text)
        if known is None:
            known = self._sightings[text] = self._read(text)
        return known

    def _read(self, text: str) -> tuple[Sighting, ...]:
        found = [*map(_of_date, dates_in(text)), *map(_of_time, times_in(text))]
        taken = _Taken(found)
        found += (code for code in _codes(text) if taken.is_free(code.start, code.end))
        taken = _Taken(found)
        quantities = self._reader.quantities(text)
        found += (
            _of_quantity(each) for each in quantities if not each.is_label and taken.is_free(each.start, each.end)
        )
        found += (name for name in _names(text) if taken.is_free(name.start, name.end))
        found.sort(key=_start_of)
        half = MAX_SIGHTINGS // 2
        return tuple(found if len(found) <= MAX_SIGHTINGS else found[:half] + found[-half:])


def number_key(number: Fraction, measure: str | None = None) -> NumberKey:
    """The key under which a number is the same as others, by itself or in a measure."""
    return measure, number.numerator, number.denominator


_start_of = attrgetter("start")


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


def is_same(one: Sighting, other: Sighting) -> bool:
    """Tell whether two values are the same, in whatever unit; dates may lack the year."""
    if one.kind is not other.kind:
        return False
    if one.kind is Kind.DATE:
        return _is_same_date(one, other)
    return _share_key(one, other) and not units_clash(one, other)


def units_clash(one: Sighting, other: Sighting) -> bool:
    """Tell whether the units make two equal numbers different values: 3.5 kN and 3.5 N, 750 g and 750 ml."""
    if one.unit is None or other.unit is None or one.unit == other.unit or one.number is None or other.number is None:
        return False
    worth = common_measure(one.unit, other.unit)
    return worth is None or one.number * worth[0] != other.number * worth[1]


def _share_key(one: Sighting, other: Sighting) -> bool:
    for key in one.keys:  # noqa: SIM110, asked for every two values of a run: half the time of any() over a generator
        if key in other.keys:
            return True
    return False


def _is_same_date(one: Sighting, other: Sighting) -> bool:
    """Tell whether two dates are one, where either may lack the year."""
    a, b = one.date, other.date
    if a is None or b is None or a.month != b.month or a.day != b.day:
        return False
    return a.year is None or b.year is None or a.year % 100 == b.year % 100


_DIGITS = re.compile(r"\d")
# Of short numbers many look alike by chance.
_EXCHANGED = {1: 0.0, 2: 0.5, 3: 0.9}
_CODE_LIKE = 5
_ONE_OFF = {1: 0.0, 2: 0.3, 3: 0.5, 4: 0.7}


def resembles(one: Sighting, other: Sighting) -> float:
    """Weigh how likely ``one`` is a slip of ``other``: 0 for values that have nothing in common, 1 for a plain slip."""
    if one.kind is not other.kind:
        return 0.0
    if one.kind is Kind.NUMBER:
        return _numbers_alike(one, other)
    if one.kind is Kind.DATE:
        return _dates_alike(one, other)
    if one.kind is Kind.NAME:
        return _names_alike(one, other)
    a, b = _plain(one.text), _plain(other.text)
    if one.kind is Kind.TIME:
        return 1.0 if sorted(a) == sorted(b) else 0.8 if _distance(a, b) <= 1 else 0.0
    return 1.0 if _is_slip(a, b) else 0.0


def _numbers_alike(one: Sighting, other: Sighting) -> float:
    if one.number is None or other.number is None or one.in_words or other.in_words:
        return 0.0
    if one.number == other.number:
        return 1.0 if units_clash(one, other) else 0.0
    if _is_rounded(one.number, other.number, min(one.decimals, other.decimals)):
        return 0.0
    if one.unit != other.unit and None not in (one.unit, other.unit):
        return 0.0
    a, b = _digits(one.text), _digits(other.text)
    if len(a) < 2 or len(b) < 2:
        return 0.3 if one.unit is not None and one.unit == other.unit else 0.0
    length = min(len(a), len(b))
    if sorted(a) == sorted(b):
        return _EXCHANGED.get(length, 1.0)
    if _distance(a, b) <= 1:
        if one.unit is None and length <= _CODE_LIKE and one.decimals == 0:
            return 0.4  # years, house numbers and post codes differ in one digit, too
        return _ONE_OFF.get(length, 0.9)
    if abs(one.number) in (abs(other.number) * 10, abs(other.number) * 100, abs(other.number) * 1000):
        return 0.8
    same_unit = one.unit is not None and one.unit == other.unit
    return 0.5 if same_unit else 0.3 if len(a) == len(b) else 0.0


def _is_rounded(one: Fraction, other: Fraction, decimals: int) -> bool:
    """Tell whether one number is the other, rounded or cut off, where the one with fewer decimals has so many."""
    return abs(abs(one) - abs(other)) < Fraction(1, 10**decimals)


def _dates_alike(one: Sighting, other: Sighting) -> float:
    a, b = one.date, other.date
    if a is None or b is None or a.day is None or b.day is None:
        return 0.0
    years = {a.year, b.year} - {None}
    if (a.month, a.day) == (b.month, b.day):
        return 1.0
    if len({year % 100 for year in years if year is not None}) > 1:
        return 0.0
    if days_apart(a, b) == 1:
        return 1.0
    if a.month == b.month:
        return 1.0 if abs(a.day - b.day) == 1 or sorted(str(a.day)) == sorted(str(b.day)) else 0.5
    return 0.8 if a.day == b.day else 0.6 if (a.month, a.day) == (b.day, b.month) else 0.2


def days_between(one: Sighting, other: Sighting) -> int | None:
    """Count the days between two dates; None where one is no full date."""
    return None if one.date is None or other.date is None else days_apart(one.date, other.date)


def _names_alike(one: Sighting, other: Sighting) -> float:
    a, b = next(iter(one.keys)), next(iter(other.keys))
    assert isinstance(a, frozenset)
    assert isinstance(b, frozenset)
    shared, mine, theirs = a & b, a - b, b - a
    if not shared or len(mine) != 1 or len(theirs) != 1:
        return 0.0
    x, y = next(iter(mine)), next(iter(theirs))
    return 1.0 if x[0] == y[0] or _distance(x, y) <= 2 else 0.4


def _is_slip(a: str, b: str) -> bool:
    if len(a) < 3 or _letters(a) != _letters(b):
        return False
    return sorted(a) == sorted(b) or (len(a) > 3 and _distance(a, b) <= 1)


def _letters(text: str) -> str:
    return "".join(char for char in text if char.isalpha())


def _plain(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _digits(text: str) -> str:
    return "".join(_DIGITS.findall(text)).lstrip("0")


def _distance(a: str, b: str, most: int = 3) -> int:
    """Edits between two short texts, two neighbours exchanged counting as one; ``most`` for more."""
    if abs(len(a) - len(b)) >= most or max(len(a), len(b)) > 40:
        return most
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        older, before, row = before, row, [i] + [0] * len(b)
        for j, y in enumerate(b, start=1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and y == a[i - 2]:
                row[j] = min(row[j], older[j - 2] + 1)
    return min(most, row[-1])


def is_scaled(value: Sighting, bare: Sighting) -> bool:
    """Tell whether a value may give a bare number in a smaller or larger unit: 1,250 g for a weight_kg of 1.25."""
    one, other = value.number, bare.number
    if value.unit in (None, "%") or bare.unit is not None or not one or not other or one == other:
        return False
    return any(abs(one) in (abs(other) * factor, abs(other) / factor) for factor in (10, 100, 1_000, 1_000_000))
