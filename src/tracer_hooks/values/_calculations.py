"""All calculations that a text writes out, and whether they come out."""

from __future__ import annotations

import re
from collections.abc import Sequence
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


def is_doubted(text: str, one: Calculation) -> bool:
    """Tell whether the sentence itself, or the next one, says that it does not hold, or asks; or counts otherwise."""
    start = max(text.rfind(mark, max(0, one.start - _REACH), one.start) for mark in _MARKS)
    ends = [at for mark in _MARKS if (at := text.find(mark, one.end, one.end + _REACH)) >= 0]
    end = min(ends, default=min(len(text), one.end + _REACH)) + 60
    start = max(0, start)
    return (
        _ANYWHERE.search(text, start, end) is not None
        or _BEHIND.search(text, one.end, end) is not None
        or is_negated(text, one)
    )


def is_negated(text: str, one: Calculation) -> bool:
    """Tell whether "not" stands right before it."""
    return _NEGATED.search(text[max(0, one.start - 12) : one.start]) is not None


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
    found += spoken_calculations(plain, quantities, [one.stated.start for one in found])
    right = {one.left for one in found if one.holds and not is_negated(plain, one)}
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


def _one_for_each_place(found: Sequence[Calculation]) -> list[Calculation]:
    """Of two readings of one result, one that holds."""
    best: dict[int, Calculation] = {}
    for one in found:
        known = best.get(one.stated.start)
        if known is None or (one.holds and not known.holds):
            best[one.stated.start] = one
    return sorted(best.values(), key=lambda one: one.start)
