"""What a start of the code suites' sandbox costs, with bubblewrap and without, and beside a bare interpreter.

    python benchmarks/sandbox_start.py                # 40 starts each way
    python benchmarks/sandbox_start.py --starts 200

Each way in turn, so that a machine that is slower for a while is so for all. The first start in a process, which finds
out whether bubblewrap works, is measured apart. Wall clock, in milliseconds: median, and the 5th and 95th of a hundred.
The fastest starts are those that shared the processor least.
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tracer_hooks.config import BubblewrapUse
from tracer_hooks.suites import bubblewrap_state, run_python

CODE, TEST = "def f(x):\n    return x * x\n", "assert f(3) == 9"


def main() -> None:
    """Measure, print a table and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=40)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/sandbox_start.json"))
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    began = time.perf_counter()
    state = bubblewrap_state()
    probe_ms = 1e3 * (time.perf_counter() - began)
    ways: dict[str, Callable[[], None]] = {"bare interpreter": bare, "limits and hook": lambda: start("off")}
    if state.works:
        ways["bubblewrap"] = lambda: start("required")
    else:
        print(f"bubblewrap cannot be used: {state.problem}", file=sys.stderr)
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.starts):
        for name, way in ways.items():
            taken[name].append(timed(way))
    rows = {name: summary(values) for name, values in taken.items()}
    print("| way | starts | fastest ms | median ms (5 to 95 of 100) |\n|---|--:|--:|--:|")
    for name, row in rows.items():
        print(
            f"| {name} | {options.starts} | {row['fastest']:.0f} | "
            f"{row['median']:.0f} ({row['low']:.0f} to {row['high']:.0f}) |"
        )
    print(f"\nfinding out whether bubblewrap works, once a process: {probe_ms:.0f} ms")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps({"probe_ms": probe_ms, "ways": rows, "taken_ms": taken}, indent=2) + "\n")


def bare() -> None:
    """Start an interpreter that does the same and is held by nothing."""
    flags = ("-s", "-S", "-P", "-B", "-X", "utf8")
    subprocess.run([sys.executable, *flags, "-c", f"import json\n{CODE}{TEST}"], check=True, env={})


def start(way: BubblewrapUse) -> None:
    """Run and grade one short answer.

    Raises:
        RuntimeError: The answer does not pass.
    """
    result = run_python(CODE, tests=[TEST], bubblewrap=way)
    if not result.passed:
        raise RuntimeError(f"the answer did not pass: {result}")


def timed(way: Callable[[], None]) -> float:
    """Milliseconds that ``way`` takes."""
    began = time.perf_counter()
    way()
    return 1e3 * (time.perf_counter() - began)


def summary(values: Sequence[float]) -> dict[str, float]:
    """Fastest, median, and the range of nine in ten."""
    cuts = statistics.quantiles(values, n=20)
    return {"fastest": min(values), "median": statistics.median(values), "low": cuts[0], "high": cuts[-1]}


if __name__ == "__main__":
    main()
