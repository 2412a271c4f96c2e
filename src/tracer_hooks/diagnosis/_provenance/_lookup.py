"""Under what values are kept and looked up, so that rounded numbers and parts of ids are found at once."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator
from fractions import Fraction
from functools import lru_cache

from tracer_hooks.diagnosis._provenance._entries import Entry, Place
from tracer_hooks.diagnosis._provenance._sightings import Kind, NumberKey, Sighting, number_key

_STEP = 0.1
"""Of the logarithm: two numbers of which one is the other rounded are not further apart than this."""
_NUMBERS_KEPT = 4_096
"""Numbers of which is kept under what they are looked up."""


def kept_under(value: Sighting) -> Iterable[Hashable]:
    """Under what a value is kept: coarser than equality, so that rounded numbers meet."""
    if value.kind is Kind.DATE and value.date is not None:
        return [("date", value.date.month, value.date.day)]
    if value.number is None:
        return value.keys
    return _number_kept_under(value.keys, value.unit)


def looked_up_under(value: Sighting) -> Iterable[Hashable]:
    """Under what a value is looked for: a number also one size up and down."""
    if value.number is None:
        return kept_under(value)
    return _number_looked_up_under(value.keys, value.unit)


@lru_cache(maxsize=_NUMBERS_KEPT)
def _number_kept_under(keys: tuple[NumberKey, ...], unit: str | None) -> tuple[Hashable, ...]:
    return *keys, *(("about", measure, size) for measure, size in _sizes(keys, unit))


@lru_cache(maxsize=_NUMBERS_KEPT)
def _number_looked_up_under(keys: tuple[NumberKey, ...], unit: str | None) -> tuple[Hashable, ...]:
    about = [("about", measure, size + shift) for measure, size in _sizes(keys, unit) for shift in (-1, 0, 1)]
    return tuple(dict.fromkeys([*keys, *about]))


def _sizes(keys: tuple[NumberKey, ...], unit: str | None) -> Iterator[tuple[str | None, int]]:
    """The order of a number's size, for itself and in each measure."""
    number = Fraction(keys[0][1], keys[0][2])
    plain = [number, *([number / 100, number * 100] if unit in ("%", None) else [])]
    named = [*map(number_key, plain), *(key for key in keys if key[0] is not None)]
    for measure, numerator, denominator in named:
        if numerator:
            yield measure, round((math.log(abs(numerator)) - math.log(denominator)) / _STEP)


class CodeText:
    """The ids of a run as one text in their order, to look up parts of ids in."""

    def __init__(self, codes: Iterable[Entry]) -> None:
        self._orders: list[tuple[int, int]] = []
        self._ends: list[int] = []
        parts: list[str] = []
        seen: set[str] = set()
        length = 0
        for one in codes:
            folded = str(one.value.keys[0])
            if folded in seen:
                continue
            seen.add(folded)
            parts.append(folded)
            length += len(folded) + 1
            self._orders.append(one.order)
            self._ends.append(length)
        self._text = "\n".join(parts)

    def has_within(self, part: str, step: int) -> bool:
        """Tell whether an id before the words of a step holds ``part`` and more."""
        count = bisect_left(self._orders, (step, Place.SAID))
        end = self._ends[count - 1] if count else 0
        at = self._text.find(part, 0, end)
        while at >= 0:
            if self._text[at - 1 : at] not in ("", "\n") or self._text[at + len(part) : at + len(part) + 1] not in (
                "",
                "\n",
            ):
                return True
            at = self._text.find(part, at + 1, end)
        return False
