"""One calculation that a text writes out: whether its result agrees, and how the right one is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tracer_hooks.values._expressions import Sign, Token
from tracer_hooks.values._quantities import Quantity
from tracer_hooks.values._units import common_measure, is_currency, readings

_ROUGH = Fraction(5, 100)
"""Room for what is said to be about right."""
_ROUNDED = Fraction(1, 100)
_FLOATS = Fraction(1, 10**9)
"""The error of floating point."""
_DATA = frozenset(("bit", "B", "byte", "kB", "KB", "MB", "GB", "TB", "PB"))
_SCALES = tuple(Fraction(scale) for scale in (1000, 10**6, 100, 60, 3600, 24, 7, 12))
"""Factors that a result in another unit than the operands' may be off by, where the units are not known."""
_MANY = 10**5
_MANTISSA = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def agrees(
    value: Fraction,
    stated: Quantity,
    operands: Sequence[Quantity],
    *,
    rough: bool = False,
    rounded: bool = False,
    inexact: bool = False,
) -> bool:
    """Tell whether ``stated`` is what the ``value`` of the operands' plain numbers comes to.

    The units of the ``operands`` decide which other readings are fair. The text may say "about" (``rough``) or have
    the sign for it (``rounded``); an ``inexact`` result, as that of a division, may have been rounded by hand.
    """
    room = _ROUGH if rough else _ROUNDED if rounded else Fraction(0)
    if any(_close(value * factor, stated, room, inexact=inexact) for factor in _factors(stated, operands)):
        return True
    return stated.unit == "%" and _close(value * 100, stated, room, inexact=True)


def _factors(stated: Quantity, operands: Sequence[Quantity]) -> list[Fraction]:
    units = {operand.unit for operand in operands if operand.unit not in (None, "%")}
    found = [Fraction(1)]
    if stated.unit is None or stated.unit in units:
        return found
    if units and units <= _DATA and stated.unit in _DATA:
        return [*found, *(Fraction(1024) ** power for power in range(-4, 5)), *(Fraction(8), Fraction(1, 8))]
    if is_currency(stated.unit) and any(is_currency(unit) for unit in units):
        return found
    theirs = dict(readings(stated.unit))
    for unit in units:
        found += [factor / theirs[measure] for measure, factor in readings(unit) if measure in theirs]
    if len(found) == 1:
        found += [factor for scale in _SCALES for factor in (scale, 1 / scale)]
    return found


def _close(value: Fraction, stated: Quantity, room: Fraction, *, inexact: bool) -> bool:
    away = abs(value - stated.value)
    if away <= abs(value) * max(room, _FLOATS):
        return True
    if stated.is_fraction:
        return away <= abs(value) * _ROUGH  # "33 / 100 = 1/3"; a fraction has no last place
    last = _last_place(stated)
    if value.denominator == 1 and last <= 1 and stated.decimals == 0 and not inexact:
        return False
    # Rounded or, by hand, cut off.
    return away < last if inexact or value.denominator != 1 else away <= last / 2


def _last_place(stated: Quantity) -> Fraction:
    """The worth of the last digit that is written: of "2.5 million" a hundred thousand."""
    place = Fraction(1, 10**stated.decimals)
    match = _MANTISSA.search(stated.text)
    if match is None or stated.value.denominator != 1 or abs(stated.value) < _MANY:
        return place
    mantissa = Fraction(match.group().replace(",", ""))
    if not mantissa or abs(stated.value) == mantissa:
        return place
    return abs(stated.value / mantissa) / Fraction(10) ** len(match.group().partition(".")[2])


_DIGITS = re.compile(r"[-+−]?\d(?:[\d.,'’\u00a0\u2009\u202f ]*\d)?")
_GROUPED = re.compile(r"\d([ '’\u00a0\u2009\u202f])\d{3}")
_MANY_PARTS = re.compile(r"\d[^\d]*[^\W\d][^\d]*\d")
_PARTS: dict[str | None, tuple[int, str, str]] = {
    "min": (60, "h", "min"),
    "s": (60, "min", "s"),
    "day": (7, "weeks", "days"),
}
_SCALED = re.compile(r"\d ?(?:thousand|million|billion|trillion|mln|mn|bn|[kKMB]\b)|[eE]\d|×|\^|⁰|\*")
_MOST_DECIMALS, _MOST_PLACES = 4, 12
_LONELY = re.compile(r"(?:(?<=[-+×/] )|(?<=\()|^)\(([^()+×/−\s-]{1,24}(?: [^\W\d]{1,12})?)\)(?= [-+×/]|\)|\^|$)")


def written_result(value: Fraction, other: Quantity) -> str:
    """:func:`written_like`, with "about" where the number that is written is rounded."""
    written = written_like(value, other)
    is_exact = (value * 10 ** max(other.decimals, _MOST_DECIMALS)).denominator == 1 or abs(value) >= 10**18
    return written if is_exact else f"about {written}"


def written_like(value: Fraction, other: Quantity) -> str:
    """``value`` with the unit, the decimals and the separators of ``other``: "€1.234,50" of "€1.300,00"."""
    text = other.text.strip().lstrip("+-−")
    match = _DIGITS.search(text)
    if match is None or other.in_words or other.is_fraction or _SCALED.search(text):
        return plain_number(value, other.decimals) + _unit_behind(text, other)
    if _MANY_PARTS.search(text):
        return _in_parts(value, other)
    written = plain_number(abs(value), other.decimals)
    digits = match.group()
    group = _GROUPED.search(digits)
    if _has_decimal_comma(digits, other):
        written = written.translate(str.maketrans(",.", ".,"))
        if "." not in digits and group is None:
            written = written.replace(".", "")
    elif group is None and "," not in digits and abs(other.value) >= 1000:
        written = written.replace(",", "")
    if group is not None:
        written = written.replace("." if _has_decimal_comma(digits, other) else ",", group[1])
    sign = "-" if value < 0 else ""
    return sign + (text[: match.start()] + written + text[match.end() :]).strip()


