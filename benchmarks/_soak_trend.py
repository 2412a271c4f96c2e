"""Whether a process grows: the slope of its readings over their second half, with an interval."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from _overhead_statistics import RESAMPLES, slope

MOST_MB = 0.5
"""Resident memory may grow by so much in 1,000 runs, half a kilobyte a run: what the allocator itself drifts by."""
_BLOCK = 5
"""Neighbouring readings are alike, so that they are drawn in blocks of so many."""


@dataclass(frozen=True)
class Reading:
    """What a process held after so many runs."""

    runs: int
    rss_mb: float
    threads: int
    descriptors: int
    rows: int
    """Of the run store."""


@dataclass(frozen=True)
class Trend:
    """What became of a process over the second half of its runs."""

    first: Reading
    last: Reading
    slope_mb: float
    """Of resident memory, per 1,000 runs."""
    slope_mb_95: tuple[float, float]
    threads: tuple[float, float]
    """Medians of the third and the last quarter of all runs."""
    descriptors: tuple[float, float]
    """The same."""

    @property
    def verdict(self) -> str:
        """``flat``, or what grows.

        Flat is a process whose memory's slope is below :data:`MOST_MB` with the whole of its interval, and whose median
        of threads, and of descriptors, is no higher in the last quarter than in the one before.
        """
        grows = []
        if self.slope_mb_95[1] >= MOST_MB:
            grows.append("memory" if self.slope_mb_95[0] > 0 else "memory (not clear)")
        for name, (before, after) in (("threads", self.threads), ("descriptors", self.descriptors)):
            grows += [name] if after > before else []
        return "grows: " + ", ".join(grows) if grows else "flat"

    def described(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "rss_mb": [self.first.rss_mb, self.last.rss_mb],
            "slope_mb_per_1000": round(self.slope_mb, 4),
            "slope_mb_per_1000_95": [round(value, 4) for value in self.slope_mb_95],
            "threads": list(self.threads),
            "descriptors": list(self.descriptors),
            "verdict": self.verdict,
        }


def trend(readings: Sequence[Reading]) -> Trend:
    """The trend over the second half of ``readings``; the first is left to caches, pools and the allocator."""
    kept = readings[len(readings) // 2 :]
    points = [(one.runs / 1000, one.rss_mb) for one in kept]
    third, last = kept[: len(kept) // 2], kept[len(kept) // 2 :]
    threads, descriptors = (
        (median(getattr(one, name) for one in third), median(getattr(one, name) for one in last))
        for name in ("threads", "descriptors")
    )
    return Trend(kept[0], kept[-1], slope(points), _interval(points), threads, descriptors)


def _interval(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The 95 % interval of the slope, from blocks of residuals put back onto the line in another order."""
    middle = slope(points)
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    line = [mean_y + middle * (x - mean_x) for x, _ in points]
    residuals = [y - of for (_, y), of in zip(points, line, strict=True)]
    draw, starts = random.Random(0), range(max(1, len(points) - _BLOCK + 1))
    slopes = []
    for _ in range(RESAMPLES):
        drawn: list[float] = []
        while len(drawn) < len(points):
            start = draw.choice(starts)
            drawn += residuals[start : start + _BLOCK]
        slopes.append(slope([(x, of + more) for (x, _), of, more in zip(points, line, drawn, strict=False)]))
    slopes.sort()
    return slopes[int(0.025 * RESAMPLES)], slopes[int(0.975 * RESAMPLES)]
