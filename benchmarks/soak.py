"""Does a process that runs hooked and stored teams for long grow?

    python benchmarks/soak.py [--framework plain|autogen|langgraph|crewai|all] [--runs 10000] [--teams 50]
                              [--rounds 100] [--part in-a-row|at-once|both] [--bare] [--json FILE]

Two parts for each framework, each in a process of its own. *in a row*: ``--runs`` runs after one another; every tenth
is a new team of the hooked factory. *at once*: ``--teams`` teams that run at the same time, in one event loop (plain
Python and CrewAI: in threads), ``--rounds`` times; each team is built anew after ten.

Every run is stored and its spans are exported to nothing, with their content. Of 20 runs, two fail their check and are
diagnosed, one ends with an exception of its model, and one is a stream that is broken off (AutoGen and LangGraph, in a
row). A hundred times in all, or after each round: resident memory after ``gc.collect()``, threads, open descriptors,
rows of the store. What is recorded is checked as well: each run must be stored once, end as it should, and name its own
task's number in all its steps and no other's.

The verdict is *flat* where the slope of the memory over the second half of the runs lies below 0.5 MB per 1,000 runs
with the whole of its 95 % interval (residuals drawn in blocks), and where the median of threads and of descriptors is
no higher in the last quarter than in the one before: the thread that stores runs comes and goes. ``--bare`` does the
same without tracer-hooks.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

os.environ.update(
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_TRACING_ENABLED="false",
    CREWAI_DISABLE_VERSION_CHECK="true",
    AUTOGEN_DISABLE_RUNTIME_TRACING="true",
)

import psutil
from _overhead_report import RESAMPLES, slope
from _overhead_worker import batch_to_nothing
from _soak_teams import TEAMS, Soaked

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


SAMPLES = 100
LIFE = 10
"""Runs of one team before it is built anew."""


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--framework", choices=[*TEAMS, "all"], default="all")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--teams", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--part", choices=["in-a-row", "at-once", "both"], default="both")
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        print("@@" + json.dumps(measured(asked)), flush=True)
        return
    frameworks = list(TEAMS) if asked.framework == "all" else [asked.framework]
    parts = ["in-a-row", "at-once"] if asked.part == "both" else [asked.part]
    rows = [in_a_process(asked, framework, part) for framework in frameworks for part in parts]
    show(rows)
    if asked.json is not None:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if any(row["wrong"] for row in rows):
        sys.exit(1)


def in_a_process(asked: argparse.Namespace, framework: str, part: str) -> dict[str, Any]:
    """The row of one part, measured in a process of its own."""
    command = [sys.executable, __file__, "--child", "--framework", framework, "--part", part]
    command += ["--runs", str(asked.runs), "--teams", str(asked.teams)]
    command += ["--rounds", str(asked.rounds), *(["--bare"] if asked.bare else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    row: dict[str, Any] = json.loads(done.stdout.rpartition("@@")[2])
    print(f"{framework} {part}: {row['seconds']:.0f} s, {row['verdict']}", file=sys.stderr)
    return row


def show(rows: list[dict[str, Any]]) -> None:
    """Print the table."""
    print("| framework | part | runs | s | MB at half, at the end | MB per 1,000 runs (95 %) | threads | descriptors |"
          " stored | mixed up | verdict |")  # fmt: skip
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|")
    for row in rows:
        low, high = row["slope_mb_per_1000_95"]
        pairs = [f"{first:g}, {last:g}" for first, last in (row["rss_mb"], row["threads"], row["descriptors"])]
        slope = f"{row['slope_mb_per_1000']:+.3f} ({low:+.3f} to {high:+.3f})"
        part = row["part"] + (", bare" if row["bare"] else "")
        print(
            f"| {row['framework']} | {part} | {row['runs']:,} | {row['seconds']:.0f} | {pairs[0]} | {slope} | "
            f"{pairs[1]} | {pairs[2]} | {row['stored']:,} | {row['mixed']} | {row['verdict']} |"
        )
    for row in rows:
        for line in row["wrong"]:
            print(f"WRONG: {row['framework']} {row['part']}: {line}")


@dataclass
class Soak:
    """One part's runs, and what was read meanwhile."""

    soaked: Soaked
    factory: Callable[[], Any]
    runs: int
    store: Path
    readings: list[Reading] = field(default_factory=list)
    made: int = 0
    breaks_off: bool = False
    """Whether some runs are streams that are broken off."""

    def kind(self, number: int) -> str:
        """What becomes of the run with this number."""
        place = number % 20
        if place == 13 and self.breaks_off:
            return "broken off"
        return {3: "wrong", 10: "wrong", 17: "raise"}.get(place, "right")

    def task(self, number: int) -> str:
        """What the run with this number is asked."""
        return f"{self.kind(number)}: what is the price of order {1_000_000 + number}?"

    def done(self, runs: int = 1) -> None:
        """Count runs; at each hundredth of them read what the process holds."""
        before, self.made = self.made, self.made + runs
        if self.made * SAMPLES // self.runs > before * SAMPLES // self.runs:
            self.readings.append(self.read())

    def read(self) -> Reading:
        """What the process holds now."""
        settle()
        gc.collect()
        process = psutil.Process()
        return Reading(
            runs=self.made,
            rss_mb=round(process.memory_info().rss / 1e6, 2),
            threads=threading.active_count(),
            descriptors=process.num_fds(),
            rows=stored_rows(self.store),
        )

    def in_a_row(self) -> None:
        """All runs, one after the other."""
        team: Any = None
        self.breaks_off = self.soaked.break_off is not None
        for number in range(self.runs):
            if number % LIFE == 0:
                team = self.factory()
            if self.kind(number) == "broken off":
                assert self.soaked.break_off is not None
                self.soaked.break_off(team, self.task(number))
            else:
                self._one(number, lambda team=team, number=number: self.soaked.run(team, self.task(number)))
            self.done()

    def _one(self, number: int, run: Callable[[], Any]) -> None:
        try:
            answer = run()
        except Exception as error:
            self._expect_raised(number, error)
        else:
            self._expect_right(number, answer)

    async def at_once(self, teams: int) -> None:
        """Rounds of ``teams`` runs at the same time."""
        pool = ThreadPoolExecutor(teams)
        all_up = threading.Barrier(teams)
        list(pool.map(lambda _: all_up.wait(), range(teams)))  # else threads are added while the memory is read
        asyncio.get_running_loop().set_default_executor(pool)
        at_work: list[Any] = []
        for round_ in range(self.runs // teams):
            if round_ % LIFE == 0:
                at_work = [self.factory() for _ in range(teams)]
            numbers = range(round_ * teams, (round_ + 1) * teams)
            await asyncio.gather(*(self._beside(team, n) for team, n in zip(at_work, numbers, strict=True)))
            self.done(teams)

    async def _beside(self, team: Any, number: int) -> None:
        try:
            answer = await self.soaked.arun(team, self.task(number))
        except Exception as error:
            self._expect_raised(number, error)
        else:
            self._expect_right(number, answer)

    def _expect_raised(self, number: int, error: Exception) -> None:
        if self.kind(number) != "raise" or f"no model for order {1_000_000 + number}" not in str(error):
            raise RuntimeError(f"{self.task(number)} ended with {error!r}") from error

    def _expect_right(self, number: int, answer: str) -> None:
        if f"order {1_000_000 + number}" not in answer:
            raise RuntimeError(f"{self.task(number)} ended with {answer!r}")


def measured(asked: argparse.Namespace) -> dict[str, Any]:
    """One part, in this process."""
    warnings.simplefilter("ignore")
    logging.getLogger().setLevel(logging.CRITICAL)  # raising runs are logged by the frameworks, each with its traceback
    logging.getLogger("autogen_core").setLevel(logging.CRITICAL)
    soaked = TEAMS[asked.framework]()
    with tempfile.TemporaryDirectory() as name:
        store = Path(name) / "runs.sqlite"
        runs = asked.runs if asked.part == "in-a-row" else asked.teams * asked.rounds
        soak = Soak(soaked, soaked.build if asked.bare else hooked(soaked, store), runs, store)
        begun = time.monotonic()
        if asked.part == "in-a-row":
            soak.in_a_row()
        else:
            asyncio.run(soak.at_once(asked.teams))
        seconds = time.monotonic() - begun
        settle()
        found = {"stored": 0, "mixed": 0, "wrong": []} if asked.bare else checked(store, soak)
    return {
        "framework": asked.framework,
        "part": asked.part,
        "bare": asked.bare,
        "runs": soak.made,
        "seconds": round(seconds, 1),
        **trend(soak.readings).described(),
        **found,
        "readings": [vars(one) for one in soak.readings],
    }


def hooked(soaked: Soaked, store: Path) -> Callable[[], Any]:
    """The hooked factory of a team."""
    import tracer_hooks

    def check(result: tracer_hooks.RunResult, task: str) -> bool:
        return not task.startswith("wrong")

    def build_team() -> Any:
        return soaked.build()

    provider, _ = batch_to_nothing()
    return tracer_hooks.hook(build_team, check=check, store=store, tracer_provider=provider, capture="full")


def settle() -> None:
    """Wait for what the runs left to other threads."""
    if "tracer_hooks" in sys.modules:
        import tracer_hooks

        if not tracer_hooks.flush(3600):
            raise RuntimeError("the store did not take the runs within an hour")


def stored_rows(store: Path) -> int:
    """How many runs the store has; 0 before the first."""
    if not store.exists():
        return 0
    with closing(sqlite3.connect(store)) as connection:
        return int(connection.execute("SELECT count(*) FROM runs").fetchone()[0])


def checked(store: Path, soak: Soak) -> dict[str, Any]:
    """Whether each run is in the store once, with its own steps alone, and ended as it should."""
    from tracer_hooks.store import RunStore

    wrong, seen, mixed = [], set(), 0
    ends = {"right": "succeeded", "wrong": "failed", "raise": "failed", "broken off": "unknown"}
    with RunStore(store, read_only=True) as runs:
        listed = runs.list(limit=10 * soak.runs)
        for summary in listed:
            number = int(summary.task.rpartition("order ")[2].rstrip("?")) - 1_000_000
            seen.add(number)
            said = runs.get(summary.run_id, with_tape=False).trajectory.model_dump_json()
            others = {one for one in said.split("order ")[1:] if not one.startswith(str(1_000_000 + number))}
            mixed += bool(others)
            if summary.outcome != ends[soak.kind(number)] and len(wrong) < 5:
                wrong.append(f"{summary.task} ended as {summary.outcome}: {summary.outcome_reason}")
            if soak.kind(number) == "wrong" and summary.agent is None and not summary.abstained and len(wrong) < 5:
                wrong.append(f"{summary.task} has no diagnosis")
    if len(listed) != soak.made or len(seen) != soak.made:
        wrong.append(f"{soak.made} runs were made, {len(listed)} are stored, {len(seen)} different ones")
    if mixed:
        wrong.append(f"{mixed} runs hold something of another")
    return {"stored": len(listed), "mixed": mixed, "wrong": wrong}


if __name__ == "__main__":
    main()
