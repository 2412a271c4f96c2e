"""Calculations that a text writes down and leaves to others to work out: "(4 * 6) + 3"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

from tracer_hooks._lazy import cached_property
from tracer_hooks.values._expressions import NotACalculation, Sign, Token, evaluate, has_operator
from tracer_hooks.values._quantities import Quantity
from tracer_hooks.values._reader import TextReader
from tracer_hooks.values._sides import beginning_of, goes_on_after
from tracer_hooks.values._signed_context import (
    has_codes,
    has_unknowns,
    is_joined,
    is_open_to_the_left,
    is_range_or_score,
)

_MOST_CHARS = 40_000
"""Of a longer text, the head and the tail are read."""
_MOST_OPERANDS = 8
"""Up to so many the parts of an expression are worked out too."""
_FUNCTION = re.compile(r"\w\($")
_SPOKEN_AGAINST = re.compile(
    r"\b(?:not|never|n't|nicht|instead of|rather than|wrong\w*|incorrect\w*)\b[^.!?\n\d]{0,24}$", re.IGNORECASE
)


@dataclass(frozen=True)
class Expression:
    """A calculation without its result."""

    text: str
    """As it is written."""
    value: Fraction
    """What it comes to."""
    operands: tuple[Quantity, ...]
    operators: str
    """The signs in order, such as "×+"."""
    start: int
    end: int
    tokens: tuple[Token, ...]
    """What it is made of."""

    @cached_property
    def parts(self) -> frozenset[Fraction]:
        """Its numbers, and what the calculations inside it come to: of "(4 * 6) + 3" that is 4, 6, 3, 24 and 27."""
        found = {self.value, *(one.value for one in self.operands)}
        if len(self.operands) > _MOST_OPERANDS:
            return frozenset(found)
        for first in range(len(self.tokens)):
            for last in range(first + 2, len(self.tokens) + 1):
                with suppress(NotACalculation):
                    found.add(evaluate(self.tokens[first:last], _worth, relative=True))
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
    if len(text) > _MOST_CHARS:
        half = _MOST_CHARS // 2
        tail = len(text) - half
        of_tail = expressions_in(text[tail:], reader=reader)
        later = (replace(one, start=one.start + tail, end=one.end + tail) for one in of_tail)
        return [*expressions_in(text[:half], reader=reader), *later]
    plain = reader.plain(text)
    if not has_operator(plain) or len(reader.quantities(plain)) < 2:
        return []
    return [
        expression
        for region in _regions([_or_break(plain, token) for token in reader.tokens(plain)])
        for expression in _in_region(text, plain, region)
    ]


def _or_break(plain: str, token: Token) -> Token:
    """A question ends with its mark, and what stands before it is still written without a result."""
    return token._replace(sign=Sign.BREAK, text="?") if plain[token.start : token.end] == "?" else token


def _regions(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Stretches between full stops, commas and line ends; a line that a sign of equality begins belongs to the last."""
    region: list[Token] = []
    for place, token in enumerate(tokens):
        following = tokens[place + 1] if place + 1 < len(tokens) else None
        if token.sign is not Sign.BREAK:
            region.append(token)
        elif following is None or following.sign is not Sign.EQUALS or token.text != "\n":
            yield region
            region = []
    yield region


def _in_region(text: str, plain: str, region: Sequence[Token]) -> Iterator[Expression]:
    """What stands behind the last sign of equality before which there is no number, with no number behind the next."""
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
        found = _read(text, plain, side[place:], kept) if len(kept) > 2 else None
        if found is not None:
            yield found
        end = kept[-1].end if kept and len(kept) > 2 else side[place].end
        while place < len(side) and side[place].start < end:
            place += 1


def _read(text: str, plain: str, following: Sequence[Token], kept: Sequence[Token]) -> Expression | None:
    operands = tuple(token.quantity for token in kept if token.quantity is not None)
    operators = "".join(token.text for token in kept if token.sign is Sign.OPERATOR)
    if len(operands) < 2 or not operators or not _is_plain(plain, kept, operands, operators):
        return None
    if goes_on_after(following, kept) or is_range_or_score(plain, kept[-1].end):
        return None
    try:
        value = evaluate(kept, _worth, relative=True)
    except NotACalculation:
        return None
    start, end = kept[0].start, kept[-1].end
    return Expression(text[start:end].strip(), value, operands, operators, start, end, tuple(kept))


def _is_plain(plain: str, kept: Sequence[Token], operands: Sequence[Quantity], operators: str) -> bool:
    """Tell whether nothing in it or before it asks for another reading."""
    if any(one.is_label or one.in_words for one in operands) or has_unknowns(operands):
        return False
    if set(operators) <= set("-/") and (is_joined(plain, kept) or _is_ratio(plain, kept)):
        return False  # 2024-118, 10/5, 24/7
    units = {one.unit for one in operands} - {None, "%"}
    if len(units) > 1 and set(operators) <= set("+-"):
        return False
    first = kept[0]
    is_called = _FUNCTION.search(plain[max(0, first.start - 1) : first.start + 1]) is not None
    if _SPOKEN_AGAINST.search(plain[max(0, first.start - 40) : first.start]) is not None:
        return False
    return not (is_called or is_open_to_the_left(plain, first) or has_codes(plain, kept))


def _is_ratio(plain: str, kept: Sequence[Token]) -> bool:
    signs = [token for token in kept if token.sign is Sign.OPERATOR]
    return all(not plain[one.start - 1].isspace() and not plain[one.end].isspace() for one in signs)


def _worth(quantity: Quantity) -> Fraction:
    return quantity.value / 100 if quantity.unit == "%" else quantity.value
