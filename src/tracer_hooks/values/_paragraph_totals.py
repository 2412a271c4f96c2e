"""Totals in a sentence of their own: "These are 216 euros, those 78 euros. Taken together it costs 294 euros"."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from tracer_hooks.values._agreement import agrees
from tracer_hooks.values._calculation import Calculation
from tracer_hooks.values._quantities import Quantity
from tracer_hooks.values._totals import is_plausible, sum_of, summed

_TOTAL = re.compile(
    r"(?:(?<=[.!] )|(?<=\n)|(?<=; ))(?:So |Thus,? |Therefore,? |Hence,? )?(?:(?:in total|altogether|taken"
    r" together|all together|in all|together|all told)"
    r"\b(?:,? [^\W\d][\w'’]{0,14}){0,5}|the (?:grand |overall |combined )?total (?:is|comes to|cost is|price"
    r" is)|total:) ",
    re.IGNORECASE,
)
_REACH = 600


def paragraph_totals(text: str, quantities: Sequence[Quantity], found: Sequence[Calculation]) -> Iterator[Calculation]:
    """Every total of the results that its paragraph has worked out before.

    Args:
        text: Without mark-up.
        quantities: Those of ``text``, in order.
        found: The other calculations.
    """
    starts = [quantity.start for quantity in quantities]
    ordered = sorted(found, key=lambda one: one.start)
    begins = [one.start for one in ordered]
    for match in _TOTAL.finditer(text):
        here = bisect_left(starts, match.end())
        if here == len(quantities) or quantities[here].start > match.end() + 4:
            continue
        stated = quantities[here]
        begin = max(text.rfind("\n\n", 0, match.start()), match.start() - _REACH, 0)
        parts = ordered[bisect_left(begins, begin) : bisect_left(begins, match.start())]
        yield from _total(parts, quantities[bisect_left(starts, begin) : here], stated)


def _total(parts: Sequence[Calculation], before: Sequence[Quantity], stated: Quantity) -> Iterator[Calculation]:
    used = {operand.start for part in parts for operand in part.operands}
    results = {part.stated.start: part.stated for part in parts if part.stated.start not in used}
    terms = list(results.values())
    known = used | set(results)
    if len(terms) < 2 or stated.unit is None or any(term.unit != stated.unit for term in terms):
        return
    if any(one.unit == stated.unit and one.start not in known for one in before):
        return  # something that no calculation explains
    signs = [1] * len(terms)
    value = summed(terms, signs)
    holds = agrees(value, stated, terms)
    if holds or is_plausible(value, stated):
        yield sum_of(terms, signs, stated, holds=holds)
