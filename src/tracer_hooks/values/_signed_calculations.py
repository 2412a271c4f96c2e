"""Calculations in signs: "3 × 120 EUR + 2 × 55 EUR = 470 EUR", LaTeX and brackets among them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

from tracer_hooks.values._agreement import agrees
from tracer_hooks.values._calculation import Calculation
from tracer_hooks.values._expressions import NotACalculation, Sign, Token, evaluate, has_operator
from tracer_hooks.values._quantities import Quantity
from tracer_hooks.values._reader import TextReader
from tracer_hooks.values._sides import COMPARED, beginning_of, ending_of, goes_on_after, regions_of
from tracer_hooks.values._signed_context import (
    has_codes,
    has_unknowns,
    is_joined,
    is_list_mark,
    is_open_to_the_left,
    is_range_or_score,
    is_rough,
)
from tracer_hooks.values._units import common_measure, is_currency
from tracer_hooks.values._writing import expression_in_words

_ABOUT_EQUAL = ("≈", "≃", "≅", "~=")
_TOTALLED = re.compile(
    r"makes?|total(?:s|ling)?|adds? up|sums?|comes? (?:out )?to|amounts? to|altogether", re.IGNORECASE
)
_NAMED_TOTAL = re.compile(r"\b(?:total\w*|sum|altogether|costs?|in all|overall|amounts? to)\b[^.\n]*$", re.IGNORECASE)
_FACTORIALS = range(2, 13)
"""Numbers behind which "!" may be meant as a sign."""
_NEARLY = Fraction(1, 200)
"""What two steps of one calculation may differ by, where numbers were rounded in between."""


def signed_calculations(text: str, reader: TextReader) -> Iterator[Calculation]:
    """Every calculation in signs.

    Args:
        text: Without mark-up.
        reader: Gives its quantities and signs.
    """
    if not (has_operator(text) or _has_hidden_operator(text, reader.quantities(text))):
        return
    tokens = reader.tokens(text)
    for region in regions_of(tokens):
        places = [place for place, token in enumerate(region) if token.sign is Sign.EQUALS]
        for number, place in enumerate(places):
            before = region[places[number - 1] + 1 if number else 0 : place]
            after = region[place + 1 : places[number + 1] if number + 1 < len(places) else len(region)]
            yield from _beside(text, before, region[place], after, is_last=number + 1 == len(places))
    yield from _in_brackets(text, tokens)


def _has_hidden_operator(text: str, quantities: Sequence[Quantity]) -> bool:
    """Tell whether an "and" may stand for a plus, or a quantity is a quotient by itself."""
    is_summed = "and" in text.casefold() and _TOTALLED.search(text) is not None
    return is_summed or any("/" in one.text for one in quantities)


def _beside(
    text: str, before: Sequence[Token], sign: Token, after: Sequence[Token], *, is_last: bool
) -> Iterator[Calculation]:
    """The calculation with what stands on both sides of one sign."""
    left, right = ending_of(before), beginning_of(after)
    if not left or not right:
        return
    if len(left) == 1 and len(right) > 1 and is_last and sign.text in ("=", "＝"):
        yield from _reversed(text, before, left, after, right)
        return
    if goes_on_after(after, right):
        return
    found = list(_equation(text, left, sign, right))
    if _TOTALLED.match(sign.text) and any(token.text.casefold() == "and" for token in before):
        found = _with_sums(found, list(_equation(text, ending_of(_summed(before)), sign, right)))
    yield from found


def _summed(tokens: Sequence[Token]) -> list[Token]:
    """What is made of two parts is their sum: "3 × 48 and 2 × 36 make 216"."""
    return [
        token._replace(sign=Sign.OPERATOR, text="+") if token.text.casefold() == "and" else token for token in tokens
    ]


def _with_sums(found: list[Calculation], summed: list[Calculation]) -> list[Calculation]:
    """Of the readings with and without "and", one that holds; where neither does, only a sum of two calculations."""
    if any(one.holds for one in found) or not summed:
        return found
    return summed if any(one.holds for one in summed) or len(summed[0].operands) > 3 else []


def _equation(text: str, left: list[Token], sign: Token, right: list[Token]) -> Iterator[Calculation]:
    if left and left[0].text == "-" and is_list_mark(text, left[0]):
        left = left[1:]
    if not left or not _is_calculation(left) or is_open_to_the_left(text, left[0]) or has_codes(text, left):
        return
    stated = right[0].quantity if right[0].sign is Sign.NUMBER else None
    if stated is None or any(token.quantity is not None and token.quantity.is_label for token in (*left, right[0])):
        return
    spoken = sign.text[0].isalpha()
    if spoken and (not _operators(left) or COMPARED.match(text[right[0].end :].lstrip()[:12] or " ")):
        return
    following = text[right[0].end : right[0].end + 4]
    if sign.text.strip() in ("#", "//") and following.lstrip(" \t")[:1] not in ("", "\n"):
        return  # a remark that is no result
    if following == " of " or is_range_or_score(text, stated.end):
        return
    if _operators(left) and is_joined(text, left) and (spoken or text[sign.start - 1].isspace()):
        return  # "2024-118 is", "9-17 = 8 hours": a number of something, or a range
    yield from _judged(text, left, sign, right, stated)


def _judged(text: str, left: list[Token], sign: Token, right: list[Token], stated: Quantity) -> Iterator[Calculation]:
    """The calculation, when it has a result."""
    operands = tuple(token.quantity for token in left if token.quantity is not None)
    values = list(_results(left))
    if has_unknowns((*operands, stated)):
        return
    if not values or (text[stated.end : stated.end + 1] == "!" and stated.value in _FACTORIALS):
        return
    rough = is_rough(text, left[0], sign, stated)
    is_rounded = sign.text in _ABOUT_EQUAL
    is_ratio = len(left) == 1
    inexact = rough or is_rounded or "/" in _operators(left) or is_ratio or any(one.unit == "%" for one in operands)
    holds = any(agrees(value, stated, operands, rough=rough, rounded=is_rounded, inexact=inexact) for value in values)
    holds = holds or _holds_in_one_unit(left, stated) or _holds_without_letter(values, stated)
    found = Calculation(
        left=expression_in_words(left),
        value=values[0],
        stated=stated,
        operands=operands,
        operators=_operators(left) or "/",
        start=left[0].start,
        end=right[0].end,
        holds=holds,
    )
    if len(right) == 1:
        yield found
    elif re.search(r"[A-Za-z]{3,}", text[left[0].start : right[-1].end]) is None:  # "3 years + 5 months" has units
        yield from _against_an_expression(found, values, right)


def _against_an_expression(found: Calculation, values: Sequence[Fraction], right: list[Token]) -> Iterator[Calculation]:
    """In "… = 60 + 20 = 80" the right side may be meant as a whole, or only its first number."""
    results = list(_results(right))
    units = {one.unit for one in found.operands}
    theirs = {token.quantity.unit for token in right if token.quantity is not None}
    if not results or (not found.holds and units - {None} != theirs - {None} and theirs - {None}):
        return
    near = any(abs(one - other) <= abs(one) * _NEARLY for one in values for other in results)
    yield replace(
        found,
        holds=found.holds or near,
        said=f"{expression_in_words(right)}",
        said_value=results[0],
        end=right[-1].end,
    )


def _reversed(
    text: str, before: Sequence[Token], left: list[Token], after: Sequence[Token], right: list[Token]
) -> Iterator[Calculation]:
    """The result comes first: "300 = 125 + 85 + 90"."""
    stated = left[0].quantity
    if stated is None or stated.is_label or goes_on_after(after, right) or is_open_to_the_left(text, left[0]):
        return
    if before[-1] is not left[0] or any(token.sign is not Sign.WORD for token in before[:-1]):
        return
    following = text[right[-1].end : right[-1].end + 24].lstrip(" ")
    if has_codes(text, [*left, *right]) or any(
        token.quantity is not None and token.quantity.is_label for token in right
    ):
        return
    if following[:1].isalpha() and not _units_agree(stated, right):
        return  # "Rule 7 = 2 × faster"
    yield from _of_a_result(text, stated, right, start=left[0].start, end=right[-1].end)


def _in_brackets(text: str, tokens: Sequence[Token]) -> Iterator[Calculation]:
    """How it was found is in brackets: "The total is 470 EUR (3 × 120 EUR + 2 × 55 EUR)"."""
    for place, token in enumerate(tokens[:-4]):
        if token.quantity is None or token.quantity.is_label:
            continue
        opening = place + 1
        while opening < place + 3 and tokens[opening].sign is Sign.WORD and tokens[opening].text.isalpha():
            opening += 1
        if tokens[opening].sign is not Sign.OPEN or tokens[opening].text != "(" or tokens[opening].start == token.end:
            continue
        inside = tokens[opening + 1 : opening + 42]
        closing = next((at for at, one in enumerate(inside) if one.sign in (Sign.CLOSE, Sign.BREAK)), 0)
        if closing and inside[closing].sign is Sign.CLOSE:
            yield from _bracket(text, token, inside[:closing])


def _bracket(text: str, token: Token, inside: Sequence[Token]) -> Iterator[Calculation]:
    stated = token.quantity
    expression = beginning_of(inside)
    signs = _operators(expression)
    if stated is None or not expression or goes_on_after(inside, expression) or not set(signs) & set("+×"):
        return
    if any(one.sign is Sign.EQUALS for one in inside) or inside[-1] is not expression[-1]:
        return
    named = _NAMED_TOTAL.search(text, max(0, token.start - 50), token.start) is not None
    if not named or not _units_agree(stated, expression) or ("+" not in signs and not is_currency(stated.unit)):
        return
    yield from _of_a_result(text, stated, list(expression), start=token.start, end=expression[-1].end)


def _of_a_result(
    text: str, stated: Quantity, expression: list[Token], *, start: int, end: int
) -> Iterator[Calculation]:
    operands = tuple(token.quantity for token in expression if token.quantity is not None)
    values = list(_results(expression))
    if not values or len(operands) < 2 or has_unknowns((*operands, stated)):
        return
    inexact = "/" in _operators(expression) or any(one.unit == "%" for one in operands)
    holds = any(agrees(value, stated, operands, rough=stated.is_approximate, inexact=inexact) for value in values)
    yield Calculation(
        left=expression_in_words(expression),
        value=values[0],
        stated=stated,
        operands=operands,
        operators=_operators(expression),
        start=start,
        end=end,
        holds=holds or _holds_in_one_unit(expression, stated),
    )


def _units_agree(stated: Quantity, expression: Sequence[Token]) -> bool:
    units = {token.quantity.unit for token in expression if token.quantity is not None} - {None}
    return not units or stated.unit in units


def _operators(tokens: Sequence[Token]) -> str:
    return "".join(token.text for token in tokens[1:] if token.sign is Sign.OPERATOR)


def _is_calculation(left: Sequence[Token]) -> bool:
    first = left[0]
    if first.sign is Sign.OPERATOR and first.text != "-":
        return False
    return bool(_operators(left)) or (len(left) == 1 and first.quantity is not None and "/" in first.text)


def _results(tokens: Sequence[Token]) -> Iterator[Fraction]:
    """What an expression comes to, under each way to read its percent signs."""
    has_percent = any(token.quantity is not None and token.quantity.unit == "%" for token in tokens)
    if has_percent:
        for relative in (True, False):
            with suppress(NotACalculation):
                yield evaluate(tokens, _as_share, relative=relative)
    with suppress(NotACalculation):
        yield evaluate(tokens, _as_written)


def _as_written(quantity: Quantity) -> Fraction:
    return quantity.value


def _as_share(quantity: Quantity) -> Fraction:
    return quantity.value / 100 if quantity.unit == "%" else quantity.value


def _holds_in_one_unit(tokens: Sequence[Token], stated: Quantity) -> bool:
    """Tell whether it comes out when all is counted in the smallest unit: "50 cm + 1 m = 1.5 m"."""
    unit = stated.unit
    units = {token.quantity.unit for token in tokens if token.quantity is not None} - {None}
    if unit is None or not units or units == {unit}:
        return False

    def worth(quantity: Quantity) -> Fraction:
        factors = common_measure(quantity.unit, unit) if quantity.unit is not None else None
        return quantity.value * factors[0] / factors[1] if factors is not None else quantity.value

    try:
        return agrees(evaluate(tokens, worth), stated, (), inexact=True)
    except NotACalculation:
        return False


def _holds_without_letter(values: Sequence[Fraction], stated: Quantity) -> bool:
    """Tell whether the letter behind the number is a unit and no thousand: "25 + 273.15 = 298.15K"."""
    power = {"k": 10**3, "K": 10**3, "M": 10**6}.get(stated.text[-1:])
    if power is None:
        return False
    plain = replace(stated, value=stated.value / power, unit=None)
    return any(agrees(value, plain, (), inexact=True) for value in values)
