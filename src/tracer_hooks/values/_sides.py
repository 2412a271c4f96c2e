"""Both sides of a sign of equality: an expression's beginning and end, and signs around it that it is none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tracer_hooks.values._expressions import REFUSED, Sign, Token
from tracer_hooks.values._quantities import Quantity
from tracer_hooks.values._units import currency_named, unit_named

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
            if any(each.sign is Sign.EQUALS for each in region):
                yield region[-4 * _MOST_TOKENS :]
            region = []
        elif token.sign is not Sign.BREAK:
            region.append(token)
    if any(each.sign is Sign.EQUALS for each in region):
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


_ABOUT = re.compile(
    r"(?:\b(?:about|almost|nearly|roughly|around|approx\w*|circa|some|ungefähr|etwa|environ)|~)\W*$", re.IGNORECASE
)
_FACTOR_BEFORE = re.compile(
    r"(?:\bat|@)\s*$|\d\s+[^\W\d]{1,14} (?:of|for|with|per)\s*$"
    r"|\b(?:roots?|half|third|quarter|squares?|percent|fraction|digits?|remainder|inverse|number|logarithm"
    r"|average|mean) of"
    r"(?: the \w{1,12})?\s*$",
    re.IGNORECASE,
)
_GLUED = re.compile(r"\d[A-Za-z]")
_CODE = re.compile(r"(?:^|\s)([A-Z]{1,3}) $")


def is_list_mark(text: str, token: Token) -> bool:
    """Tell whether a hyphen stands alone at the beginning of a line."""
    line = text[max(0, text.rfind("\n", 0, token.start) + 1, token.start - 40) : token.start]
    return not line.strip() and text[token.end : token.end + 1].isspace()


def is_open_to_the_left(text: str, first: Token) -> bool:
    """Tell whether an expression goes on to the left with something unread: "x + 5 = 12", "22:00 + 4", "3 at 5 + 2"."""
    around = text[max(0, first.start - 40) : first.start]
    before = around.rstrip(" (")
    if not before:
        return False
    if before[-1] in "+*×·÷/^<>√≈%" or before.endswith(("**", "//")):
        return True
    if first.text == "-" and (before[-1].isalnum() or before[-1] == ")"):
        return True
    if before.endswith(("% of", "% off")) or (before[-1] in ")}" and first.sign is Sign.OPEN):
        return True
    if before[-1] in "-−–":
        return before[:-1].rstrip(" ")[-1:].isalnum() or before[:-1].rstrip(" ")[-1:] == ")"
    return _FACTOR_BEFORE.search(around) is not None


def is_range_or_score(text: str, end: int) -> bool:
    """Tell whether another number follows the one that ends here, behind a colon or a hyphen."""
    return re.match(r"(?::|\s?[-–]\s?)\d", text[end : end + 4]) is not None


def is_joined(text: str, tokens: Sequence[Token]) -> bool:
    """Tell whether there is no sign but hyphens right between digits."""
    signs = [token for token in tokens if token.sign is Sign.OPERATOR]
    return all(
        sign.text == "-" and not text[sign.start - 1].isspace() and not text[sign.end].isspace() for sign in signs
    )


def has_codes(text: str, tokens: Sequence[Token]) -> bool:
    """Tell whether a number is part of a name: "LH 400"."""
    for token in tokens:
        if token.quantity is not None:
            code = _CODE.search(text[max(0, token.start - 5) : token.start])
            if code is not None and currency_named(code[1]) is None:
                return True
    return False


def is_rough(text: str, first: Token, sign: Token, stated: Quantity) -> bool:
    """Tell whether the text says "about" of the calculation or its result."""
    words = ("about", "roughly", "around", "approximately")
    before = text[max(0, first.start - 24) : first.start]
    near = text[max(0, stated.start - 24) : stated.start]
    said = any(word in sign.text for word in words)
    return said or _ABOUT.search(before) is not None or _ABOUT.search(near) is not None


def has_unknowns(quantities: Sequence[Quantity]) -> bool:
    """Tell whether a letter behind a number is an unknown and no unit, as in "27 + 8m"."""
    glued = [_GLUED.fullmatch(quantity.text[-2:]) is not None for quantity in quantities]
    return any(glued[:-1]) and not (all(glued[:-1]) and len({quantity.text[-1] for quantity in quantities[:-1]}) == 1)
