"""Running balances: "500", then "+ 120 → 620", then "- 75 → 545", a line each."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tracer_hooks.values._agreement import agrees
from tracer_hooks.values._calculation import Calculation
from tracer_hooks.values._quantities import Quantity
from tracer_hooks.values._totals import sum_of, summed

_SIGN = re.compile(r"\s*(?:[-*•]\s+|\d+[.)]\s+)?(?:[^\W\d]{2}[\w ]{0,30}:?\s)?(?P<sign>[+\-−–])\s?")
_LEADS_TO = re.compile(
    r"\s*(?:\([^()\n]{0,30}\)\s*|[^\W\d]\w{0,14}\s*){0,3}(?:→|=|->|=>|⇒)\s*(?:[^\W\d]\w{0,14}:?\s+){0,2}"
)


class _Step(NamedTuple):
    amount: Quantity
    is_added: bool
    stated: Quantity


def running_totals(text: str, quantities: Sequence[Quantity]) -> Iterator[Calculation]:
    """Every step of a running balance whose steps stand on lines of their own.

    Args:
        text: Without mark-up.
        quantities: Those of ``text``, in order.
    """
    if "\n" not in text:
        return
    starts = [quantity.start for quantity in quantities]
    previous: Quantity | None = None
    steps: list[tuple[Quantity, _Step]] = []
    place = 0
    for row in text.split("\n"):
        inside = quantities[bisect_left(starts, place) : bisect_left(starts, place + len(row))]
        step = _step(text, place, inside) if len(inside) == 2 else None
        if step is not None and previous is not None:
            steps.append((previous, step))
        elif step is None and steps:
            yield from _judged(steps)
            steps = []
        if row.strip():
            previous = inside[-1] if inside and len(inside) < 3 and not inside[-1].is_label else None
        place += len(row) + 1
    yield from _judged(steps)


def _step(text: str, place: int, inside: Sequence[Quantity]) -> _Step | None:
    """The step of one line; None where the line is none."""
    amount, stated = inside
    if _LEADS_TO.fullmatch(text[amount.end : stated.start]) is None or stated.end - place > 100:
        return None
    if text[amount.end : amount.end + 1].isalpha():
        return None  # 3x
    if amount.text[0] in "+-−" and not text[place : amount.start].strip():
        return _Step(amount, amount.text[0] == "+", stated)
    sign = _SIGN.fullmatch(text[place : amount.start])
    return None if sign is None else _Step(amount, sign["sign"] == "+", stated)


def _judged(steps: Sequence[tuple[Quantity, _Step]]) -> Iterator[Calculation]:
    found: list[Calculation] = []
    for base, step in steps:
        is_negative = not step.is_added and step.amount.value > 0
        terms, signs = (base, step.amount), (1, -1 if is_negative else 1)
        found.append(sum_of(terms, signs, step.stated, holds=agrees(summed(terms, signs), step.stated, terms)))
    # A hyphen may be the mark of a list.
    if any(one.holds for one in found) or any(step.is_added for _, step in steps):
        yield from found
