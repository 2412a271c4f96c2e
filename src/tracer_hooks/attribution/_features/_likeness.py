"""How alike the steps of a run are in their words, and what of it the features ask for.

The likeness of two steps is the cosine of their words, weighted by how rare each is in the run. In a run of up to
``EXACT_STEPS`` steps every two steps are compared. In a longer one that would cost time and memory by the square of its
length, so steps are compared that stand up to :data:`WINDOW` steps apart, and those of the very same words however far
apart; how alike a step is to the run as a whole stays exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

WINDOW = 150
"""Steps that two steps of a longer run may stand apart to be compared."""
SAME = 0.9
"""Likeness above which two steps count as copies."""
BESIDE = 3
"""Steps before, and after, that count as a step's neighbours."""


class Likeness:
    """The likeness of every step to the others of its run.

    Args:
        speakers: A number for the agent of each step.
        compare: The likeness of any two steps.
    """

    def __init__(self, speakers: NDArray[np.int64], compare: Callable[[int, int], float]) -> None:
        count = len(speakers)
        self._speakers = speakers
        self._compare = compare
        self.earlier = np.zeros(count)
        """To the earlier step that is most like it."""
        self.own_earlier = np.zeros(count)
        """The same among the steps of its own agent."""
        self.others_earlier = np.zeros(count)
        """The same among the steps of other agents."""
        self.later = np.zeros(count)
        """To the later step that is most like it."""
        self.own_later = np.zeros(count)
        """The same among the steps of its own agent."""
        self.copies = np.zeros(count)
        """How many other steps are copies of it."""
        self.overall = np.zeros(count)
        """To all other steps, on average."""
        self.beside = np.zeros((count, 2 * BESIDE + 1))
        """To the steps from :data:`BESIDE` before it to as many after it, itself in the middle; 0 past the ends."""

    def between(self, one: int, other: int) -> float:
        """The likeness of two steps, however far apart."""
        return self._compare(one, other)

    def add(self, block: NDArray[np.float64], start: int, first: int, reach: int) -> None:
        """Take in the likeness of the steps from ``start`` on to each step from ``first`` on, up to ``reach`` before.

        Args:
            block: One row for each step from ``start`` on, one column for each from ``first`` to the block's last row.
            start: The step of the first row.
            first: The step of the first column, not after ``start``.
            reach: How many steps apart two steps may stand to count.
        """
        end = start + len(block)
        rows, columns = np.arange(start, end), np.arange(first, end)
        apart = rows[:, None] - columns
        before = np.where((apart > 0) & (apart <= reach), block, 0.0)
        own = np.where(self._speakers[rows][:, None] == self._speakers[columns], before, 0.0)
        self.earlier[start:end] = before.max(axis=1, initial=0.0)
        self.own_earlier[start:end] = own.max(axis=1, initial=0.0)
        self.others_earlier[start:end] = (before - own).max(axis=1, initial=0.0)
        self.later[first:end] = np.maximum(self.later[first:end], before.max(axis=0, initial=0.0))
        self.own_later[first:end] = np.maximum(self.own_later[first:end], own.max(axis=0, initial=0.0))
        copies = before > SAME
        self.copies[start:end] += copies.sum(axis=1)
        self.copies[first:end] += copies.sum(axis=0)
        for shift in range(1, BESIDE + 1):
            here = rows[rows - shift >= first]
            self.beside[here, BESIDE - shift] = block[here - start, here - shift - first]
            self.beside[here - shift, BESIDE + shift] = self.beside[here, BESIDE - shift]


def numbered(names: Sequence[str]) -> NDArray[np.int64]:
    """The same number for the same name."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def exact_likeness(words: Sequence[Counter[str]], agents: Sequence[str]) -> Likeness:
    """The likeness of every two steps; time and memory grow with the square of their number."""
    count = len(words)
    vocabulary: dict[str, int] = {}
    for counts in words:
        for word in counts:
            vocabulary.setdefault(word, len(vocabulary))
    matrix = np.zeros((count, max(1, len(vocabulary))), dtype=np.float32)
    for row, counts in enumerate(words):
        for word, times in counts.items():
            matrix[row, vocabulary[word]] = 1.0 + np.log(times)
    matrix *= rarity((matrix > 0).sum(axis=0), count)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix /= np.where(norms > 0, norms, 1.0)
    alike = np.asarray(matrix @ matrix.T, dtype=np.float64)
    found = Likeness(numbered(agents), lambda one, other: float(alike[one, other]))
    found.add(alike, 0, 0, count)
    found.overall = (alike.sum(axis=1) - np.diag(alike)) / max(1, count - 1)
    return found


def rarity(steps: NDArray[np.int64], count: int) -> NDArray[np.float32]:
    """The weight of words that stand in so many of ``count`` steps."""
    return (np.log((1 + count) / (1 + steps)) + 0.3).astype(np.float32)
