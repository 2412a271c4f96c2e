"""Medians of paired differences with a bootstrap interval."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from typing import Any

RESAMPLES = 4000
"""Resamples of the pairs, drawn with a fixed seed."""


def summarise(bare: Sequence[float], traced: Sequence[float], spans: int) -> dict[str, Any]:
    """What tracing added to a run: the medians of the pairs' differences, and of their differences over their bare run.

    The share is taken pair by pair, since the speed of a shared machine changes from one minute to the next by more
    than what is measured. The 95 % intervals are percentiles over resampled pairs.
    """
    differences = [after - before for before, after in zip(bare, traced, strict=True)]
    shares = [100 * added / before for added, before in zip(differences, bare, strict=True)]
    added = statistics.median(differences)
    return {
        "pairs": len(bare),
        "bare_ms": round(statistics.median(bare), 3),
        "bare_quartiles_ms": _rounded(statistics.quantiles(bare, n=4)[::2]) if len(bare) > 1 else None,
        "traced_ms": round(statistics.median(traced), 3),
        "added_ms": round(added, 3),
        "added_ms_95": _rounded(_interval(differences)),
        "added_percent": round(statistics.median(shares), 1),
        "added_percent_95": [round(value, 1) for value in _interval(shares)],
        "us_per_span": round(1000 * added / spans) if spans else None,
    }


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the least squares line."""
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def _interval(values: Sequence[float]) -> tuple[float, float]:
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)]


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 3) for value in values]
