"""Quantities in text: numbers with their units, by value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tracer_hooks.values._dates import dates_in, times_in
from tracer_hooks.values._numerals import (
    Currency,
    Digits,
    after_number,
    currency_before,
    is_one_group,
    list_numbers,
    marks_before,
    read_digits,
    sign_before,
    stands_alone,
    style_of,
    word_numbers_in,
)
from tracer_hooks.values._text import lazy, near_digits, read_once
from tracer_hooks.values._units import common_measure, is_currency

_ADDRESS = lazy(r"https?://[^\s)>\]]{1,2000}")
_NO_AMOUNT = lazy(
    # Telephone numbers.
    r"\+\d{1,3}(?:[ ().-]{1,2}\d{1,8}){2,6}(?!\w)|\(\d{3}\) ?\d{3}-\d{4}(?!\d)"
    # Three rows of digits with hyphens: telephone, social security, ISBN; not a subtraction, which has spaces.
    r"|(?<![\w.,-])\d{1,12}(?:-\d{1,12}){2,8}(?![\w-])"
    # The addresses of machines, versions.
    r"|(?<![\w.])v?\d{1,5}(?:\.\d{1,5}){2,3}(?![\w.]|,\d)"
    # Chains of slashes.
    r"|(?<![\w.])\d{1,12}(?:/\d{1,12}){2,8}"
    r"|\b0[xX][0-9a-fA-F]{1,64}\b"
)


def _places_without_amounts(text: str) -> bytearray:
    """A mark for each letter of ``text`` whether it belongs to something whose digits are no amount."""
    found = [(date.start, date.end) for date in dates_in(text)]
    found += [(time.start, time.end) for time in times_in(text)]
    found += [match.span() for match in _ADDRESS.finditer(text)] if "://" in text else []
    found += [match.span() for match in near_digits(text, _NO_AMOUNT)]
    marks = bytearray(len(text))
    for start, end in found:
        marks[start:end] = b"\1" * (end - start)
    return marks


_VULGAR = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_RATIOS = "1/2 1/3 2/3 1/4 3/4 1/5 2/5 3/5 4/5 1/6 5/6 1/8 3/8 5/8 7/8"
_VULGAR_LETTERS = frozenset(_VULGAR)
_VULGAR_VALUES = dict(zip(_VULGAR, map(Fraction, _RATIOS.split()), strict=True))
_ROW = r"\d+(?:[.,'’]\d+|[ \u00a0\u2009\u202f]\d{3}(?!\d))*"
_DIGITS = (
    rf"(?P<row>{_ROW})(?:[ ]?(?P<part>[{_VULGAR}])"
    r"|(?P<gap>[ ](?=\d{1,3}/))?(?P<fraction>\d{0,6}/\d{1,6}(?![\d/]|[.,]\d)))?"
)
_NUMBER = lazy(_DIGITS)
_SIGNED_FRACTION = lazy(
    rf"\\[dt]?frac\{{(?P<over>\d{{1,12}})\}}\{{(?P<under>\d{{1,12}})\}}|{_DIGITS}|(?P<vulgar>[{_VULGAR}])"
)
"""The same, and fractions in LaTeX or of one letter, which few texts have."""
_DUST = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number that a text states, with its unit."""

    value: Fraction
    """In ``unit``; "2.5 million" is 2,500,000 and "12 %" is 12."""
    unit: str | None
    """The unit's one name here ("km", "EUR", "%"), or None. Nouns that are counted ("17 copies") are no units."""
    text: str
    """As it is written, with sign and unit."""
    start: int
    end: int
    decimals: int = 0
    """The number of decimals as written: 2 for "1.50"."""
    is_approximate: bool = False
    """The text says "about" or the like."""
    is_fraction: bool = False
    """Written as numerator and denominator: exact, where decimals may be rounded."""
    in_words: bool = False
    """Written in words; "one" may be a pronoun."""
    is_label: bool = False
    """It numbers something ("Step 2", the lines of a list) and is no amount."""


