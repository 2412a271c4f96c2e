"""How long pages on many runs take, how large pages are, and how soon the page of a long run is painted.

    python benchmarks/pages.py [--runs 100000] [--store FILE] [--rounds 9] [--json FILE]

The runs are of 5 teams over 30 days, with 10 steps each. One in five failed, and half of those are not diagnosed, nor
is any that passed. A store that is named is filled once and used again. Times are of reading and rendering in this
process; "first" is the first time in a process that has not looked at any run. Painting is measured where Chromium and
Playwright are there.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tracer_hooks.diagnosis import diagnose_trajectory, recurring_findings
from tracer_hooks.report import (
    ReportAttempt,
    ReportRun,
    RunFilter,
    overview_of,
    prompts_of,
    render_page,
    runs_of,
    write_html,
)
from tracer_hooks.schema import AgentSpec, RunOutcome, Step, ToolCall, Trajectory, Usage
from tracer_hooks.store import PackedRun, PromptStore, RunStore, StoredRun

TEAMS = ("support desk", "invoices", "research", "travel", "code review")
TOOLS = ("search", "orders", "ledger", "calendar")
_SHAPES = 200
"""Runs that differ in their steps; the others have the steps of one of them."""


def main() -> None:
    """Measure and print tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(options.store or Path(folder) / "runs.sqlite")
        if not store.path.exists():
            fill(store, options.runs)
        rows = timed_pages(store, options.rounds)
        print("| page | first ms | again, median ms | of the processor | kB |\n|---|--:|--:|--:|--:|")
        for row in rows:
            line = "| {page} | {first_ms:.0f} | {again_ms:.0f} | {processor_ms:.0f} | {kilobytes:.0f} |"
            print(line.format(**row))
        run = run_page(Path(folder))
    print("\n" + ", ".join(f"{what}: {value}" for what, value in run.items()))
    if options.json:
        options.json.write_text(json.dumps({"runs": options.runs, "pages": rows, "run": run}, indent=1) + "\n")


def fill(store: RunStore, count: int) -> None:
    """Write the runs, the same for the same number."""
    rng = random.Random(0)
    shapes = [
        trajectory(rng, number, RunOutcome.FAILED if number % 5 == 0 else RunOutcome.SUCCEEDED, 10)
        for number in range(_SHAPES)
    ]
    packed = [PackedRun.of(StoredRun.of(shape, session_id=shape.run_id)).values for shape in shapes]
    known = [
        PackedRun.of(StoredRun.of(shape, session_id=shape.run_id, attribution=diagnose_trajectory(shape))).values
        for shape in shapes
    ]
    apart, now = timedelta(days=30) / count, datetime.now(UTC)
    with store.writing() as writing:
        for number in range(count):
            is_failed, shape = number % 5 == 0, number % _SHAPES
            values = known[shape] if is_failed and rng.random() < 0.5 else packed[shape]
            began = int((now - number * apart).timestamp() * 1_000_000)
            name = f"{rng.getrandbits(128):032x}"
            changes = {"run_id": name, "session_id": name, "started_us": began, "ended_us": began + 9_000_000}
            tags = json.dumps({"release": f"1.{number % 4}"})
            writing.save(PackedRun({**values, **changes, "team": rng.choice(TEAMS), "tags": tags}))


def trajectory(rng: random.Random, number: int, outcome: RunOutcome, length: int) -> Trajectory:
    """A run in which three agents look things up and say what they found; a failed one says another amount."""
    amount = rng.randrange(100, 9_000)
    said = amount if outcome is RunOutcome.SUCCEEDED else amount + rng.randrange(1, 90)
    steps = tuple(
        Step(
            index=index,
            agent=("planner", "clerk", "writer")[index % 3],
            content=f"Step {index} of request {number}: the amount is {said if index == length - 1 else amount} EUR. "
            + "It was checked with the records of the customer. " * rng.randrange(1, 6),
            tool_calls=(
                ToolCall(name=rng.choice(TOOLS), arguments={"id": number}, result=f"total: {amount} EUR"),
            )
            if index % 3 == 1
            else (),
            usage=Usage(input_tokens=rng.randrange(300, 2_000), output_tokens=rng.randrange(20, 300)),
        )
        for index in range(length)
    )  # fmt: skip
    reason = "check: the amount is wrong" if outcome is RunOutcome.FAILED else None
    return Trajectory(
        run_id=f"shape-{number}", team=TEAMS[0], framework="langgraph", task=f"Say what request {number} comes to.",
        agents=tuple(AgentSpec(name=name) for name in ("planner", "clerk", "writer")), steps=steps, outcome=outcome,
        outcome_reason=reason, final_output=steps[-1].content,
    )  # fmt: skip


