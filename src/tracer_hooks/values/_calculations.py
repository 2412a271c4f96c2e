"""The calculations that a text writes out, and whether they come out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tracer_hooks.values._calculation import Calculation
from tracer_hooks.values._conversions import conversions
from tracer_hooks.values._doubt import is_doubted, is_negated
from tracer_hooks.values._listed_totals import listed_totals
from tracer_hooks.values._paragraph_totals import paragraph_totals
from tracer_hooks.values._reader import TextReader
from tracer_hooks.values._signed_calculations import signed_calculations
from tracer_hooks.values._spoken_calculations import spoken_calculations
from tracer_hooks.values._tables import table_totals

MAX_CHARS = 40_000
"""Of a longer text, the head and the tail are read."""


_AMBIGUOUS = re.compile(r"(?<![\d.,])\d{1,3}[.,]\d{3}(?![\d.,]*\d)")
_SWAPPED = str.maketrans(",.", ".,")


def calculations_in(text: str, *, reader: TextReader | None = None) -> list[Calculation]:
    """Every calculation in ``text`` whose parts can be read, in order of place.

    Written in signs (with units, currencies, brackets, LaTeX), in words ("20 % of 300 is 60", "12, 8 and 4, altogether
    24") or as a table with a total. What might be something else (a date, a range, an equation with unknowns, a quoted
    mistake) is left out: a calculation that is accused must be wrong under every reading that is tried.

    Args:
        text: Any text; the time grows linearly with it.
        reader: Whose readings are shared with others who look at the same text; one of its own without it.
    """
    reader = reader or TextReader()
    if len(text) > MAX_CHARS:
        half = MAX_CHARS // 2
        tail = len(text) - half
        later = calculations_in(text[tail:], reader=reader)
        return calculations_in(text[:half], reader=reader) + [_shifted(one, tail) for one in later]
    plain = reader.plain(text)
    quantities = reader.quantities(plain)
    if len(quantities) < 2:
        return []
    found = [*signed_calculations(plain, reader), *conversions(plain, quantities)]
    found += [*table_totals(plain, quantities), *listed_totals(plain, quantities)]
    found += spoken_calculations(plain, quantities, [one.stated.start for one in found])
    right = {one.left for one in found if one.holds and not is_negated(plain, one)}
    found += paragraph_totals(plain, quantities, found)
    # Whoever calculates the same again, rightly, has seen it.
    found = [one for one in found if one.holds or one.left not in right]
    found = [
        one for one in found if one.holds or not (is_doubted(plain, one) or _holds_with_other_separators(plain, one))
    ]
    found.sort(key=lambda one: (one.start, -one.end))
    return _one_for_each_place(found)


def _holds_with_other_separators(text: str, one: Calculation) -> bool:
    """Tell whether "1.234" was read as a thousand where it is one and a bit, or the other way round."""
    part = text[one.start : one.end]
    if _AMBIGUOUS.search(part) is None:
        return False
    # One number more makes the style plain, at the place where nothing else can be.
    style = " 0,5" if "." in part else " 0.5"
    for other in (part + "\n" + style, part.translate(_SWAPPED)):
        if any(found.holds for found in signed_calculations(other, TextReader()) if found.start == 0):
            return True
    return False


def _shifted(one: Calculation, by: int) -> Calculation:
    return replace(one, start=one.start + by, end=one.end + by)


def _one_for_each_place(found: Sequence[Calculation]) -> list[Calculation]:
    """Of two readings of one result, one that holds."""
    best: dict[int, Calculation] = {}
    for one in found:
        known = best.get(one.stated.start)
        if known is None or (one.holds and not known.holds):
            best[one.stated.start] = one
    return sorted(best.values(), key=lambda one: one.start)
