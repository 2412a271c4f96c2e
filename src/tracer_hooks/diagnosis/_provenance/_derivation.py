"""Whether a value can be worked out from the values at hand by one step of arithmetic or of the calendar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from fractions import Fraction
from itertools import combinations
from typing import TypeVar

from tracer_hooks.diagnosis._provenance._entries import Entry
from tracer_hooks.diagnosis._provenance._sightings import Kind, Sighting
from tracer_hooks.values import days_apart, on_calendar

_N = TypeVar("_N", Fraction, float)
_ROOM, _LARGEST = 1e-9, 1e30
"""Far more than floating point is off by, and between which sizes it is used."""
MAX_OPERANDS = 24
"""With more different values at hand nearly any number can be worked out from two of them."""


def derivation_of(value: Sighting, at_hand: Sequence[Entry]) -> tuple[Entry, ...] | None:
    """The values that a value can be worked out from; None when it cannot."""
    if value.kind is Kind.NUMBER and value.number is not None:
        return _of_number(value, at_hand)
    if value.kind is Kind.DATE:
        return _of_date(value, at_hand)
    if value.kind is Kind.TIME:
        times = [one for one in at_hand if one.value.kind is Kind.TIME]
        spans = [one for one in at_hand if one.value.unit in ("min", "h", "s")]
        return (times[-1], spans[-1]) if times and spans else None
    return None


def _of_number(value: Sighting, at_hand: Sequence[Entry]) -> tuple[Entry, ...] | None:
    numbers: dict[Fraction, Entry] = {}
    for entry in at_hand:
        if entry.value.number is not None:
            numbers.setdefault(entry.value.number, entry)
    if value.unit in ("min", "h", "s", "day"):
        found = _of_span(value, at_hand)
        if found is not None:
            return found
    operands = list(numbers)[-MAX_OPERANDS:]
    for a, b in combinations(operands, 2):
        if _may_give(a, b, value) and any(_matches(result, value) for result in _results(a, b)):
            return numbers[a], numbers[b]
    for entries in _lists(at_hand):
        total = sum((one.value.number for one in entries if one.value.number is not None), Fraction(0))
        if _matches(total, value) or _matches(total / len(entries), value):
            return tuple(entries)
        if _matches(Fraction(len(entries)), value):
            return tuple(entries)
    return None


def _may_give(a: Fraction, b: Fraction, value: Sighting) -> bool:
    """Tell whether a result of two numbers is near a value, by floating point, which takes a tenth of the time."""
    assert value.number is not None
    try:
        one, other, wanted = float(a), float(b), abs(float(value.number))
    except OverflowError:
        return True
    if any(not 1 / _LARGEST < abs(number) < _LARGEST for number in (one, other)):
        return True
    room = (10.0**-value.decimals if value.decimals else 0.0) + _ROOM * max(1.0, abs(one), abs(other))
    return any(abs(abs(result) - wanted) <= room + _ROOM * abs(result) for result in _results(one, other))


def _results(a: _N, b: _N) -> Iterator[_N]:
    yield from (a + b, a - b, b - a, a * b, a * b / 100, a * (100 - b) / 100, b * (100 - a) / 100)
    yield from (a * (100 + b) / 100, b * (100 + a) / 100)
    if b:
        yield from (a / b, 100 * a / b, 100 * (a - b) / b)
    if a:
        yield from (b / a, 100 * b / a, 100 * (b - a) / a)


def _matches(result: Fraction, value: Sighting) -> bool:
    assert value.number is not None
    away = abs(abs(result) - abs(value.number))
    if away == 0:
        return True
    return result.denominator != 1 and value.decimals > 0 and away < Fraction(1, 10**value.decimals)


def _lists(at_hand: Sequence[Entry]) -> Iterator[list[Entry]]:
    """The values of one unit in one text."""
    texts: dict[tuple[int, str | None], list[Entry]] = {}
    for entry in at_hand:
        if entry.value.number is not None:
            texts.setdefault((id(entry.passage), entry.value.unit), []).append(entry)
    yield from (entries for entries in texts.values() if len(entries) >= 2)


def _of_span(value: Sighting, at_hand: Sequence[Entry]) -> tuple[Entry, ...] | None:
    """A time between two times of day, or the days between two dates."""
    assert value.number is not None
    scale = {"s": Fraction(1), "min": Fraction(60), "h": Fraction(3600), "day": Fraction(86400)}[value.unit or "s"]
    times = [one for one in at_hand if one.value.kind is Kind.TIME][-MAX_OPERANDS:]
    for one, other in combinations(times, 2):
        minutes = (minutes_of(other.value) - minutes_of(one.value)) % 1440
        if Fraction(minutes) * 60 == value.number * scale:
            return one, other
    dates = [one for one in at_hand if one.value.kind is Kind.DATE][-MAX_OPERANDS:]
    for one, other in combinations(dates, 2):
        days = days_between(one.value, other.value)
        if days is not None and value.unit == "day" and value.number == days:
            return one, other
    return None


def minutes_of(time: Sighting) -> int:
    """A time of day in minutes after midnight."""
    key = time.keys[0]
    return int(key[0]) * 60 + int(key[1]) if isinstance(key, tuple) else 0


def _of_date(value: Sighting, at_hand: Sequence[Entry]) -> tuple[Entry, ...] | None:
    dates = [one for one in at_hand if one.value.kind is Kind.DATE][-MAX_OPERANDS:]
    spans = [one for one in at_hand if one.value.number is not None and one.value.number.denominator == 1]
    for one in dates:
        days = days_between(one.value, value)
        if days is None:
            continue
        for span in spans[-MAX_OPERANDS:]:
            assert span.value.number is not None
            if days in (span.value.number, span.value.number * 7):
                return one, span
    return None


def days_between(one: Sighting, other: Sighting) -> int | None:
    """How many days apart two dates are; None where one is no full date."""
    return None if one.date is None or other.date is None else days_apart(one.date, other.date)


def as_date(value: Sighting, *, year: int | None = None) -> date | None:
    """A date of the calendar; in ``year`` when it names none."""
    return None if value.date is None else on_calendar(value.date, year=year)