class _Links:
    """Addresses as a server has them."""

    stylesheet = "/style.css"

    def page(self, name: str) -> str:
        return f"/{name}"

    def runs(self, team: str | None = None, outcome: RunOutcome | None = None, number: int = 1) -> str:
        return f"/runs?team={team or ''}&outcome={outcome or ''}&page={number}"

    def run(self, run_id: str, step: int | None = None) -> str:
        return f"/runs/{run_id}#{step}"


def timed_pages(store: RunStore, rounds: int) -> list[dict[str, Any]]:
    """Each page with its times and its size."""
    links, everything = _Links(), RunFilter()

    def runs(number: int = 1, **chosen: Any) -> str:
        asked = RunFilter(**chosen)
        return render_page("runs", runs_of(store, asked, links, number=number), links, asked)

    def issues(**chosen: Any) -> str:
        asked = RunFilter(**chosen)
        return render_page("issues", recurring_findings(store, **asked.asked), links, asked)

    pages: dict[str, Callable[[], str]] = {
        "issues": issues,
        "issues of a team": lambda: issues(team=TEAMS[1]),
        "issues with a tag": lambda: issues(tags={"release": "1.1"}),
        "overview": lambda: render_page(
            "overview", overview_of(store, everything, links, recurring=recurring_findings(store)), links, everything
        ),
        "runs": runs,
        "runs, page 500": lambda: runs(500),
        "failed runs of a team": lambda: runs(team=TEAMS[1], outcome=RunOutcome.FAILED),
        "runs with a tag": lambda: runs(tags={"release": "1.1"}),
        "prompts": lambda: render_page("prompts", prompts_of(PromptStore(store.path), everything), links, everything),
    }
    rows = []
    for name, page in pages.items():
        first, _ = _seconds(page)
        again = [_seconds(page) for _ in range(rounds)]
        wall, processor = (1000 * statistics.median(each) for each in zip(*again, strict=True))
        row = {"page": name, "first_ms": 1000 * first, "again_ms": wall, "processor_ms": processor}
        rows.append({**row, "kilobytes": len(page().encode()) / 1000})
    return rows


def _seconds(page: Callable[[], str]) -> tuple[float, float]:
    """Seconds of the clock and of the processor."""
    began, worked = time.perf_counter(), time.process_time()
    page()
    return time.perf_counter() - began, time.process_time() - worked


def run_page(folder: Path) -> dict[str, Any]:
    """The page of a failed run of 500 steps: its size with and without the run's texts, and when it is painted."""
    run = trajectory(random.Random(1), 1, RunOutcome.FAILED, 500)
    attempt = ReportAttempt(number=1, trajectory=run, attribution=diagnose_trajectory(run))
    path = write_html(folder / "run.html", ReportRun(attempts=[attempt]))
    page = path.read_text(encoding="utf-8")
    marks = "".join(re.findall(r"<(?!script|style)[^>]*>|<(?:script|style).*?</(?:script|style)>", page, re.DOTALL))
    paints = list(_paints(path))
    return {
        "kB of the page of 500 steps": round(len(page.encode()) / 1000),
        "of that markup, style and script": round(len(marks.encode()) / 1000),
        "first paint, median ms": round(statistics.median(paints)) if paints else "not measured",
    }


def _paints(page: Path, rounds: int = 7) -> Iterator[float]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return
    if chromium is None:
        return
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(rounds):
            opened = browser.new_page()
            opened.goto(page.as_uri())
            opened.screenshot()  # not before something is painted
            yield opened.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
            opened.close()
        browser.close()


if __name__ == "__main__":
    main()
