"""Memory of a process that runs one team again and again."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import psutil
from _overhead_modes import Bare, Ours
from _overhead_pairs import checked_run
from _overhead_spans import batch_to_nothing
from _overhead_statistics import slope

SAMPLES = 40
"""Readings over all runs."""


def measure_memory(
    bench: Any, switch: Bare, runs: int, *, new_team: bool, progress: Callable[[int], None]
) -> dict[str, Any]:
    """Resident memory over ``runs`` runs, with tracing on throughout and content captured.

    The first quarter is left to the allocator, the caches and the framework to settle.

    Args:
        bench: The framework's ``BenchTeam``.
        switch: The way of tracing.
        runs: How many.
        new_team: Whether each run gets a team of its own, from the hooked factory where the mode is ours.
        progress: Told the number of runs done.

    Returns:
        MB after a quarter of the runs and after all, and the slope between in kB a run.
    """
    provider, _ = batch_to_nothing()
    next_team = _teams(bench, switch, provider, new_team=new_team)
    process, every = psutil.Process(), max(1, runs // SAMPLES)
    readings: list[tuple[float, float]] = []
    began = time.process_time()
    for number in range(1, runs + 1):
        team = next_team()
        checked_run(bench, team)
        switch.settle(team)
        del team
        if number % every == 0 or number == runs:
            gc.collect()
            readings.append((number, process.memory_info().rss / 1e6))
            progress(number)
    kept = [reading for reading in readings if reading[0] >= runs / 4]
    return {
        "runs": runs,
        "from_run": int(kept[0][0]),
        "rss_mb_from": round(kept[0][1], 1),
        "rss_mb_end": round(kept[-1][1], 1),
        "grown_mb": round(kept[-1][1] - kept[0][1], 2),
        "slope_kb_per_run": round(1000 * slope(kept), 3) if len(kept) > 1 else None,
        "readings": [(int(number), round(megabytes, 2)) for number, megabytes in readings],
        "cpu_s": round(time.process_time() - began, 1),
    }


def _teams(bench: Any, switch: Bare, provider: Any, *, new_team: bool) -> Callable[[], Any]:
    if new_team:
        return switch.factory(bench.build, provider) if isinstance(switch, Ours) else bench.build
    if switch.builds_inside:
        switch.on(None, provider)
        team = bench.build()
    else:
        team = bench.build()
        switch.on(team, provider)
    return lambda: team
