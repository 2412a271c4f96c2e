"""Values that follow from others, by arithmetic or by the calendar."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import TypeVar

from tracer_hooks.diagnosis._provenance._ledger import Entry
from tracer_hooks.diagnosis._provenance._values import Kind, Sighting, days_between

_N = TypeVar("_N", Fraction, float)
_ROOM, _LARGEST = 1e-9, 1e30
"""Far more than floating point is off by, and between which sizes it is used."""
MAX_OPERANDS = 24
"""With more different values at hand nearly any number can be worked out from two of them."""


def derivation_of(value: Sighting, at_hand: Sequence[Entry]) -> tuple[Entry, ...] | None:
    """The values that a value can be worked out from by one step of arithmetic or of the calendar; None when none can.

    Args:
        value: What a step says.
        at_hand: What it could have used.
    """
    if value.number is not None:
        return _of_number(value, at_hand)
    if value.kind is Kind.DATE:
        return _of_date(value, at_hand)
    if value.kind is Kind.TIME:
        times = [each for each in at_hand if each.value.kind is Kind.TIME]
        spans = [each for each in at_hand if each.value.unit in ("min", "h", "s")]
        return (times[-1], spans[-1]) if times and spans else None
    return None


def _of_number(value: Sighting, at_hand: Sequence[Entry]) -> tuple[Entry, ...] | None:
    assert value.number is not None
    numbers: dict[Fraction, Entry] = {}
    for entry in at_hand:
        if entry.value.number is not None:
            numbers.setdefault(entry.value.number, entry)
    wanted = _as_float(value.number)
    floats = {number: _as_float(number) for number in list(numbers)[-MAX_OPERANDS:]}
    for (a, x), (b, y) in combinations(floats.items(), 2):
        if _may_give(x, y, wanted, value.decimals) and any(_matches(result, value) for result in _results(a, b)):
            return numbers[a], numbers[b]
    return None


def _as_float(number: Fraction) -> float | None:
    """A number as a float; None where floating point does not reach."""
    try:
        found = float(number)
    except OverflowError:
        return None
    return found if 1 / _LARGEST < abs(found) < _LARGEST else None


def _may_give(a: float | None, b: float | None, wanted: float | None, decimals: int) -> bool:
    """Tell whether a result of two numbers is near a value, by floating point, which takes a tenth of the time."""
    if a is None or b is None or wanted is None:
        return True
    size, room = abs(wanted), (10.0**-decimals if decimals else 0.0) + _ROOM * max(1.0, abs(a), abs(b))
    for result in _results(a, b):
        away = abs(result)
        if abs(away - size) <= room + _ROOM * away:
            return True
    return False


def _results(a: _N, b: _N) -> list[_N]:
    found = [a + b, a - b, b - a, a * b, a * b / 100, a * (100 - b) / 100, b * (100 - a) / 100]
    found += [a * (100 + b) / 100, b * (100 + a) / 100]
    if b:
        found += [a / b, 100 * a / b, 100 * (a - b) / b]
    if a:
        found += [b / a, 100 * b / a, 100 * (b - a) / a]
    return found


def _matches(result: Fraction, value: Sighting) -> bool:
    assert value.number is not None
    away = abs(abs(result) - abs(value.number))
    if away == 0:
        return True
    return result.denominator != 1 and value.decimals > 0 and away < Fraction(1, 10**value.decimals)


def _of_date(value: Sighting, at_hand: Sequence[Entry]) -> tuple[Entry, ...] | None:
    dates = [each for each in at_hand if each.value.kind is Kind.DATE][-MAX_OPERANDS:]
    spans = [each for each in at_hand if each.value.number is not None and each.value.number.denominator == 1]
    for start in dates:
        days = days_between(start.value, value)
        for span in spans[-MAX_OPERANDS:] if days is not None else ():
            assert span.value.number is not None
            if days in (span.value.number, span.value.number * 7):
                return start, span
    return None
