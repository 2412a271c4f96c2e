"""Whether the result that a text gives for a calculation is right, with room for rounding and units."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from tracer_hooks.values._quantities import Quantity
from tracer_hooks.values._units import currency_named, readings

_ROUGH = Fraction(5, 100)
"""Room for what is said to be about right."""
_ROUNDED = Fraction(1, 100)
_FLOATS = Fraction(1, 10**9)
"""What computers are off by."""
_DATA = frozenset(("bit", "B", "byte", "kB", "KB", "MB", "GB", "TB", "PB"))
_MANY = 10**5
_MANTISSA = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_SCALES = tuple(Fraction(scale) for scale in (1000, 10**6, 100, 60, 3600, 24, 7, 12))
"""What a result in another unit than the operands' may be off by, where the units are not known."""


def agrees(
    value: Fraction,
    stated: Quantity,
    operands: Sequence[Quantity],
    *,
    rough: bool = False,
    rounded: bool = False,
    inexact: bool = False,
) -> bool:
    """Tell whether ``stated`` is what ``value`` comes to.

    Args:
        value: The result of the operands' plain numbers.
        stated: What the text says.
        operands: What was calculated with; their units decide which other readings are fair.
        rough: The text says "about".
        rounded: The text has the sign for "about equal".
        inexact: There is a division, so that the result may have been rounded by hand.
    """
    room = _ROUGH if rough else _ROUNDED if rounded else Fraction(0)
    if any(_close(value * factor, stated, room, inexact=inexact) for factor in _factors(stated, operands)):
        return True
    return stated.unit == "%" and _close(value * 100, stated, room, inexact=True)


def _factors(stated: Quantity, operands: Sequence[Quantity]) -> list[Fraction]:
    units = {one.unit for one in operands if one.unit is not None and one.unit != "%"}
    found = [Fraction(1)]
    if stated.unit is None or stated.unit in units:
        return found
    if units and units <= _DATA and stated.unit in _DATA:
        return [*found, *(Fraction(1024) ** power for power in range(-4, 5)), *(Fraction(8), Fraction(1, 8))]
    if currency_named(stated.unit) is not None and any(currency_named(one) is not None for one in units):
        return found
    theirs = dict(readings(stated.unit))
    for unit in units:
        found += [factor / theirs[measure] for measure, factor in readings(unit) if measure in theirs]
    if len(found) > 1:
        return found
    return found + [scale for one in _SCALES for scale in (one, 1 / one)]


def _close(value: Fraction, stated: Quantity, room: Fraction, *, inexact: bool) -> bool:
    away = abs(value - stated.value)
    if away <= abs(value) * max(room, _FLOATS):
        return True
    if stated.is_fraction:
        return away <= abs(value) * _ROUGH  # "33 / 100 = 1/3"; a fraction has no last place
    last = _last_place(stated)
    if value.denominator == 1 and last <= 1 and stated.decimals == 0 and not inexact:
        return False
    # Rounded or, by hand, cut off.
    return away < last if inexact or value.denominator != 1 else away <= last / 2


def _last_place(stated: Quantity) -> Fraction:
    """The worth of the last digit that is written: of "2.5 million" a hundred thousand."""
    place = Fraction(1, 10**stated.decimals)
    match = _MANTISSA.search(stated.text)
    if match is None or stated.value.denominator != 1 or abs(stated.value) < _MANY:
        return place
    mantissa = Fraction(match.group().replace(",", ""))
    if not mantissa or abs(stated.value) == mantissa:
        return place
    return abs(stated.value / mantissa) / Fraction(10) ** len(match.group().partition(".")[2])
