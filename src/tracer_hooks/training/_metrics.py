"""How well faulty agents are told from the others of their trajectory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def area_within(scores: Sequence[NDArray[np.float32]], faulty: Sequence[NDArray[np.float32]]) -> float | None:
    """Mean over trajectories of the area under the ROC curve of faulty against other agents; ties count half.

    Args:
        scores: One array for each trajectory, one score for each agent.
        faulty: In the same shape, 1 for a faulty agent.

    Returns:
        The area; None when no trajectory has agents of both kinds.
    """
    areas = [_area(one[truth > 0.5], one[truth <= 0.5]) for one, truth in zip(scores, faulty, strict=True)]
    known = [area for area in areas if area is not None]
    return float(np.mean(known)) if known else None


def _area(good: NDArray[np.float32], bad: NDArray[np.float32]) -> float | None:
    if not len(good) or not len(bad):
        return None
    difference = good[:, None] - bad[None, :]
    return float(((difference > 0) + 0.5 * (difference == 0)).mean())


def pair_f1(scores: Sequence[NDArray[np.float32]], truth: Sequence[NDArray[np.float32]], threshold: float) -> float:
    """Micro-averaged F1 of pairs of agent and mode whose log-odds pass a threshold."""
    hits = chosen = wanted = 0.0
    for one, known in zip(scores, truth, strict=True):
        picked = one > threshold
        hits += float((picked * known).sum())
        chosen += float(picked.sum())
        wanted += float(known.sum())
    return 2 * hits / (chosen + wanted) if chosen + wanted else 0.0
