"""One amount put in another unit: "1.5 km = 1500 m", "2.75 kg is 2,750 g", "0.473, that is 47.3 %"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from tracer_hooks.values._calculation import Calculation
from tracer_hooks.values._quantities import Quantity
from tracer_hooks.values._units import common_measure, is_currency

_SIGN = re.compile(r"\s?[=≈]\s?")
_WORDS = re.compile(
    r",? (?:is|are|makes?|equals?|that is|that's|which is|i\.e\.|or)(?: (?:about|only|just|exactly))?,? "
    r"|\W{1,2}i\.e\.,? "
    r"| \((?:i\.e\.,? |that is,? |= ?|or )"
)
_ENDS = re.compile(r"\s*(?:[.,;:)!]|\n|$| ?(?:so|and|in total|altogether)\b)")
_TENTH = frozenset(Fraction(10) ** power for power in range(-6, 7))
_ALSO_WORKING_TIME = frozenset(("%", "day", "week", "month", "year"))
"""Eight hours are a day, too."""
_SCALE = re.compile(r"\b(?:map|scale|model|costs?|price)\b|1:\d", re.IGNORECASE)
_ROOM = Fraction(1, 20)


def conversions(text: str, quantities: Sequence[Quantity]) -> Iterator[Calculation]:
    """Every amount that is put in another unit right beside it.

    Args:
        text: Without mark-up.
        quantities: Those of ``text``, in order.
    """
    for one, other in pairwise(quantities):
        between = text[one.end : other.start] if other.start - one.end < 24 else ""
        in_signs = _SIGN.fullmatch(between) is not None
        if not in_signs and (_WORDS.fullmatch(between) is None or _ENDS.match(text, other.end) is None):
            continue
        if one.is_label or other.is_label or not _is_whole(text, one, other):
            continue
        value = _converted(one, other)
        if value is None:
            continue
        holds = abs(value - other.value) <= abs(value) * _ROOM
        if not holds and between.strip(" ,").startswith("or") and not (value and other.value / value in _TENTH):
            continue  # "2 km, or 500 m on foot"
        yield Calculation(one.text.strip(), value, other, (one,), "=", one.start, other.end, holds)


def _converted(one: Quantity, other: Quantity) -> Fraction | None:
    """What one amount is in the other's unit; None where they do not measure the same."""
    if other.unit is None or one.unit == other.unit:
        return None
    if one.unit is None:
        return one.value * 100 if other.unit == "%" and 0 < one.value < 1 and one.decimals >= 2 else None
    if {one.unit, other.unit} & _ALSO_WORKING_TIME or is_currency(one.unit) or is_currency(other.unit):
        return None
    worth = common_measure(one.unit, other.unit)
    return one.value * worth[0] / worth[1] if worth is not None else None


def _is_whole(text: str, one: Quantity, other: Quantity) -> bool:
    """Tell whether neither amount is part of something longer: a scale, a time, a calculation."""
    before = text[max(0, one.start - 40) : one.start]
    if before.rstrip(" (")[-1:] in tuple(":-−–+*×·÷/^=<>√≈") and before.rstrip(" (")[-1:]:
        return False
    after = text[other.end : other.end + 6].lstrip()
    if after[:1] in tuple("+-−–*×·÷/^=") and after[:1]:
        return False
    return _SCALE.search(before + text[one.end : other.end + 20]) is None
