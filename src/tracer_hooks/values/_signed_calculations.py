"""Calculations in signs: with their result ("3 × 120 EUR + 2 × 55 EUR = 470 EUR"), and without ("(4 * 6) + 3")."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, pairwise

from tracer_hooks._lazy import cached_property
from tracer_hooks.values._calculation import Calculation, agrees, expression_in_words, is_plausible
from tracer_hooks.values._expressions import (
    NotACalculation,
    Sign,
    TextReader,
    Token,
    evaluate,
    has_operator,
    parts_to_read,
)
from tracer_hooks.values._quantities import Quantity
from tracer_hooks.values._sides import (
    COMPARED,
    beginning_of,
    ending_of,
    goes_on_after,
    has_codes,
    has_unknowns,
    is_joined,
    is_list_mark,
    is_open_to_the_left,
    is_range_or_score,
    is_rough,
    regions_of,
)
from tracer_hooks.values._units import common_measure, is_currency

_ABOUT_EQUAL = ("≈", "≃", "≅", "~=")
_MOST_OPERANDS = 8
"""Up to so many the parts of an expression are worked out too."""
_FUNCTION = re.compile(r"\w\($")
_SPOKEN_AGAINST = re.compile(
    r"\b(?:not|never|n't|nicht|instead of|rather than|wrong\w*|incorrect\w*)\b[^.!?\n\d]{0,24}$", re.IGNORECASE
)
_NOUN = re.compile(r" [A-Za-z]{3,}")
_TAKEN_FROM = frozenset(
    ("digit", "digits", "remainder", "factor", "factors", "divisor", "divisors", "representation", "expansion")
) | frozenset(("reciprocal", "inverse"))
"""Words before a calculation that take something else from it than its value: "the digits of 12 / 7 add up to"."""
_LAST_WORDS = 5
_NEARLY = Fraction(1, 200)
"""The share by which two steps of one calculation may differ, where numbers were rounded in between."""


def signed_calculations(text: str, reader: TextReader) -> Iterator[Calculation]:
    """Every calculation in signs, in a text without mark-up."""
    # A quantity may be a quotient by itself.
    if not (has_operator(text) or any("/" in quantity.text for quantity in reader.quantities(text))):
        return
    for region in regions_of(reader.tokens(text)):
        places = [place for place, token in enumerate(region) if token.sign is Sign.EQUALS]
        for place, earlier, later in zip(places, [-1, *places], [*places[1:], len(region)], strict=False):
            before, after = region[earlier + 1 : place], region[place + 1 : later]
            yield from _beside(text, before, region[place], after, is_last=place == places[-1])


def _beside(
    text: str, before: Sequence[Token], sign: Token, after: Sequence[Token], *, is_last: bool
) -> Iterator[Calculation]:
    """The calculation with what stands on both sides of one sign."""
    left, right = ending_of(before), beginning_of(after)
    if not left or not right or goes_on_after(after, right):
        return
    earlier = [token for token in before if token.end <= left[0].start]
    is_a_sum = any(token.sign is Sign.NUMBER for token in earlier) and earlier[-1].text.casefold() == "and"
    if not (is_a_sum and sign.text[0].isalpha()):  # "3 × 48 and 2 × 36 make 216"
        yield from _equation(text, left, sign, right, is_chained=len(right) > 1 and not is_last)


def _equation(
    text: str, left: list[Token], sign: Token, right: list[Token], *, is_chained: bool
) -> Iterator[Calculation]:
    if left and left[0].text == "-" and is_list_mark(text, left[0]) and not _comes_to(left, right[0].quantity):
        left = left[1:]
    if not left or not _is_calculation(left) or is_open_to_the_left(text, left[0]) or has_codes(text, left):
        return
    stated = right[0].quantity if right[0].sign is Sign.NUMBER else None
    if stated is None or any(token.quantity is not None and token.quantity.is_label for token in (*left, right[0])):
        return
    spoken = sign.text[0].isalpha()
    if spoken and (not _operators(left) or COMPARED.match(text[right[0].end :].lstrip()[:12] or " ")):
        return
    before = text[max(0, left[0].start - 120) : left[0].start].casefold().rpartition(". ")[2].split()
    if spoken and "of" in before[-_LAST_WORDS:] and _TAKEN_FROM.intersection(before):
        return
    following = text[right[0].end : right[0].end + 4]
    if sign.text.strip() in ("#", "//") and following.lstrip(" \t")[:1] not in ("", "\n"):
        return  # a remark that is no result
    # "= 25 - 11 = 14" goes on and is no range.
    if following == " of " or (is_range_or_score(text, stated.end) and not is_chained):
        return
    if _operators(left) and is_joined(text, left) and (spoken or text[sign.start - 1].isspace()):
        return  # "2024-118 is", "9-17 = 8 hours": a number of something, or a range
    yield from _judged(text, left, sign, right, stated)


def _judged(text: str, left: list[Token], sign: Token, right: list[Token], stated: Quantity) -> Iterator[Calculation]:
    """The calculation, when it has a result."""
    operands = tuple(token.quantity for token in left if token.quantity is not None)
    values = list(_results(left))
    if not values or has_unknowns((*operands, stated)):
        return
    operators = _operators(left) or "/"
    rough, is_rounded = is_rough(text, left[0], sign, stated), sign.text in _ABOUT_EQUAL
    inexact = rough or is_rounded or "/" in operators or any(operand.unit == "%" for operand in operands)
    holds = any(agrees(value, stated, operands, rough=rough, rounded=is_rounded, inexact=inexact) for value in values)
    in_unit = _in_unit(left, stated.unit)
    holds = holds or (in_unit is not None and agrees(in_unit, stated, (), inexact=True))
    if not holds and (_is_unclear(stated.unit, operands, operators) or _is_of_nouns(text, operands, values[0], stated)):
        return
    is_mixed = len({operand.unit for operand in operands}) > 1 and _counts_in(stated.unit, operands, operators)
    found = Calculation(
        left=expression_in_words(left),
        value=in_unit if is_mixed and in_unit is not None else values[0],
        stated=stated,
        operands=operands,
        operators=operators,
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
    units = {operand.unit for operand in found.operands}
    theirs = {token.quantity.unit for token in right if token.quantity is not None}
    if not results or (not found.holds and units - {None} != theirs - {None} and theirs - {None}):
        return
    near = any(abs(value - result) <= abs(value) * _NEARLY for value in values for result in results)
    yield replace(
        found, holds=found.holds or near, said=expression_in_words(right), said_value=results[0], end=right[-1].end
    )


def _operators(tokens: Sequence[Token]) -> str:
    return "".join(token.text for token in tokens[1:] if token.sign is Sign.OPERATOR)


def _is_calculation(left: Sequence[Token]) -> bool:
    first = left[0]
    if first.sign is Sign.OPERATOR and first.text != "-":
        return False
    return bool(_operators(left)) or (len(left) == 1 and first.quantity is not None and "/" in first.text)


def _results(tokens: Sequence[Token]) -> Iterator[Fraction]:
    """Work out an expression, under each way to read its percent signs."""
    if any(token.quantity is not None and token.quantity.unit == "%" for token in tokens):
        for relative in (True, False):
            with suppress(NotACalculation):
                yield evaluate(tokens, _as_share, relative=relative)
    with suppress(NotACalculation):
        yield evaluate(tokens, lambda quantity: quantity.value)


def _as_share(quantity: Quantity) -> Fraction:
    return quantity.value / 100 if quantity.unit == "%" else quantity.value


def _comes_to(tokens: Sequence[Token], stated: Quantity | None) -> bool:
    return stated is not None and stated.value in _results(tokens)


def _is_of_nouns(text: str, operands: Sequence[Quantity], value: Fraction, stated: Quantity) -> bool:
    """Tell whether each number counts something else, with a result far away: "12 wins - 4 draws = 40 points"."""
    counted = [match.group() for each in (*operands, stated) if (match := _NOUN.match(text, each.end)) is not None]
    return len(counted) == len(set(counted)) == len(operands) + 1 and not is_plausible(value, stated)


def _in_unit(tokens: Sequence[Token], unit: str | None) -> Fraction | None:
    """Work out an expression whose amounts are put in ``unit`` first: "50 cm + 1 m" is 1.5 in m."""
    units = {token.quantity.unit for token in tokens if token.quantity is not None} - {None}
    if unit is None or not units or units == {unit}:
        return None

    def worth(quantity: Quantity) -> Fraction:
        factors = common_measure(quantity.unit, unit) if quantity.unit is not None else None
        return quantity.value * factors[0] / factors[1] if factors is not None else quantity.value

    try:
        return evaluate(tokens, worth)
    except NotACalculation:
        return None


def _counts_in(unit: str | None, operands: Sequence[Quantity], operators: str) -> bool:
    """Tell whether operands in several units are a sum that can be counted in ``unit``."""
    if unit is None or not set(operators) <= set("+-"):
        return False
    return all(operand.unit is not None and common_measure(operand.unit, unit) is not None for operand in operands)


def _is_unclear(unit: str | None, operands: Sequence[Quantity], operators: str) -> bool:
    """Tell whether operands in several units are put together that the result's ``unit`` does not say how to count."""
    units = sorted({operand.unit for operand in operands if operand.unit is not None and operand.unit != "%"})
    if not set(operators) <= set("+-"):
        return any(common_measure(*pair) is not None for pair in combinations(units, 2))
    if len(units) > 1:
        return not _counts_in(unit, operands, operators)
    # "3 ft + 6 in": one of the units has not been read.
    return (
        unit is None
        and any(not is_currency(each) for each in units)
        and any(operand.unit is None for operand in operands)
    )


