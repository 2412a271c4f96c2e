"""Lists with one amount a line and a total below them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tracer_hooks.values._agreement import agrees
from tracer_hooks.values._calculation import Calculation
from tracer_hooks.values._quantities import Quantity
from tracer_hooks.values._totals import PARTIAL, TAKEN_OFF, is_plausible, sum_of, summed

# A list may leave out what its total has: of one whose last line says more than "total" little is known.
_NAMED = re.compile(
    r"\W*(?:grand |overall |sum )?(?:total|sum|altogether|in all|gross|gesamt|summe|brutto|to pay|amount due"
    r"|balance due)"
    r"(?P<of> (?:cost|costs|price|amount|expenses|hours|time|weight|distance|sum|minutes))?"
    r"(?: is| comes to)?\W*",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:each|per|apiece|pro|every|optional|excluded|not included|or|about|if|max\w*|up to)\b|/|~|≈|\?", re.IGNORECASE
)
_TIMES = re.compile(r"[×*@]|\bx\b|\dx\d|\b(?:at|à|je|times|mal)\b", re.IGNORECASE)
_RESULT = re.compile(r"[=:→]\s*$")
_MOST_LINES, _LONGEST = 60, 120


class _Line(NamedTuple):
    label: str
    text: str
    amounts: Sequence[Quantity]


def listed_totals(text: str, quantities: Sequence[Quantity]) -> Iterator[Calculation]:
    """Every total of a list with one amount a line.

    Args:
        text: Without mark-up.
        quantities: Those of ``text``, in order.
    """
    if "\n" not in text:
        return
    for block in _blocks(text, quantities):
        above: list[_Line] = []
        for line in block:
            named = _NAMED.fullmatch(line.label)
            if named is None or PARTIAL.search(line.label) or len(line.amounts) != 1:
                if PARTIAL.search(line.label) is None or not above:
                    above.append(line)
                continue
            if len(above) >= 2:
                yield from _sum_above(above, line.amounts[0], is_bare=named["of"] is None)
            above = []


def _blocks(text: str, quantities: Sequence[Quantity]) -> Iterator[list[_Line]]:
    """Stretches of lines that each have a label and an amount, with at most one blank line between two."""
    starts = [quantity.start for quantity in quantities]
    block: list[_Line] = []
    place, blanks = 0, 0
    for row in text.split("\n"):
        here, place = place, place + len(row) + 1
        inside = quantities[bisect_left(starts, here) : bisect_left(starts, here + len(row))]
        amounts = [one for one in inside if not one.is_label and not one.in_words]
        blanks = blanks + 1 if not row.strip() else 0
        if block and blanks == 1:
            continue
        if 1 <= len(amounts) <= 5 and len(row) <= _LONGEST and row.count("|") < 2:
            if len(block) < _MOST_LINES:
                block.append(_Line(row[: amounts[0].start - here], row, amounts))
        elif block:
            yield block
            block = []
    if block:
        yield block


def _sum_above(above: Sequence[_Line], stated: Quantity, *, is_bare: bool) -> Iterator[Calculation]:
    terms = [_amount(line, stated) for line in above]
    known = [term for term in terms if term is not None]
    if len(known) < len(terms):
        return
    signs = [
        -1 if place and TAKEN_OFF.search(line.label) and term.value > 0 else 1
        for place, (line, term) in enumerate(zip(above, known, strict=True))
    ]
    plain = [1] * len(signs)
    # What stands first may be no item: a budget, a number of people.
    sums = [summed(known[place:], chosen[place:]) for chosen in (signs, plain) for place in range(len(known) - 1)]
    holds = any(agrees(one, stated, known) for one in sums)
    if not holds:
        is_unsure = any(_UNSURE.search(line.text) for line in above) or any(
            TAKEN_OFF.search(line.label) for line in above[:1]
        )
        if is_unsure or not is_plausible(sums[0], stated) or (not is_bare and stated.unit is None):
            return
    yield sum_of(known, signs, stated, holds=holds)


def _amount(line: _Line, stated: Quantity) -> Quantity | None:
    """The amount of a line that counts; None where more than one may be meant."""
    amounts = [one for one in line.amounts if one.unit != "%"] if stated.unit != "%" else list(line.amounts)
    if len(amounts) == 1:
        return amounts[0] if amounts[0].unit == stated.unit else None
    last = line.amounts[-1]
    base = line.amounts[0].start - len(line.label)
    before = line.text[: last.start - base]
    if last.unit == stated.unit and _RESULT.search(before):
        return last
    if _TIMES.search(line.text, len(line.label), last.end - base) is not None:
        return None  # "2 × 3 EUR" is 6
    same = [one for one in amounts if one.unit == stated.unit]
    return same[0] if len(same) == 1 and stated.unit is not None else None
