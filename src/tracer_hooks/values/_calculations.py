"""All calculations that a text writes out, and whether they come out."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from tracer_hooks.values._calculation import Calculation
from tracer_hooks.values._expressions import TextReader, parts_to_read
from tracer_hooks.values._signed_calculations import signed_calculations
from tracer_hooks.values._spoken_calculations import spoken_calculations
from tracer_hooks.values._totals import listed_totals, table_totals

_ANYWHERE = re.compile(
    r"\b(?:wrong\w*|incorrect\w*|mistake\w*|false\w*|not (?:correct|right|true)|erroneous\w*|falsch\w*"
    r"|miscalculat\w*|slip"
    r"|typo|rather than|instead of|for the price of|(?:get|one|\d) free|for free|binary|bits?|hex\w*|base \d|modulo|mod"
    r"|is off)\b|\?",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    r"\b(?:should (?:be|have|read)|instead|but (?:it|that|this|the|in)\b|but (?:is|was)|actually|in fact|in"
    r" truth|corrected|remainder"
    r"|correction|carry|(?:right|correct|true) (?:sum|answer|result|value|total|number|figure))\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|nicht|never|isn't)\W{1,3}$", re.IGNORECASE)
_REACH = 160
_MARKS = (". ", "\n", "! ", "? ")


def is_doubted(text: str, found: Calculation) -> bool:
    """Tell whether the sentence itself, or the next one, says that it does not hold, or asks; or counts otherwise."""
    start = max(text.rfind(mark, max(0, found.start - _REACH), found.start) for mark in _MARKS)
    ends = [at for mark in _MARKS if (at := text.find(mark, found.end, found.end + _REACH)) >= 0]
    end = min(ends, default=min(len(text), found.end + _REACH)) + 60
    start = max(0, start)
    return (
        _ANYWHERE.search(text, start, end) is not None
        or _BEHIND.search(text, found.end, end) is not None
        or is_negated(text, found)
    )


def is_negated(text: str, found: Calculation) -> bool:
    """Tell whether "not" stands right before it."""
    return _NEGATED.search(text[max(0, found.start - 12) : found.start]) is not None


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
    return [
        replace(found, start=found.start + place, end=found.end + place)
        for place, part in parts_to_read(text)
        for found in _calculations(part, reader)
    ]


def _calculations(text: str, reader: TextReader) -> list[Calculation]:
    plain = reader.plain(text)
    quantities = reader.quantities(plain)
    if len(quantities) < 2:
        return []
    found = [*signed_calculations(plain, reader), *table_totals(plain, quantities), *listed_totals(plain, quantities)]
    found += spoken_calculations(plain, quantities, [calculation.stated.start for calculation in found])
    # Whoever calculates the same again, rightly, has seen it.
    right = {calculation.left for calculation in found if calculation.holds and not is_negated(plain, calculation)}
    found = [calculation for calculation in found if calculation.holds or not _is_taken_back(plain, calculation, right)]
    found.sort(key=lambda calculation: (calculation.start, -calculation.end))
    return _one_for_each_place(found)


def _is_taken_back(text: str, found: Calculation, right: Collection[str]) -> bool:
    """Tell whether the text knows that a calculation is wrong, or it is right in another reading of its numbers."""
    return found.left in right or is_doubted(text, found) or _holds_with_other_separators(text, found)


def _holds_with_other_separators(text: str, found: Calculation) -> bool:
    """Tell whether "1.234" was read as a thousand where it is one and a bit, or the other way round."""
    part = text[found.start : found.end]
    if _AMBIGUOUS.search(part) is None:
        return False
    # One number more makes the style plain, at the place where nothing else can be.
    style = " 0,5" if "." in part else " 0.5"
    for other in (part + "\n" + style, part.translate(_SWAPPED)):
        if any(each.holds for each in signed_calculations(other, TextReader()) if each.start == 0):
            return True
    return False


def _one_for_each_place(found: Sequence[Calculation]) -> list[Calculation]:
    """Of two readings of one result, one that holds."""
    best: dict[int, Calculation] = {}
    for calculation in found:
        known = best.get(calculation.stated.start)
        if known is None or (calculation.holds and not known.holds):
            best[calculation.stated.start] = calculation
    return sorted(best.values(), key=lambda calculation: calculation.start)
