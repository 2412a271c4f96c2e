"""Words that would give a fault away: none of our texts may bring one into a trajectory."""

from __future__ import annotations

import re
from collections import Counter

LEAK_WORDS = (
    "adversar",
    "attack",
    "corrupt",
    "deliberate",
    "error mode",
    "failure mode",
    "fake",
    "fault",
    "fm-1",
    "fm-2",
    "fm-3",
    "hijack",
    "inject",
    "intentional",
    "malicious",
    "manipulat",
    "mislead",
    "misbehav",
    "mutat",
    "on purpose",
    "purposely",
    "sabotage",
    "simulat",
    "tamper",
    "wrong on purpose",
)
"""Beginnings of words, in lower case."""

_LEAK = re.compile("|".join(rf"\b{re.escape(word)}" for word in LEAK_WORDS), re.IGNORECASE)


def leaked_words(after: str, before: str = "") -> tuple[str, ...]:
    """The leak words that ``after`` holds more often than ``before``, in lower case and sorted."""
    counts = Counter(_LEAK.findall(after.lower()))
    counts.subtract(Counter(_LEAK.findall(before.lower())))
    return tuple(sorted(word for word, count in counts.items() if count > 0))
