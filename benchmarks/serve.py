"""How fast ``tracer-hooks serve`` shows pages, takes labels and receives spans, and what a kill costs it.

    python benchmarks/serve.py [--runs 100000] [--kills 20] [--json FILE]

A server in a process of its own, asked over HTTP on this machine. Pages: the first time after the start, again, and
after one more run was stored. Spans: four senders, JSON, 400 spans a request, until the last run is in the store.
Kills: a server gets SIGKILL while four senders send; at the end every acknowledged run has to be in the store, once.
Label: from the last POST over ``fit`` of 12 labels to the end of ``diagnose`` with what was fitted, as commands.
"""

from __future__ import annotations

import argparse
import json
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tracer_hooks.diagnosis import diagnose_trajectory
from tracer_hooks.schema import RunOutcome, Step, ToolCall, Trajectory
from tracer_hooks.store import PackedRun, RunStore, StoredRun
from tracer_hooks.telemetry import export_request, to_spans

COMMAND = [sys.executable, "-c", "from tracer_hooks.cli import main; main()"]
_PAGES = ("/", "/runs", "/runs?outcome=failed&team=team%203", "/issues", "/label", "/runs/{run}")


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--spans", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {**_pages(Path(folder), asked.runs), **_spans(Path(folder) / "spans", asked.spans)}
        found |= _kills(Path(folder) / "kills", asked.kills)
    print("| what | figure |\n|---|---|")
    for what, figure in found.items():
        print(f"| {what} | {figure:,.3g} |" if isinstance(figure, float) else f"| {what} | {figure:,} |")
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


def a_run(number: int, *, team: str = "team") -> Trajectory:
    """A run of three steps; every third one failed, since its last agent says otherwise than the tool."""
    told, has_failed = 100 + number % 800, number % 3 == 0
    answer = f"We have {told + has_failed} copies."
    call = ToolCall(name="stock", arguments={"item": number}, result=str(told))
    steps = (
        Step(index=0, agent="planner", content=f"Look item {number} up."),
        Step(index=1, agent="librarian", tool_calls=(call,)),
        Step(index=2, agent="clerk", content=answer),
    )
    return Trajectory(
        run_id=secrets.token_hex(16), trace_id=secrets.token_hex(16), team=team, framework="plain", steps=steps,
        task=f"How many copies of item {number} do we have?", final_output=answer,
        outcome=RunOutcome.FAILED if has_failed else RunOutcome.SUCCEEDED,
        outcome_reason=f"expected {told}, got {told + 1}" if has_failed else None,
    )  # fmt: skip