@read_once
def quantities_in(text: str) -> list[Quantity]:
    """Every quantity in ``text``, in order; they do not overlap.

    Dates, times, telephone numbers, addresses, versions, and numbers that are part of a name (``a142``) are none. The
    time that it takes grows linearly with the text.
    """
    found = list(_in_digits(text)) if text else []
    found += _in_words(text)
    found.sort(key=lambda quantity: quantity.start)
    return _compounds(_without_overlap(found), text)


def same_quantity(expected: Quantity, found: Quantity) -> bool:
    """Tell whether ``found`` states the expected quantity.

    Units are converted. A unit that one of them leaves out is no difference, and "12 %" is also 0.12. Where the
    expected number has decimals, whatever rounds to it at their number is the same; whole numbers and fractions are
    exact, but a fraction without an end (1/3) is the same as what it rounds to at two decimals or more.
    """
    if expected.unit is not None and found.unit is not None:
        factors = common_measure(expected.unit, found.unit)
        return factors is not None and _is_close(expected, found.value * factors[1] / factors[0], found)
    if _is_close(expected, found.value, found):
        return True
    if expected.unit == "%":
        return _is_close(expected, found.value * 100, found, shift=2)
    return found.unit == "%" and _is_close(expected, found.value / 100, found, shift=-2)


def _is_close(expected: Quantity, value: Fraction, found: Quantity, *, shift: int = 0) -> bool:
    difference = abs(expected.value - value)
    if difference <= _DUST * abs(expected.value):
        return True
    if expected.is_fraction:
        decimals = found.decimals - shift
        return decimals >= 2 and not _has_end(expected.value) and difference <= Fraction(1, 2 * 10**decimals)
    return expected.decimals > 0 and difference <= Fraction(1, 2 * 10**expected.decimals)