@dataclass(frozen=True)
class Expression:
    """A calculation without its result."""

    text: str
    """As it is written."""
    value: Fraction
    """Its result."""
    operands: tuple[Quantity, ...]
    operators: str
    """The signs in order, such as "×+"."""
    start: int
    end: int
    tokens: tuple[Token, ...]
    """Its numbers and signs."""

    @cached_property
    def parts(self) -> frozenset[Fraction]:
        """Its numbers, and what the calculations inside it come to: of "(4 * 6) + 3" that is 4, 6, 3, 24 and 27."""
        found = {self.value, *(operand.value for operand in self.operands)}
        if len(self.operands) > _MOST_OPERANDS:
            return frozenset(found)
        for first in range(len(self.tokens)):
            for last in range(first + 2, len(self.tokens) + 1):
                with suppress(NotACalculation):
                    found.add(evaluate(self.tokens[first:last], _as_share, relative=True))
        return frozenset(found)


def expressions_in(text: str, *, reader: TextReader | None = None) -> list[Expression]:
    """Every calculation in ``text`` that is written without a result, in order of place.

    One with a result beside it ("3 × 5 = 15") is none, and neither is what may be something else: a date, a range, a
    score, a line with unknowns. Signs may be words ("3 times 5 plus 2").

    Args:
        text: Any text; the time grows linearly with it.
        reader: Whose readings are shared with others who look at the same text; one of its own without it.
    """
    reader = reader or TextReader()
    return [
        replace(found, start=found.start + place, end=found.end + place)
        for place, part in parts_to_read(text)
        for found in _expressions(part, reader)
    ]


