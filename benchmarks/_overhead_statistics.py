"""Medians of paired differences with a bootstrap interval."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from typing import Any

RESAMPLES = 4000
"""Resamples of the pairs, drawn with a fixed seed."""


def summarise(bare: Sequence[float], traced: Sequence[float], spans: int) -> dict[str, Any]:
    """What tracing added to a run: the median of the paired differences, absolute and over the bare median.

    The 95 % intervals are percentiles over resampled pairs.
    """
    added, base = _added(list(zip(bare, traced, strict=True)))
    resampled = sorted(_resamples(bare, traced))
    share = sorted(100 * added / base for added, base in resampled)
    absolute = [added for added, _ in resampled]
    return {
        "pairs": len(bare),
        "bare_ms": round(base, 3),
        "bare_quartiles_ms": _rounded(statistics.quantiles(bare, n=4)[::2]) if len(bare) > 1 else None,
        "traced_ms": round(statistics.median(traced), 3),
        "added_ms": round(added, 3),
        "added_ms_95": _rounded(_interval(absolute)),
        "added_percent": round(100 * added / base, 1),
        "added_percent_95": [round(value, 1) for value in _interval(share)],
        "us_per_span": round(1000 * added / spans) if spans else None,
    }


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the least squares line."""
    return statistics.linear_regression(*zip(*points, strict=True)).slope


def _resamples(bare: Sequence[float], traced: Sequence[float]) -> list[tuple[float, float]]:
    draw = random.Random(0)
    pairs = list(zip(bare, traced, strict=True))
    return [_added(draw.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES)]


def _added(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    differences = [traced - bare for bare, traced in pairs]
    return statistics.median(differences), statistics.median(bare for bare, _ in pairs)


def _interval(ordered: Sequence[float]) -> tuple[float, float]:
    return ordered[int(0.025 * len(ordered))], ordered[min(int(0.975 * len(ordered)), len(ordered) - 1)]


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 3) for value in values]
