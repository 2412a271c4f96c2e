"""Values that look like a slip of another: digits exchanged, one off, the other unit, half of a name."""

from __future__ import annotations

import re

from tracer_hooks.diagnosis._provenance._sameness import units_clash
from tracer_hooks.diagnosis._provenance._sightings import Kind, Sighting
from tracer_hooks.values import days_apart

_DIGITS = re.compile(r"\d")
# Of short numbers many look alike by chance.
_EXCHANGED = {1: 0.0, 2: 0.5, 3: 0.9}
_CODE_LIKE = 5
_ONE_OFF = {1: 0.0, 2: 0.3, 3: 0.5, 4: 0.7}


def resembles(one: Sighting, other: Sighting) -> float:
    """How likely ``one`` is a slip of ``other``: 0 for values that have nothing in common, 1 for a plain slip."""
    if one.kind is not other.kind:
        return 0.0
    if one.kind is Kind.NUMBER:
        return _numbers(one, other)
    if one.kind is Kind.DATE:
        return _dates(one, other)
    if one.kind is Kind.NAME:
        return _names(one, other)
    a, b = _plain(one.text), _plain(other.text)
    if one.kind is Kind.TIME:
        return 1.0 if sorted(a) == sorted(b) else 0.8 if _distance(a, b) <= 1 else 0.0
    return 1.0 if _is_slip(a, b) else 0.0


def _numbers(one: Sighting, other: Sighting) -> float:
    if one.number is None or other.number is None or one.in_words or other.in_words:
        return 0.0
    if one.number == other.number:
        return 1.0 if units_clash(one, other) else 0.0
    if one.unit != other.unit and None not in (one.unit, other.unit):
        return 0.0
    a, b = _digits(one.text), _digits(other.text)
    if len(a) < 2 or len(b) < 2:
        return 0.3 if one.unit is not None and one.unit == other.unit else 0.0
    length = min(len(a), len(b))
    if sorted(a) == sorted(b):
        return _EXCHANGED.get(length, 1.0)
    if _distance(a, b) <= 1:
        if _is_year(one) or (one.unit is None and length <= _CODE_LIKE and one.decimals == 0):
            return 0.4  # years, house numbers and post codes differ in one digit, too
        return _ONE_OFF.get(length, 0.9)
    if abs(one.number) in (abs(other.number) * 10, abs(other.number) * 100, abs(other.number) * 1000):
        return 0.8
    same_unit = one.unit is not None and one.unit == other.unit
    return 0.5 if same_unit else 0.3 if len(a) == len(b) else 0.0


def _is_year(value: Sighting) -> bool:
    return value.unit is None and value.number is not None and 1900 <= value.number <= 2100 and "," not in value.text


def _dates(one: Sighting, other: Sighting) -> float:
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


def _names(one: Sighting, other: Sighting) -> float:
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