def _expressions(text: str, reader: TextReader) -> Iterator[Expression]:
    plain = reader.plain(text)
    if has_operator(plain) and len(reader.quantities(plain)) > 1:
        for region in _open_regions([_or_break(plain, token) for token in reader.tokens(plain)]):
            yield from _in_region(text, plain, region)


def _or_break(plain: str, token: Token) -> Token:
    """A question ends with its mark, and what stands before it is still written without a result."""
    return token._replace(sign=Sign.BREAK, text="?") if plain[token.start : token.end] == "?" else token


def _open_regions(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Stretches between full stops, commas and line ends; a line that a sign of equality begins belongs to the last."""
    region: list[Token] = []
    for token, following in pairwise([*tokens, Token(Sign.BREAK, "", 0, 0)]):
        if token.sign is not Sign.BREAK:
            region.append(token)
        elif following.sign is not Sign.EQUALS or token.text != "\n":
            yield region
            region = []
    yield region


def _in_region(text: str, plain: str, region: Sequence[Token]) -> Iterator[Expression]:
    """Read what stands behind the last sign of equality with no number before it, and none behind the next."""
    sides: list[list[Token]] = [[]]
    for token in region:
        if token.sign is Sign.EQUALS:
            sides.append([])
        else:
            sides[-1].append(token)
    numbers = [any(token.sign is Sign.NUMBER for token in side) for side in sides]
    if sum(numbers) == 1:
        yield from _in_side(text, plain, sides[numbers.index(True)])


def _in_side(text: str, plain: str, side: Sequence[Token]) -> Iterator[Expression]:
    place = 0
    while place < len(side):
        if side[place].sign not in (Sign.NUMBER, Sign.OPEN):
            place += 1
            continue
        kept = beginning_of(side[place:])
        found = _read_expression(text, plain, side[place:], kept) if len(kept) > 2 else None
        if found is not None:
            yield found
        end = kept[-1].end if kept and len(kept) > 2 else side[place].end
        while place < len(side) and side[place].start < end:
            place += 1


def _read_expression(text: str, plain: str, following: Sequence[Token], kept: Sequence[Token]) -> Expression | None:
    operands = tuple(token.quantity for token in kept if token.quantity is not None)
    operators = "".join(token.text for token in kept if token.sign is Sign.OPERATOR)
    if len(operands) < 2 or not operators or not _is_plain(plain, kept, operands, operators):
        return None
    if goes_on_after(following, kept) or is_range_or_score(plain, kept[-1].end):
        return None
    start, end = kept[0].start, kept[-1].end
    with suppress(NotACalculation):
        value = evaluate(kept, _as_share, relative=True)
        return Expression(text[start:end].strip(), value, operands, operators, start, end, tuple(kept))
    return None


def _is_plain(plain: str, kept: Sequence[Token], operands: Sequence[Quantity], operators: str) -> bool:
    """Tell whether nothing in it or before it asks for another reading."""
    if any(operand.is_label or operand.in_words for operand in operands) or has_unknowns(operands):
        return False
    if set(operators) <= set("-/") and _is_ratio(plain, kept):
        return False  # 2024-118, 10/5, 24/7
    units = {operand.unit for operand in operands} - {None, "%"}
    if len(units) > 1 and set(operators) <= set("+-"):
        return False
    first = kept[0]
    if _FUNCTION.search(plain[max(0, first.start - 1) : first.start + 1]):
        return False
    is_denied = _SPOKEN_AGAINST.search(plain[max(0, first.start - 40) : first.start]) is not None
    return not (is_denied or is_open_to_the_left(plain, first))


def _is_ratio(plain: str, kept: Sequence[Token]) -> bool:
    signs = [token for token in kept if token.sign is Sign.OPERATOR]
    return all(not plain[sign.start - 1].isspace() and not plain[sign.end].isspace() for sign in signs)
