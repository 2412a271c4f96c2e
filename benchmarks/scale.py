"""How CPU time and memory grow with the number of steps of a run.

    python benchmarks/scale.py [--shape NAME]... [--sizes N,N,...] [--json OUT]

Every shape and size is measured in a process of its own, after one diagnosis of a run of ten steps that reads weights
and imports: CPU seconds of the whole process, and its peak resident memory, which the interpreter and the library are
a part of (shown as the memory before). Runs are diagnosed with ``structural``; OTLP files are read into runs. The
exponent is the slope of a straight line through the logarithms of sizes and times, for sizes of 500 and more: 1 is
linear, 2 quadratic.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _scale_shapes import RUNS, TRACES

from tracer_hooks.attribution import get_attributor
from tracer_hooks.datasets import load

SIZES = (10, 100, 500, 1000, 2000, 4000)
_FROM = 500
_QUICK = 0.2
"""Seconds below which a measurement is taken three times, and the least counts."""


def megabytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def cpu_seconds(work: Callable[[], object]) -> float:
    taken = math.inf
    for _ in range(3):
        began = time.process_time()
        work()
        taken = min(taken, time.process_time() - began)
        if taken > _QUICK:
            break
    return taken


def diagnosis(shape: str, steps: int) -> Callable[[], object]:
    attributor = get_attributor("structural")
    attributor.attribute(RUNS[shape](10))
    trajectory = RUNS[shape](steps)
    return lambda: attributor.attribute(trajectory)


def reading(shape: str, spans: int, folder: Path) -> Callable[[], object]:
    small, large = folder / "small.json", folder / "large.json"
    small.write_text(TRACES[shape](10), encoding="utf-8")
    list(load(small))
    large.write_text(TRACES[shape](spans), encoding="utf-8")
    return lambda: list(load(large))


def measure(shape: str, steps: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        work = diagnosis(shape, steps) if shape in RUNS else reading(shape, steps, Path(folder))
        before = megabytes()
        seconds = cpu_seconds(work)
    return {"steps": steps, "seconds": seconds, "megabytes": megabytes(), "megabytes_before": before}


def measure_apart(shape: str, steps: int) -> dict[str, float]:
    """The same in a process of its own, so that no run pays for, or gains from, the memory of another."""
    command = [sys.executable, __file__, "--shape", shape, "--sizes", str(steps), "--inside"]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def exponent(rows: list[dict[str, float]]) -> float | None:
    points = [(math.log(row["steps"]), math.log(max(row["seconds"], 1e-6))) for row in rows if row["steps"] >= _FROM]
    if len(points) < 2:
        return None
    across = sum(x for x, _ in points) / len(points)
    up = sum(y for _, y in points) / len(points)
    return sum((x - across) * (y - up) for x, y in points) / sum((x - across) ** 2 for x, _ in points)


def show(shape: str, rows: list[dict[str, float]], power: float | None) -> None:
    print(f"\n{shape}" + (f": exponent {power:.2f}" if power is not None else ""))
    for row in rows:
        print(
            f"  {row['steps']:6.0f} steps  {row['seconds']:8.3f} s of CPU  "
            f"{row['megabytes']:6.0f} MB at most, {row['megabytes_before']:.0f} before",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shape", action="append", choices=[*RUNS, *TRACES], help="may be repeated; all when left out")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of steps, with commas in between")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    if options.inside:
        print(json.dumps(measure(options.shape[0], sizes[0])))
        return 0
    figures: dict[str, Any] = {}
    for shape in options.shape or [*RUNS, *TRACES]:
        rows = [measure_apart(shape, steps) for steps in sizes]
        power = exponent(rows)
        figures[shape] = {"exponent": power, "rows": rows}
        show(shape, rows, power)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
