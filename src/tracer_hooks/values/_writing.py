"""Numbers and expressions written for people, the way a text writes its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from tracer_hooks.values._expressions import Sign, Token
from tracer_hooks.values._quantities import Quantity

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
    return written if _is_exact(value, other) else f"about {written}"


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


def _is_exact(value: Fraction, other: Quantity) -> bool:
    places = max(other.decimals, _MOST_DECIMALS)
    return (value * 10**places).denominator == 1 or abs(value) >= 10**18


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
