"""A small evaluator of written calculations, of the audit's own: what "3 × 120 EUR + 2 × 55 EUR" comes to."""

from __future__ import annotations

import re
from fractions import Fraction

_TOKEN = re.compile(
    r"(?P<number>\d{1,3}(?:\.\d{3})+,\d+|\d+,\d{1,2}(?![\d,])|\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?P<percent>\s?%)?|(?P<sign>[-+*/()×÷−·^])|(?P<word>[^\W\d]+)"
)
_TIMES, _OVER = ("*", "×", "·", "x"), ("/", "÷")
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9}


def evaluate(text: str) -> Fraction | None:
    """What a written calculation comes to, units left aside; None when it is no calculation that can be read."""
    tokens = _tokens(text)
    if not tokens:
        return None
    try:
        value, rest = _sum(tokens)
    except (IndexError, ValueError, ZeroDivisionError):
        return None
    return None if rest else value


def _tokens(text: str) -> list[str]:
    found: list[str] = []
    for match in _TOKEN.finditer(text.replace("\\times", "×").replace("\\cdot", "×").replace("\\div", "÷")):
        if match["number"]:
            found.append(_plain(match["number"]))
            if match["percent"]:
                found += ["/", "100"]
        elif match["sign"]:
            found.append({"−": "-"}.get(match["sign"], match["sign"]))
        elif match["word"].casefold() in ("x", "times") or (match["word"].casefold() == "of" and found[-1:] == ["100"]):
            found.append("×")
        elif match["word"].casefold() in _SCALES and found and found[-1][0].isdigit():
            found += ["×", str(_SCALES[match["word"].casefold()])]
    return found


def _plain(number: str) -> str:
    """A number without marks between thousands and with a decimal point, whichever way round it is written."""
    if re.fullmatch(r"[\d.]+,\d+", number) and ("." in number or re.fullmatch(r"\d+,\d{1,2}", number)):
        return number.replace(".", "").replace(",", ".")
    return number.replace(",", "")


def _sum(tokens: list[str]) -> tuple[Fraction, list[str]]:
    value, rest = _product(tokens)
    while rest and rest[0] in "+-":
        sign = rest[0]
        term, rest = _product(rest[1:])
        value = value + term if sign == "+" else value - term
    return value, rest


def _product(tokens: list[str]) -> tuple[Fraction, list[str]]:
    value, rest = _factor(tokens)
    while rest and (rest[0] in _TIMES or rest[0] in _OVER or rest[0] == "("):
        sign = rest[0]
        factor, rest = _factor(rest if sign == "(" else rest[1:])
        value = value / factor if sign in _OVER else value * factor
    return value, rest


def _factor(tokens: list[str]) -> tuple[Fraction, list[str]]:
    head = tokens[0]
    if head == "-":
        value, rest = _factor(tokens[1:])
        return -value, rest
    if head == "(":
        value, rest = _sum(tokens[1:])
        if rest[0] != ")":
            raise ValueError("unclosed bracket")
        rest = rest[1:]
    else:
        value, rest = Fraction(head), tokens[1:]
    if rest and rest[0] == "^":
        power, rest = _factor(rest[1:])
        if power.denominator != 1 or abs(power) > 64:
            raise ValueError("no small whole power")
        value = value**power.numerator
    return value, rest
