"""Global alignment of two sequences of steps (Needleman and Wunsch 1970) with affine gaps (Gotoh 1982)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float64]

MATCH_FROM = 0.5
"""Similarity from which it pays to put two steps beside each other."""
GAP_OPEN, GAP_EXTEND = 0.15, 0.05
"""Cost of the first and of each further step of a gap; opening must not be cheaper than extending."""
_DIAGONAL, _UP = 0, 1


@dataclass(frozen=True, slots=True)
class Alignment:
    """Which step of the first sequence stands beside which step of the second."""

    partners: tuple[int, ...]
    """For each step of the first sequence the step beside it, or -1."""
    score: float
    """Sum of the similarities above :data:`MATCH_FROM` less the gap costs; the same whichever sequence is first."""


def align(similarity: Matrix) -> Alignment:
    """Align two sequences.

    Args:
        similarity: One row a step of the first, one column a step of the second sequence, in [0, 1].

    Returns:
        The best alignment; of equally good ones that which pairs steps early, so that of a step done twice the second
        one is left over.
    """
    rows, columns = similarity.shape
    table = _Table(rows, columns)
    # The way back through the table pairs what it meets first; with both sequences reversed that is their beginning.
    for row in range(1, rows + 1):
        table.fill(row, similarity[rows - row, ::-1] - MATCH_FROM)
    reversed_partners = table.partners()
    partners = tuple(columns - 1 - column if column >= 0 else -1 for column in reversed(reversed_partners))
    return Alignment(partners, float(table.best[rows, columns]))


class _Table:
    """The dynamic programme, filled row by row: only the gaps along a row depend on the row itself."""

    def __init__(self, rows: int, columns: int) -> None:
        self._columns = np.arange(columns + 1)
        self._slope = GAP_EXTEND * self._columns
        edge = np.where(self._columns > 0, -(GAP_OPEN - GAP_EXTEND) - self._slope, 0.0)
        self.best = np.zeros((rows + 1, columns + 1))
        self.best[0] = edge
        self._vertical = np.full(columns + 1, -np.inf)
        self._how = np.zeros((rows + 1, columns + 1), dtype=np.int8)
        self._gap_goes_on = np.zeros((rows + 1, columns + 1), dtype=bool)
        self._left_to = np.tile(self._columns, (rows + 1, 1))
        self._left_to[0] = 0

    def fill(self, row: int, gains: Matrix) -> None:
        above = self.best[row - 1]
        opened, extended = above - GAP_OPEN, self._vertical - GAP_EXTEND
        self._gap_goes_on[row] = extended > opened
        self._vertical = np.maximum(opened, extended)
        reached = self._vertical.copy()
        beside = above[:-1] + gains
        self._how[row] = _UP
        self._how[row, 1:][beside >= reached[1:]] = _DIAGONAL
        reached[1:] = np.maximum(reached[1:], beside)
        self._fill_leftwards(row, reached)

    def _fill_leftwards(self, row: int, reached: Matrix) -> None:
        lifted = reached + self._slope
        highest = np.maximum.accumulate(lifted)
        where = np.maximum.accumulate(np.where(lifted >= highest, self._columns, 0))
        gaps = np.full_like(reached, -np.inf)
        gaps[1:] = highest[:-1] - GAP_OPEN + GAP_EXTEND - self._slope[1:]
        is_gap = gaps > reached
        self._left_to[row, 1:] = np.where(is_gap[1:], where[:-1], self._columns[1:])
        self.best[row] = np.maximum(reached, gaps)

    def partners(self) -> tuple[int, ...]:
        row, column = self.best.shape[0] - 1, self.best.shape[1] - 1
        found = [-1] * row
        while row > 0:
            column = int(self._left_to[row, column])
            if self._how[row, column] == _DIAGONAL and column > 0:
                row, column = row - 1, column - 1
                found[row] = column
                continue
            while self._gap_goes_on[row, column]:
                row -= 1
            row -= 1
        return tuple(found)
