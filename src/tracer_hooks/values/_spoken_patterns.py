"""The pieces of which the sentences that state a calculation are made."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

from tracer_hooks.values._expressions import EQUALS_WORDS
from tracer_hooks.values._patterns import lazy
from tracer_hooks.values._quantities import Quantity

Terms = Sequence[Quantity]
N = "\ue002"
"""Stands for a quantity."""
_STOP = (
    r"(?!(?:is|are|was|were|has|have|had|and|or|more|less|fewer|than|plus|minus|times|of|off|out|per|each|at"
    r"|for|to|from"
    r"|with|without|which|that|so|by|in|equals?|makes?|gives?|leaves?|comes?|totals?|costs?|altogether|together)\b)"
)
WORD = rf"{_STOP}[^\W\d][\w'’-]{{0,19}}"
NOUN = rf"(?: {WORD}){{0,3}}"
ANY = r"(?: [^\W\d][\w'’-]{0,19}){0,3}"
WHO = r"(?: (?:the|our|their|his|her|my|all|all the|your|those|these|its))?"
IS = (
    rf"(?: ?[=≈→] ?|[,;:]? ?(?:so |and )?(?:that |this |it |which )?(?:{EQUALS_WORDS}|costs?|will cost)"
    r"(?: (?:about|roughly|exactly|only|just|to|now))* ?)"
)
SO = (
    rf"(?:{IS}|, another |[,;:]? ?(?:so|thus|therefore|hence|—|–|-|:)(?: (?:that(?:'s| is| makes)|it(?:'s|"
    rf" is)|together|in total|we (?:need|have|pay|get)|they (?:pay|cost|need)))?,? )"
)
LIST = rf"{N}(?>{NOUN}(?:,| and|, and| plus| und| et) {N}){{1,20}}"
LABELLED = rf"{N}(?>{NOUN}(?:[,;]|,? and| plus) (?:(?!more\b|less\b)[^\W\d][\w'’-]{{0,19}},? ){{0,4}}{N}){{1,20}}"
ALL_WORDS = "altogether|in total|together|in all|in sum|combined|all told|overall|insgesamt|zusammen|au total"
ALL = f"(?:{ALL_WORDS})"
EACH = r"(?: ?each| apiece| per \w+| an? \w+| ?/ ?\w+)"
TAX = r"(?:tip|tax|vat|fee|commission|surcharge|service|interest|gratuity|markup|duty|levy|increase|raise|bonus)"
CUT = r"(?:discount|reduction|rebate|cut|decrease|off)"


class Form(NamedTuple):
    """One sentence."""

    pattern: re.Pattern[str]
    name: str
    """What kind of calculation it is: decides its words and signs."""
    values: Callable[[Terms], Sequence[Fraction]]
    """What the terms come to: first what is meant, then what may be meant as well."""
    result: int = -1
    """Which of the quantities is the result."""
    is_closed: bool = True
    """Whether the sentence must begin with it: a quantity before it may belong to it."""
    one_unit: bool = False
    cues: frozenset[str] = frozenset()
    """A text without any of these, in lower case, does not hold the sentence: that is found out much sooner."""


def sum_of(terms: Terms) -> Fraction:
    return sum((term.value for term in terms), Fraction(0))


def product_of(terms: Terms) -> Fraction:
    return reduce(lambda total, term: total * term.value, terms, Fraction(1))


def share(quantity: Quantity) -> Fraction:
    """A percentage or fraction as a part of one."""
    return quantity.value / 100 if quantity.unit == "%" else quantity.value


def form(
    pattern: str,
    name: str,
    values: Callable[[Terms], Sequence[Fraction]],
    *,
    result: int = -1,
    is_closed: bool = True,
    one_unit: bool = False,
    cues: str = "",
) -> Form:
    """One sentence, of its pattern; ``cues`` are parted by "|"."""
    needed = frozenset(cues.split("|")) if cues else frozenset[str]()
    return Form(lazy(pattern, re.IGNORECASE), name, values, result, is_closed, one_unit, needed)