def plain_number(value: Fraction, decimals: int = 0) -> str:
    """A number with thousands separators; exact when it has few decimals, else rounded."""
    if abs(value) >= 10**18:
        return f"{float(value):.3e}" if abs(value) < 10**300 else "more than 10^300"
    for places in range(max(decimals, 0), _MOST_DECIMALS + 1):
        if (value * 10**places).denominator == 1:
            return _rounded(value, places)
    places = max(decimals, 2)
    while 0 < abs(value) < Fraction(1, 10**places) and places < _MOST_PLACES:
        places += 1
    return _rounded(value, places) if round(value * 10**places) or not value else f"{float(value):.3e}"


def expression_in_words(tokens: Sequence[Token]) -> str:
    """An expression as people write it: "3 × 120 EUR + 2^3"."""
    tokens = _without_outer_brackets(tokens)
    text = ""
    for place, token in enumerate(tokens):
        glued = token.sign is Sign.CLOSE or text.endswith(("(", "^")) or token.text == "^"
        glued = glued or (token.sign is Sign.OPEN and place > 0 and tokens[place - 1].end == token.start)
        glued = glued or (place == 1 and tokens[0].text == "-") or not text
        text += ("" if glued else " ") + {Sign.OPEN: "(", Sign.CLOSE: ")"}.get(token.sign, token.text.strip())
    text = _LONELY.sub(r"\1", " ".join(text.split()))
    return text.replace("- -", "+ ").replace("+ -", "- ")


def _without_outer_brackets(tokens: Sequence[Token]) -> Sequence[Token]:
    """Without brackets around the whole."""
    while len(tokens) > 2 and tokens[0].sign is Sign.OPEN and tokens[-1].sign is Sign.CLOSE:
        depth = 0
        for token in tokens[:-1]:
            depth += (token.sign is Sign.OPEN) - (token.sign is Sign.CLOSE)
            if depth == 0:
                return tokens
        tokens = tokens[1:-1]
    return tokens


def _rounded(value: Fraction, places: int) -> str:
    scaled = round(value * 10**places)
    whole, rest = divmod(abs(scaled), 10**places)
    sign = "-" if scaled < 0 else ""
    return f"{sign}{whole:,}" + (f".{rest:0{places}}" if places else "")


def _unit_behind(text: str, other: Quantity) -> str:
    """The unit of a number that is written in words or with a power of ten."""
    if other.unit is None:
        return ""
    return other.unit if other.unit == "%" else f" {other.unit}"


def _in_parts(value: Fraction, other: Quantity) -> str:
    """A value in the smaller of two units, in both: "2 h 15 min"."""
    many, larger, smaller = _PARTS.get(other.unit, (0, "", ""))
    if not many or value.denominator != 1 or value < 0:
        return plain_number(value, other.decimals) + _unit_behind(other.text, other)
    whole, rest = divmod(int(value), many)
    return f"{whole} {larger}" + (f" {rest} {smaller}" if rest else "")


def _has_decimal_comma(digits: str, other: Quantity) -> bool:
    decimals = digits.rpartition(",")[2]
    return "," in digits and other.decimals > 0 and decimals.isdigit() and len(decimals) == other.decimals


@dataclass(frozen=True, slots=True)
class Calculation:
    """A calculation with the result that the text gives for it."""

    left: str
    """The calculation, for people: "3 × 120 EUR + 2 × 55 EUR"."""
    value: Fraction
    """The right result."""
    stated: Quantity
    """The result that the text gives."""
    operands: tuple[Quantity, ...]
    operators: str
    """The signs in order, such as "×+×"; a sum or product in words has its signs too."""
    start: int
    end: int
    holds: bool
    """True where the stated result is right, rounding and units allowed for."""
    said: str = ""
    """The result in the text, where that is a calculation itself: "60 + 20"."""
    said_value: Fraction | None = None
    """The right result of that."""

    @property
    def correction(self) -> str:
        """The mistake, as a sentence without a full stop: "3 × 120 EUR is 360 EUR, not 430 EUR"."""
        right = f"{self.left} is {self.right}"
        if self.said_value is not None:
            return f"{right}, and {self.said} is {written_result(self.said_value, self.stated)}"
        return f"{right}, not {self.stated.text.strip()}"

    @property
    def right(self) -> str:
        """The right result, written like the stated one."""
        return written_result(self.value, self._like)

    @property
    def _like(self) -> Quantity:
        """The quantity that the value is written like: an operand, where the result is in a unit of another size."""
        of_unit = [operand for operand in self.operands if operand.unit not in (None, "%")]
        unit, stated = of_unit[0].unit if of_unit else None, self.stated.unit
        if unit is None or stated is None or any(operand.unit in (stated, "%") for operand in self.operands):
            return self.stated
        is_sum = set(self.operators) <= set("+-") and all(operand.unit == unit for operand in of_unit)
        is_one = is_sum or len(of_unit) == 1
        return of_unit[0] if is_one and common_measure(unit, stated) is not None else self.stated


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


def product_of(first: Quantity, second: Quantity, stated: Quantity) -> Calculation:
    """A count, a price and their product."""
    value = first.value * second.value
    return Calculation(
        left=f"{first.text.strip()} × {second.text.strip()}",
        value=value,
        stated=stated,
        operands=(first, second),
        operators="×",
        start=first.start,
        end=max(second.end, stated.end),
        holds=agrees(value, stated, (first, second)),
    )