def _has_end(value: Fraction) -> bool:
    """Tell whether the decimals of ``value`` end."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _in_digits(text: str) -> Iterator[Quantity]:
    has_signs = "frac{" in text or not (text.isascii() or _VULGAR_LETTERS.isdisjoint(text))
    rows = list((_SIGNED_FRACTION if has_signs else _NUMBER).finditer(text))
    if not rows:
        return
    style = style_of(row for match in rows if (row := match["row"]) and not row.isdigit())
    nowhere = _places_without_amounts(text)
    listed = list_numbers(text)
    floor = 0
    for match in rows:
        if nowhere[match.start()]:
            continue
        number = _number(match, style)
        if number is not None:
            found = [_dressed(text, match.span(), number, floor, is_listed=match.start() in listed)]
        else:
            found = [_dressed(text, span, part, floor, in_row=True) for span, part in _parts(match, style)]
        for quantity in found:
            if quantity is not None:
                floor = quantity.end
                yield quantity


def _parts(match: re.Match[str], style: str | None) -> Iterator[tuple[tuple[int, int], Digits]]:
    """The numbers of a row that is not one, such as "1,2,3" and "5 10 200", with their places."""
    row = match.group()
    for part in re.finditer(r"\d+", row) if len(row) <= 400 and not _is_id(row) else ():
        separators = row[: part.start()][-1:] + row[part.end() : part.end() + 1]
        number = read_digits(part.group(), style) if "." not in separators and "/" not in separators else None
        if number is not None:
            yield (match.start() + part.start(), match.start() + part.end()), number


def _number(match: re.Match[str], style: str | None) -> Digits | None:
    """The number without what stands around it; None for a row that is not one number."""
    if match.lastgroup == "under":
        return _ratio(int(match["over"]), int(match["under"]))
    if match.lastgroup == "vulgar":
        return Digits(_VULGAR_VALUES[match["vulgar"]], 0, is_fraction=True)
    row = match["row"]
    is_money = style is None and is_one_group(row) and _is_money(match.string, *match.span())
    digits = read_digits(row, style, is_money=is_money)
    if digits is None or _is_id(row):
        return None
    if match["part"]:
        value = digits.value + _VULGAR_VALUES[match["part"]]
        return Digits(value, 0, is_fraction=True) if not digits.decimals else None
    if match["fraction"]:
        numerator, _, denominator = match["fraction"].partition("/")
        if match["gap"]:
            part = _ratio(int(numerator), int(denominator)) if numerator else None
            return part._replace(value=part.value + digits.value) if part and part.value < 1 else None
        return _ratio(digits.value, int(denominator)) if not numerator else None
    return digits


def _is_money(text: str, start: int, end: int) -> bool:
    tail = after_number(text, end)
    return tail is not None and (is_currency(tail.unit) or currency_before(text, start, tail.end, 0).unit is not None)


def _ratio(numerator: int | Fraction, denominator: int) -> Digits | None:
    return None if denominator == 0 else Digits(Fraction(numerator) / denominator, 0, is_fraction=True)


def _is_id(row: str) -> bool:
    return len(row) > 1 and row[0] == "0" and row[1].isdigit()


def _in_words(text: str) -> Iterator[Quantity]:
    for found in word_numbers_in(text):
        if text[max(0, found.start - 1) : found.start] not in ("-", "_"):
            quantity = _dressed(text, found[1:], Digits(Fraction(found.value), 0), None)
            if quantity is not None:
                yield quantity


def _dressed(
    text: str,
    span: tuple[int, int],
    number: Digits,
    floor: int | None,
    *,
    in_row: bool = False,
    is_listed: bool = False,
) -> Quantity | None:
    """The number with its sign, power, unit and currency; None where it is glued to something else.

    Args:
        text: The whole text.
        span: Place of the number alone.
        number: What its digits or words say.
        floor: Where the quantity before it ends; None for a number in words, which has no currency before it.
        in_row: It is one of several numbers that a row of digits holds.
        is_listed: It is the number of a line.
    """
    start, end = span
    tail = after_number(text, end)
    if tail is None or not (in_row or floor is None or stands_alone(text, start)):
        return None
    before = Currency(None, start) if floor is None else currency_before(text, start, tail.end, floor)
    sign = sign_before(text, before.start)
    is_about, is_label = marks_before(text, sign.start)
    return Quantity(
        tail.applied_to(number.value, sign),
        before.unit or tail.unit,
        text[sign.start : tail.end],
        sign.start,
        tail.end,
        decimals=max(0, number.decimals - tail.power),
        is_approximate=is_about,
        is_fraction=number.is_fraction,
        in_words=floor is None,
        is_label=is_listed or is_label,
    )


def _without_overlap(found: list[Quantity]) -> list[Quantity]:
    kept: list[Quantity] = []
    for quantity in found:
        if not kept or quantity.start >= kept[-1].end:
            kept.append(quantity)
    return kept


def _compounds(found: list[Quantity], text: str) -> list[Quantity]:
    """One quantity in the smaller unit of "2 hours and 30 minutes"; as one quantity, in the smaller unit."""
    merged: list[Quantity] = []
    for quantity in found:
        whole = _joined(merged[-1], quantity, text) if merged else None
        if whole is not None:
            merged[-1] = whole
        else:
            merged.append(quantity)
    return merged


_LARGER_AND_SMALLER = (
    "week day, day h, h min, min s, year month, ft inch, lb oz, pound oz, EUR cent, USD cent, GBP penny, km m, m cm, "
    "kg g"
)
_COMPOUND = frozenset(tuple(units.split()) for units in _LARGER_AND_SMALLER.split(", "))


def _joined(larger: Quantity, smaller: Quantity, text: str) -> Quantity | None:
    units = (larger.unit or "", smaller.unit or "")
    if units not in _COMPOUND or text[larger.end : smaller.start] not in ("", " ", " and ") or smaller.value < 0:
        return None
    factors = common_measure(*units)
    if factors is None or larger.decimals or smaller.value * factors[1] >= factors[0]:
        return None
    return Quantity(
        larger.value * factors[0] / factors[1] + (smaller.value if larger.value >= 0 else -smaller.value),
        smaller.unit,
        text[larger.start : smaller.end],
        larger.start,
        smaller.end,
        decimals=smaller.decimals,
        is_approximate=larger.is_approximate,
        in_words=larger.in_words and smaller.in_words,
        is_label=larger.is_label,
    )
