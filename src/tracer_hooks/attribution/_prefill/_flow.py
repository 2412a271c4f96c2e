"""Attention that runs from symptoms back to earlier steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def received(attention: Floats, counts: NDArray[np.int64], rows: list[int]) -> Floats:
    """What each step gets of the attention of later steps, for each token it has; shape (steps,).

    Every row is scaled to the mean over the earlier steps in its view, so that late symptoms, which have more steps to
    look back on, weigh as much as early ones; 1 is therefore what a step gets by chance.

    Args:
        attention: Shares of attention, shape (steps, steps + 1).
        counts: Tokens of each step.
        rows: The later steps whose attention counts.
    """
    steps = len(counts)
    total = np.zeros(steps, dtype=np.float32)
    seen = np.zeros(steps, dtype=np.float32)
    for row in rows:
        density = attention[row, :row] / np.maximum(counts[:row], 1)
        in_view = (attention[row, :row] > 0) & (counts[:row] > 0)
        if in_view.any():
            total[:row] += np.where(in_view, density / density[in_view].mean(), 0)
            seen[:row] += in_view
    return np.where(seen > 0, total / np.maximum(seen, 1), 0).astype(np.float32)


def lift(attention: Floats, counts: NDArray[np.int64], symptoms: list[int]) -> Floats:
    """Log ratio of what a step gets from symptoms to what it gets from other later steps; shape (steps,).

    Attention favours the near and the first whoever looks; only what symptoms add to that speaks of a cause. 0 where
    one of the two is unknown.
    """
    others = [step for step in range(1, len(counts)) if step not in set(symptoms)]
    ours, theirs = received(attention, counts, symptoms), received(attention, counts, others)
    known = (ours > 0) & (theirs > 0)
    ratio = np.where(known, ours, 1) / np.where(known, theirs, 1)
    return np.log(ratio).astype(np.float32)
