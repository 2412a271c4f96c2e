"""What stands around a calculation in signs and decides whether it is one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tracer_hooks.values._expressions import Sign, Token
from tracer_hooks.values._quantities import Quantity
from tracer_hooks.values._units import currency_named

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
_BINARY = re.compile(r"(?!1{1,2}0+$)[01]{4,}")
_CODE = re.compile(r"(?:^|\s)([A-Z]{1,3}) $")


def is_list_mark(text: str, token: Token) -> bool:
    """Tell whether a hyphen stands alone at the beginning of a line."""
    line = text[max(0, text.rfind("\n", 0, token.start) + 1, token.start - 40) : token.start]
    return not line.strip() and text[token.end : token.end + 1].isspace()


def is_open_to_the_left(text: str, first: Token) -> bool:
    """Whether the expression goes on to the left with something unread: "x + 5 = 12", "22:00 + 4", "3 at 5 + 2"."""
    around = text[max(0, first.start - 40) : first.start]
    before = around.rstrip(" (")
    if not before:
        return False
    if before[-1] in "+*×·÷/^<>√≈%" or before.endswith(("**", "//")):
        return True
    if first.text == "-" and (before[-1].isalnum() or before[-1] == ")"):
        return True
    if before[-1] in ")}" and first.sign is Sign.OPEN:
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
    return all(one.text == "-" and not text[one.start - 1].isspace() and not text[one.end].isspace() for one in signs)


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
    """Tell whether a letter behind a number is an unknown and no unit, as in "27 + 8m", or the digits are binary."""
    glued = [_GLUED.fullmatch(one.text[-2:]) is not None for one in quantities]
    if any(_BINARY.fullmatch(one.text.strip()) for one in quantities):
        return True
    return any(glued[:-1]) and not (all(glued[:-1]) and len({one.text[-1] for one in quantities[:-1]}) == 1)
