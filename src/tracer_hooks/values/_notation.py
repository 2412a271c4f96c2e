"""How digits are written: thousands and decimals, in the English, the German, the French and the Swiss way."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum
from fractions import Fraction
from typing import NamedTuple

from tracer_hooks.values._patterns import lazy

MAX_DIGITS = 40
"""Longer rows of digits are ids, hashes or noise."""

_GROUPED_COMMA = lazy(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?")
_GROUPED_DOT = lazy(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_GROUPED_OTHER = lazy(r"\d{1,3}(?:[ \u00a0\u2009\u202f'’]\d{3})+(?:[.,]\d+)?")


class Style(Enum):
    """Which sign a text puts before the decimals."""

    DOT = "."
    COMMA = ","


class Digits(NamedTuple):
    """A number as its digits say it: without sign, unit and power."""

    value: Fraction
    decimals: int


def style_of(rows: Iterable[str]) -> Style | None:
    """Which style the rows of digits of one text follow; None where none of them says it."""
    commas = False
    for row in rows:
        sign = _decimal_sign(row)
        if sign == ".":
            return Style.DOT
        commas = commas or sign == ","
    return Style.COMMA if commas else None


def read_digits(row: str, style: Style | None, *, is_money: bool = False) -> Digits | None:
    """The value of a row of digits with its separators; None for what is no number: ``1.2.3``, ``1,2,3``.

    Without a style, ``1,234`` is a thousand and ``1.234`` is not, unless it is money.
    """
    if len(row) > 2 * MAX_DIGITS:
        return None
    if row.isdigit():
        return Digits(Fraction(int(row)), 0)
    sign = _decimal_sign(row)
    if sign is None and is_one_group(row):
        # A thousand, or one and a bit.
        decimal_sign = style.value if style else "" if is_money else Style.DOT.value
        sign = decimal_sign if decimal_sign in row else ""
    if sign is None:
        return None
    whole, _, decimals = row.rpartition(sign) if sign else (row, "", "")
    digits = re.sub(r"\D", "", whole)
    return Digits(Fraction(int(digits + decimals), 10 ** len(decimals)), len(decimals))


def is_one_group(row: str) -> bool:
    """Tell whether ``row`` is like ``1.234`` or ``1,234``, which have two readings."""
    return bool(re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", row))


def _decimal_sign(row: str) -> str | None:
    """The sign before the decimals, "" where there are none for sure, None where the row alone does not say it."""
    if len(row) > 2 * MAX_DIGITS or is_one_group(row):
        return None
    separators = [letter for letter in row if not letter.isdigit()]
    if not separators:
        return ""
    if len(separators) == 1 and separators[0] in ".,":
        return separators[0]
    if _GROUPED_COMMA.fullmatch(row):
        return "." if "." in row else ""
    if _GROUPED_DOT.fullmatch(row):
        return "," if "," in row else ""
    if _GROUPED_OTHER.fullmatch(row):
        return separators[-1] if separators[-1] in ".," else ""
    return None
