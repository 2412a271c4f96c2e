"""Whether two sightings are one value: equal, the same in another unit, or one of them rounded."""

from __future__ import annotations

import math

from tracer_hooks.diagnosis._provenance._sightings import SMALL, Kind, Sighting
from tracer_hooks.values import common_measure


def is_same(one: Sighting, other: Sighting) -> bool:
    """Tell whether two values are the same; dates may lack the year."""
    if one.kind is not other.kind:
        return False
    if one.kind is Kind.DATE:
        return _is_same_date(one, other)
    if _share_key(one, other):
        return not units_clash(one, other)
    if one.number is None or other.number is None:
        return False
    if not _units_agree(one, other):
        return _is_converted(one, other)
    return _is_one_rounded(one, other)


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


def _units_agree(one: Sighting, other: Sighting) -> bool:
    return one.unit == other.unit or one.unit is None or other.unit is None or "%" in (one.unit, other.unit)


def _is_converted(one: Sighting, other: Sighting) -> bool:
    """Tell whether one is the other in a unit of the same measure, rounded: 0.0148 A and 14.8 mA."""
    worth = common_measure(one.unit or "", other.unit or "")
    if worth is None:
        return False
    assert one.number is not None
    there = one.number * worth[0] / worth[1]
    finer = round(math.log10(worth[1] / worth[0]))
    ratio = abs(there.numerator), there.denominator
    return _is_rounded(ratio, other.ratio, max(0, one.decimals + finer), other.decimals)


def _is_one_rounded(one: Sighting, other: Sighting) -> bool:
    """Tell whether one number is the other, rounded; 12 % is also 0.12."""
    if _is_rounded(one.ratio, other.ratio, one.decimals, other.decimals):
        return True
    if one.unit == "%" and _is_rounded(_hundredth(one), other.ratio, one.decimals + 2, other.decimals):
        return True
    if other.unit != "%":
        return False
    if _is_rounded(one.ratio, _hundredth(other), one.decimals, other.decimals + 2):
        return True
    return one.unit == "%" and _is_rounded(_hundredth(one), _hundredth(other), one.decimals + 2, other.decimals + 2)


def _hundredth(percent: Sighting) -> tuple[int, int]:
    numerator, denominator = percent.ratio
    return numerator, denominator * 100


def _is_rounded(one: tuple[int, int], other: tuple[int, int], decimals: int, others: int) -> bool:
    """Whether the number with fewer decimals is the other one, rounded or cut off; both as ratios of whole numbers."""
    if decimals == others:
        return one[0] * other[1] == other[0] * one[1]
    coarse, fine, places = (one, other, decimals) if decimals < others else (other, one, others)
    if places == 0 and coarse[0] < SMALL * coarse[1]:
        return False  # 3 may stand for anything
    away = abs(coarse[0] * fine[1] - fine[0] * coarse[1])
    return bool(away * 10**places < coarse[1] * fine[1])
