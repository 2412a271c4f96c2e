"""Fits the weights: logistic regression with weights that are never negative, shrunk towards one common value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrinkage:
    """What the weights are pulled towards, and how hard."""

    towards: float = 2.0
    """The log-odds that a signal is worth before any run is seen: one that is rarely there without a failure."""
    strength: float = 0.01
    """Of the pull, beside a loss that is a mean over the runs."""
    rounds: int = 600
    """Of accelerated gradient descent."""


def fit_weights(
    values: Array, failed: NDArray[np.bool_], importance: Array, shrinkage: Shrinkage
) -> tuple[Array, float]:
    """Weights, one for each signal and none negative, and the intercept.

    Args:
        values: Strength of the signals, 0 to 1; (runs, signals).
        failed: Which runs failed.
        importance: Of each run; above 0, any scale.
        shrinkage: For the weights; the intercept is free.
    """
    share = importance / importance.sum()
    design = np.hstack([values, np.ones((len(values), 1))])
    curvature = 0.25 * float(np.linalg.norm(design * np.sqrt(share)[:, None], 2)) ** 2 + shrinkage.strength
    current = np.append(np.full(values.shape[1], shrinkage.towards), 0.0)
    ahead, momentum = current.copy(), 1.0
    for _ in range(shrinkage.rounds):
        believed = 1.0 / (1.0 + np.exp(-design @ ahead))
        slope = design.T @ (share * (believed - failed))
        slope[:-1] += shrinkage.strength * (ahead[:-1] - shrinkage.towards)
        following = ahead - slope / curvature
        following[:-1] = following[:-1].clip(min=0.0)
        next_momentum = (1.0 + float(np.sqrt(1.0 + 4.0 * momentum**2))) / 2.0
        ahead = following + (momentum - 1.0) / next_momentum * (following - current)
        current, momentum = following, next_momentum
    return current[:-1], float(current[-1])


def equal_importance(systems: Sequence[str], failed: NDArray[np.bool_]) -> Array:
    """Importance by which failed and passing runs count the same, and among either every system counts the same."""
    importance = np.zeros(len(systems))
    for outcome in (False, True):
        counts: dict[str, int] = {}
        for system, one in zip(systems, failed, strict=True):
            if bool(one) is outcome:
                counts[system] = counts.get(system, 0) + 1
        for place, (system, one) in enumerate(zip(systems, failed, strict=True)):
            if bool(one) is outcome:
                importance[place] = 1.0 / (len(counts) * counts[system])
    return importance


def threshold_for(scores: Array, importance: Array, rate: float) -> float:
    """The lowest score at which at most a share ``rate`` of passing runs is blamed.

    Args:
        scores: Of passing runs that the scoring model was not fitted to.
        importance: Of each run.
        rate: From 0 to 1.
    """
    order = np.argsort(-scores, kind="stable")
    blamed = np.cumsum(importance[order]) / importance.sum()
    allowed = int(np.searchsorted(blamed, rate, side="right"))
    if allowed >= len(scores):
        return float(scores.min())
    return float(np.nextafter(scores[order[allowed]], np.inf))