@contextmanager
def _served(folder: Path) -> Iterator[tuple[str, Any]]:
    folder.mkdir(exist_ok=True)
    process = subprocess.Popen([*COMMAND, "serve", "--port", "0"], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(r"at (\S+)/\n", process.stdout.readline())
    assert found is not None
    _ask(found[1] + "/healthz")
    try:
        yield found[1], process
    finally:
        process.kill()
        process.communicate()


def _ask(address: str, body: bytes | None = None, kind: str = "application/json") -> bytes:
    with urllib.request.urlopen(urllib.request.Request(address, body, {"Content-Type": kind}), timeout=600) as answer:
        return bytes(answer.read())


def _request(*runs: Trajectory) -> bytes:
    return json.dumps(export_request([span for run in runs for span in to_spans(run, None)])).encode()


def _pages(folder: Path, number: int) -> dict[str, float]:
    store, now = RunStore(folder / ".tracer_hooks" / "runs.sqlite"), datetime.now(UTC)
    store.path.parent.mkdir()
    runs = [a_run(at, team=f"team {at % 20}") for at in range(number)]
    with store.writing() as writing:
        for at, run in enumerate(runs):
            found = diagnose_trajectory(run) if run.outcome is RunOutcome.FAILED and at < 3_000 else None
            more = {"session_id": run.run_id, "started_at": now - timedelta(minutes=at), "attribution": found}
            writing.save(PackedRun.of(StoredRun.of(run, **more)))
    times: dict[str, float] = {}
    with _served(folder) as (base, _):
        for when in ("first", "again", "after one more run"):
            if when.startswith("after"):
                store.save(StoredRun.of(a_run(number), session_id="new", started_at=now))
                time.sleep(0.3)
            for page in _PAGES:
                began = time.perf_counter()
                _ask(base + page.format(run=runs[0].run_id))
                times[f"{page} {when}, ms"] = 1000 * (time.perf_counter() - began)
        times |= _labels(folder, base, [run for run in runs if run.outcome is RunOutcome.FAILED][:12])
    return times


def _labels(folder: Path, base: str, runs: list[Trajectory]) -> dict[str, float]:
    took, began = [], 0.0
    for run in runs:
        page = _ask(f"{base}/runs/{run.run_id}").decode()
        sent = dict(re.findall(r'name="(run|token|seen|back)" value="([^"]*)"', page))
        form = urllib.parse.urlencode({**sent, "act": "wrong", "step": "2"}).encode()
        began = time.perf_counter()
        _ask(f"{base}/label", form, "application/x-www-form-urlencoded")
        took.append(time.perf_counter() - began)
    for line in ("fit --labels labels.jsonl --out fitted", f"diagnose {runs[0].run_id} --attributor fitted"):
        subprocess.run([*COMMAND, *line.split()], cwd=folder, check=True, capture_output=True)
    return {
        "POST of a label with its answer, median ms": 1000 * sorted(took)[len(took) // 2],
        "last label to the next diagnosis, s": time.perf_counter() - began,
    }


def _spans(folder: Path, number: int) -> dict[str, float]:
    each = len(to_spans(a_run(1), None))
    requests = [[a_run(at) for _ in range(400 // each)] for at in range(number // 400)]
    bodies = [_request(*runs) for runs in requests]
    wanted = sum(map(len, requests))
    with _served(folder) as (base, _), ThreadPoolExecutor(4) as pool:
        began = time.perf_counter()
        list(pool.map(lambda body: _ask(f"{base}/v1/traces", body), bodies))
        taken = time.perf_counter() - began
        store = RunStore(folder / ".tracer_hooks" / "runs.sqlite")
        while not store.path.exists() or sum(each.runs for each in store.counts()) < wanted:
            time.sleep(0.05)
        stored = time.perf_counter() - began
    return {"spans acknowledged a second": wanted * each / taken, "spans stored a second": wanted * each / stored}


def _kills(folder: Path, number: int) -> dict[str, float]:
    said: list[str] = []
    for _ in range(number):
        with _served(folder) as (base, process), ThreadPoolExecutor(4) as pool:

            def send(at: int, base: str = base) -> None:
                run = a_run(at)
                try:
                    _ask(f"{base}/v1/traces", _request(run))
                except OSError:
                    return  # not acknowledged
                said.append(run.run_id)

            sending = [pool.submit(send, at) for at in range(400)]
            time.sleep(0.3 + secrets.randbelow(1500) / 1000)
            process.send_signal(signal.SIGKILL)
            for one in sending:
                one.result()
    store = RunStore(folder / ".tracer_hooks" / "runs.sqlite")
    with _served(folder):
        deadline = time.monotonic() + 60
        while set(said) - {run.run_id for run in store.list(limit=1_000_000)} and time.monotonic() < deadline:
            time.sleep(0.5)
        time.sleep(3)
    stored = [
        run.run_id.partition("-")[0] for run in store.list(limit=1_000_000)
    ]  # a part of a run has a hash after it
    lost, doubled = len(set(said) - set(stored)), len(stored) - len(set(stored))
    return {"kills": number, "acknowledged": len(said), "acknowledged and lost": lost, "doubled": doubled}


if __name__ == "__main__":
    main()
