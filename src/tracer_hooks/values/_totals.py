"""What names a total, and the calculation of a sum or product that a text sets out without signs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from tracer_hooks.values._calculation import Calculation
from tracer_hooks.values._quantities import Quantity

TOTAL = re.compile(
    r"\b(?:grand total|total|sum|altogether|in all|overall|gross|gesamt|summe|brutto|amount due|to pay|balance due)\b",
    re.IGNORECASE,
)
PARTIAL = re.compile(
    r"\b(?:sub-?total|subtotal|so far|carried|net|netto|zwischensumme|average|mean|median)\b", re.IGNORECASE
)
TAKEN_OFF = re.compile(
    r"\b(?:discount|voucher|less|minus|credit|deposit|paid|refund|rebate|rabatt|deduct\w*|coupon)\b", re.IGNORECASE
)
_NEAREST, _FARTHEST = Fraction(6, 10), Fraction(17, 10)


def is_plausible(value: Fraction, stated: Quantity) -> bool:
    """Tell whether a result is near enough to what comes out to be a mistake, and not about something else."""
    return value > 0 and _NEAREST <= stated.value / value <= _FARTHEST


def summed(terms: Sequence[Quantity], signs: Sequence[int]) -> Fraction:
    """The sum of ``terms``, each with its sign."""
    return sum((sign * term.value for sign, term in zip(signs, terms, strict=True)), Fraction(0))


def sum_of(terms: Sequence[Quantity], signs: Sequence[int], stated: Quantity, *, holds: bool) -> Calculation:
    """A total and what it is the total of."""
    text = terms[0].text.strip().lstrip("+")
    for term, sign in zip(terms[1:], signs[1:], strict=True):
        text += f" {'+' if sign > 0 else '-'} {term.text.strip().lstrip('+')}"
    return Calculation(
        left=text.replace("+ -", "- "),
        value=summed(terms, signs),
        stated=stated,
        operands=tuple(terms),
        operators="".join("+" if sign > 0 else "-" for sign in signs[1:]),
        start=min(terms[0].start, stated.start),
        end=max(terms[-1].end, stated.end),
        holds=holds,
    )


def product_of(first: Quantity, second: Quantity, stated: Quantity, *, holds: bool) -> Calculation:
    """A count, a price and their product."""
    return Calculation(
        left=f"{first.text.strip()} × {second.text.strip()}",
        value=first.value * second.value,
        stated=stated,
        operands=(first, second),
        operators="×",
        start=first.start,
        end=max(second.end, stated.end),
        holds=holds,
    )
