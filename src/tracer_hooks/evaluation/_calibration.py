"""Whether a confidence is a frequency."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from tracer_hooks.schema import Record

BINS = 10


class CalibrationBin(Record):
    """The answers whose confidence lies in one interval."""

    low: float
    """Where the interval begins; the beginning belongs to it."""
    high: float
    """Where it ends; the end belongs to the next one, but 1 to the last."""
    runs: int = Field(ge=0)
    """How many answers."""
    confidence: float | None = None
    """Their mean confidence; None when there are none."""
    accuracy: float | None = None
    """How many of them are right; None when there are none."""


class Calibration(Record):
    """Confidence against accuracy of agent and step together, over the runs where an answer was given."""

    runs: int = Field(ge=0)
    """How many answers."""
    ece: float
    """Expected calibration error: the gap between confidence and accuracy, averaged over the answers by bin."""
    brier: float
    """Mean squared difference between the confidence and 1 for right, 0 for wrong."""
    confidence: float
    """Mean confidence."""
    accuracy: float
    """Share of right answers."""
    bins: tuple[CalibrationBin, ...]
    """The reliability table: ten intervals of equal width."""


def calibrate(confidences: Sequence[float], right: Sequence[float]) -> Calibration | None:
    """Compare confidences with what came of them; None when there are no answers.

    The bins are [0, 0.1), [0.1, 0.2), ... [0.9, 1].
    """
    if not confidences:
        return None
    said, was = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=np.float64)
    place = np.minimum(np.floor(said * BINS).astype(int), BINS - 1)
    bins = tuple(_bin(number, said[place == number], was[place == number]) for number in range(BINS))
    gaps = sum(
        one.runs * abs(one.confidence - one.accuracy)
        for one in bins
        if one.confidence is not None and one.accuracy is not None
    )
    return Calibration(
        runs=len(said),
        ece=gaps / len(said),
        brier=float(np.mean((said - was) ** 2)),
        confidence=float(said.mean()),
        accuracy=float(was.mean()),
        bins=bins,
    )


def _bin(
    number: int, said: np.ndarray[tuple[int], np.dtype[np.float64]], was: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> CalibrationBin:
    return CalibrationBin(
        low=number / BINS,
        high=(number + 1) / BINS,
        runs=len(said),
        confidence=float(said.mean()) if len(said) else None,
        accuracy=float(was.mean()) if len(was) else None,
    )
