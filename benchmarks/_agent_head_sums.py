"""Ridge regression from sums over agents, so that a group is left out by leaving out its sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_FLAT = 1e-5
"""Columns that vary less than this are not read."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Means over the agents of a group that a ridge regression needs."""

    agents: float
    """How many agents."""
    xx: Array
    """(columns, columns)."""
    xy: Array
    """(columns, outputs)."""
    x: Array
    """(columns,)."""
    y: Array
    """(outputs,)."""

    @classmethod
    def of(cls, columns: NDArray[np.float32], targets: Array) -> Sums:
        """Over rows of columns, and of targets."""
        count = max(1, len(columns))
        square = (columns.T @ columns).astype(np.float64) / count
        cross = (columns.T @ targets.astype(np.float32)).astype(np.float64) / count
        x, y = columns.sum(axis=0, dtype=np.float64) / count, targets.sum(axis=0) / count
        return cls(float(len(columns)), square, cross, x, np.asarray(y))

    @property
    def covariance(self) -> Array:
        """(columns, columns)."""
        return np.asarray(self.xx - np.outer(self.x, self.x))

    @property
    def deviation(self) -> Array:
        """(columns,): infinite for a column that does not vary."""
        variance = np.diag(self.xx) - self.x**2
        return np.where(variance > _FLAT**2, np.sqrt(np.maximum(variance, _FLAT**2)), np.inf)


def pooled(sums: Sequence[Sums], *, equal: bool = False) -> Sums:
    """Means over several groups; with ``equal`` each group counts the same, else each agent."""
    agents = np.array([one.agents for one in sums])
    shares = np.full(len(sums), 1 / len(sums)) if equal else agents / agents.sum()

    def mean(parts: Sequence[Array]) -> Array:
        total = np.zeros_like(parts[0])
        for share, part in zip(shares, parts, strict=True):
            total += share * part
        return total

    xx, xy = mean([one.xx for one in sums]), mean([one.xy for one in sums])
    return Sums(float(agents.sum()), xx, xy, mean([one.x for one in sums]), mean([one.y for one in sums]))


def ridge(sums: Sums, strength: float) -> Array:
    """(columns + 1, outputs): weights for columns as they are, the intercept in the last row.

    Args:
        sums: Of all groups together.
        strength: Of the pull to 0, for standardised columns; a column that does not vary weighs 0.
    """
    spread = sums.deviation
    used = np.flatnonzero(np.isfinite(spread))
    weights = np.zeros((len(spread) + 1, sums.xy.shape[1]))
    if len(used):
        own = spread[used]
        square = sums.covariance[np.ix_(used, used)] / np.outer(own, own)
        cross = (sums.xy - np.outer(sums.x, sums.y))[used] / own[:, None]
        weights[used] = np.linalg.solve(square + strength * np.eye(len(used)), cross) / own[:, None]
    weights[-1] = sums.y - sums.x @ weights[:-1]
    return weights
