"""Patterns over text in lower case, searched only in texts that have a part of which every match has one.

To look for a few short parts in a text is several times as fast as to search it for a pattern that may begin at any
word, and most texts have none of the parts.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._features._view import folded, mentions


class Quick:
    """A pattern whose letters are all small, for text in lower case.

    Args:
        pattern: What is looked for.
        parts: Every match has one of them, in lower case.
    """

    def __init__(self, pattern: re.Pattern[str], *parts: str) -> None:
        self.pattern = pattern
        self.parts = parts
        self._folded = folded(pattern)

    def is_in(self, text: str) -> bool:
        """Whether there is a match."""
        return mentions(text, self.parts) and self._folded.search(text) is not None

    def times_in(self, texts: list[str]) -> NDArray[np.float64]:
        """How many matches there are in each text."""
        find = self._folded.findall
        return np.array([float(len(find(text))) if mentions(text, self.parts) else 0.0 for text in texts])
