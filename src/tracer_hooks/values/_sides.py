"""The expressions on both sides of a sign of equality, found among the tokens of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tracer_hooks.values._expressions import REFUSED, Sign, Token
from tracer_hooks.values._units import unit_named

_MOST_TOKENS = 60
_NOUNS = 3
"""Words that may stand between a number and the sign after it: "4 nights in Rome × 95"."""
_LABELS = 2
"""Words that may stand between a sign and its number: "+ shuttle 45"."""
_UNKNOWN = re.compile(r"(?!(?:of|in|at|to|is|by|on|or|we|us|it|an|as|up|h|a|EUR)$)[a-z]{1,2}", re.ASCII)
"""A word that short is an unknown: "210² xy", "8 i - 6 j"."""
COMPARED = re.compile(
    r"(?:more|less|fewer|greater|smaller|larger|higher|lower|over|under|above|below|at|least|most|times|out|of|percent"
    r"|points?|years?|old|or|to|than|not)\b",
    re.IGNORECASE,
)


def regions_of(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Stretches of tokens with at least one sign of equality, between full stops, commas and line ends."""
    region: list[Token] = []
    for token, following in pairwise([*tokens, Token(Sign.BREAK, "", 0, 0)]):
        if token.sign is Sign.BREAK and not _goes_on(token, following, region):
            if any(one.sign is Sign.EQUALS for one in region):
                yield region[-4 * _MOST_TOKENS :]
            region = []
        elif token.sign is not Sign.BREAK:
            region.append(token)
    if any(one.sign is Sign.EQUALS for one in region):
        yield region[-4 * _MOST_TOKENS :]


def _goes_on(token: Token, following: Token, region: Sequence[Token]) -> bool:
    """A line may end before or after a sign of equality."""
    if token.text == ",":
        return following.sign is Sign.EQUALS and following.text[0].isalpha()
    if token.text != "\n":
        return False
    is_sign = following.sign is Sign.EQUALS and not following.text[0].isalpha()
    goes_on = is_sign or (following.sign is Sign.OPERATOR and following.text in "+×")
    return goes_on or bool(region and region[-1].sign in (Sign.EQUALS, Sign.OPERATOR))


def ending_of(tokens: Sequence[Token]) -> list[Token]:
    """The longest expression that ``tokens`` end with; empty when they end with something else."""
    kept: list[Token] = []
    words = 0
    for token in reversed(tokens[-_MOST_TOKENS:]):
        if token.sign is Sign.WORD:
            words += 1
            if token.text == REFUSED or _is_function(token, kept):
                return []
            if _is_unknown(token) and (not kept or kept[-1].sign in (Sign.OPERATOR, Sign.CLOSE)):
                return []
            if words > _NOUNS:
                break
            continue
        if kept and not _may_follow(token, kept[-1], words):
            if kept[-1].sign is Sign.OPEN and words == 0:
                return []  # a product that is not written out
            break
        kept.append(token)
        words = 0
    kept.reverse()
    return _balanced(kept)


def _is_unknown(word: Token) -> bool:
    return _UNKNOWN.fullmatch(word.text) is not None and unit_named(word.text) is None


def _is_function(word: Token, kept: Sequence[Token]) -> bool:
    """Tell whether a word stands right before a bracket: f(3)."""
    return bool(kept) and kept[-1].sign is Sign.OPEN and kept[-1].start == word.end


def _may_follow(token: Token, later: Token, words: int) -> bool:
    """Tell whether ``later`` may stand after ``token`` in one expression, with that many words between."""
    is_operand_end = token.sign in (Sign.NUMBER, Sign.CLOSE)
    if later.sign in (Sign.OPERATOR, Sign.CLOSE):
        return is_operand_end and words <= _NOUNS
    if is_operand_end:
        return token.sign is Sign.NUMBER and later.sign is Sign.OPEN and words == 0 and later.start == token.end
    return words <= _LABELS


def _balanced(tokens: list[Token]) -> list[Token]:
    """Without brackets that are opened or closed outside."""
    depth, cut = 0, 0
    for place, token in enumerate(tokens):
        depth += (token.sign is Sign.OPEN) - (token.sign is Sign.CLOSE)
        if depth < 0:
            depth, cut = 0, place + 1
    kept = tokens[cut:]
    while kept and depth > 0 and kept[0].sign is Sign.OPEN:
        kept, depth = kept[1:], depth - 1
    return kept


def beginning_of(tokens: Sequence[Token]) -> list[Token]:
    """The expression that ``tokens`` begin with."""
    kept: list[Token] = []
    words = 0
    unknown = False
    for token in tokens[:_MOST_TOKENS]:
        if token.sign is Sign.WORD:
            if token.text == REFUSED:
                return []
            unknown = unknown or _is_unknown(token)
            words += 1
            if words > _NOUNS or (not kept and COMPARED.fullmatch(token.text)):
                break
            continue
        if kept and not _may_follow(kept[-1], token, words):
            break
        if not kept and (words > _LABELS or token.sign is Sign.CLOSE):
            break
        if unknown and kept and token.sign is Sign.OPERATOR:
            return []
        kept.append(token)
        words, unknown = 0, False
    while kept and kept[-1].sign in (Sign.OPERATOR, Sign.OPEN):
        kept.pop()
    return _balanced(kept)


def goes_on_after(tokens: Sequence[Token], kept: Sequence[Token]) -> bool:
    """Tell whether the expression that ``tokens`` begin with goes on with something unread: "5 + x", "4 × n"."""
    following = [token for token in tokens if token.start >= kept[-1].end][:2]
    if following and following[0].sign is Sign.OPEN and following[0].start == kept[-1].end:
        return True
    if not following or following[0].sign is not Sign.OPERATOR:
        return bool(following) and following[0].text == REFUSED
    is_dash = following[0].text == "-" and len(following) > 1 and following[1].sign is Sign.WORD
    return not (is_dash and len(following[1].text) > 1)
