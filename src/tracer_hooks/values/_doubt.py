"""What a text says against its own calculation, so that nobody is accused of a mistake they name themselves."""

from __future__ import annotations

import re

from tracer_hooks.values._calculation import Calculation

_ANYWHERE = re.compile(
    r"\b(?:wrong\w*|incorrect\w*|mistake\w*|false\w*|not (?:correct|right|true)|erroneous\w*|falsch\w*"
    r"|miscalculat\w*|slip"
    r"|typo|rather than|instead of|for the price of|(?:get|one|\d) free|for free|binary|bits?|hex\w*|base \d|modulo|mod"
    r"|is off)\b|\?",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    r"\b(?:should (?:be|have|read)|instead|but (?:it|that|this|the|in)\b|but (?:is|was)|actually|in fact|in"
    r" truth|corrected|remainder"
    r"|correction|carry|(?:right|correct|true) (?:sum|answer|result|value|total|number|figure))\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|nicht|never|isn't)\W{1,3}$", re.IGNORECASE)
_REACH = 160
_MARKS = (". ", "\n", "! ", "? ")


def is_doubted(text: str, one: Calculation) -> bool:
    """Tell whether the sentence itself, or the next one, says that it does not hold, or asks; or counts otherwise."""
    start = max(text.rfind(mark, max(0, one.start - _REACH), one.start) for mark in _MARKS)
    ends = [at for mark in _MARKS if (at := text.find(mark, one.end, one.end + _REACH)) >= 0]
    end = min(ends, default=min(len(text), one.end + _REACH)) + 60
    start = max(0, start)
    return (
        _ANYWHERE.search(text, start, end) is not None
        or _BEHIND.search(text, one.end, end) is not None
        or is_negated(text, one)
    )


def is_negated(text: str, one: Calculation) -> bool:
    """Tell whether "not" stands right before it."""
    return _NEGATED.search(text[max(0, one.start - 12) : one.start]) is not None
