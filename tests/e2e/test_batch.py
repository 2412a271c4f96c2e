"""``tracer-hooks diagnose`` in parts: into a file, of a store, and on a Ray cluster whose worker is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.schema import RunOutcome, Step, Trajectory, to_json

from ._command import Command

RUNS = 1_500


def write(path: Path, count: int) -> None:
    steps = (
        Step(index=0, agent="lookup", content="The price is 12 EUR, the fee 5 EUR. " + "and so on " * 300),
        Step(index=1, agent="clerk", content="12 + 5 = 18 EUR"),
    )
    run = Trajectory(run_id="RUN", team="desk", steps=steps, outcome=RunOutcome.FAILED, final_output="18 EUR")
    text = to_json(run)
    path.write_text("".join(text.replace("RUN", f"r{number}") + "\n" for number in range(count)), encoding="utf-8")


def lines_of(path: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{name: value for name, value in each.items() if name != "elapsed_s"} for each in found]


def test_results_go_into_a_file(command: Command) -> None:
    write(command.folder / "runs.jsonl", 3)
    (command.folder / "bad.json").write_text("{")
    done = command("diagnose", "runs.jsonl", "bad.json", "--out", "results.jsonl", "--attributor", "structural")
    assert done.code == 1
    assert done.out == ""
    assert done.err == "4 runs: 3 with a step to blame, 1 that could not be diagnosed\nresults: results.jsonl\n"
    shown = command("diagnose", "runs.jsonl", "bad.json", "--json", "--attributor", "structural").json["results"]
    assert [{**each, "elapsed_s": 0} for each in shown if each.get("elapsed_s")] == [
        {**each, "elapsed_s": 0} for each in lines_of(command.folder / "results.jsonl")[:3]
    ]
    told = command("diagnose", "runs.jsonl", "--out", "results.parquet", "--json").json
    assert told == {"out": "results.parquet", "runs": 3, "named": 3, "without": 0, "failed": 0}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["runs.jsonl", "--out", "results.txt"], "ends with .jsonl or .parquet"),
        (["runs.jsonl", "--engine", "ray"], "--out results.jsonl"),
        (["r0", "--out", "results.jsonl"], "there is no file or folder 'r0'"),
        (["runs.jsonl", "--out", "results.jsonl", "--markdown"], "--markdown excludes"),
        (["runs.jsonl", "--out", "results.jsonl", "--report", "a.html"], "tracer-hooks report --out site"),
        (["runs.jsonl", "--out", "results.jsonl", "--attributor", "oracle"], "unknown attributor 'oracle'"),
    ],
)
def test_wrong_calls(command: Command, arguments: list[str], said: str) -> None:
    write(command.folder / "runs.jsonl", 1)
    done = command("diagnose", *arguments)
    assert done.code == 2
    assert said in done.err
    done = command("diagnose", "sqlite:///no/such.sqlite")
    assert (done.code, "no run store at" in done.err) == (1, True)


def test_a_store_keeps_what_is_found_of_its_failed_runs(command: Command) -> None:
    write(command.folder / "runs.jsonl", 3)
    assert command("runs", "import", "runs.jsonl", "--store", "kept.sqlite").code == 0
    first, second = (command("diagnose", "sqlite:///kept.sqlite", "--json") for _ in range(2))
    assert (first.code, second.code) == (0, 0)
    assert first.json["runs"] + second.json["runs"] <= 3
    assert second.json["runs"] == 0
    listed = command("runs", "list", "--store", "kept.sqlite", "--json").json["runs"]
    assert {run["agent"] for run in listed} == {"clerk"}


@pytest.mark.slow
def test_a_killed_worker_of_a_ray_cluster_loses_and_repeats_nothing(command: Command) -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    write(command.folder / "runs.jsonl", RUNS)
    assert command("diagnose", "runs.jsonl", "--out", "local.jsonl", "--attributor", "structural").code == 0
    arguments = ["diagnose", "runs.jsonl", "--out", "ray.jsonl", "--attributor", "structural"]
    with subprocess.Popen(
        [*command.argv, *arguments, "--engine", "ray", "--workers", "2"], cwd=command.folder, env=command.environment
    ) as process:
        deadline = time.monotonic() + 240
        parts = command.folder / "ray.jsonl.parts"
        while not any(parts.glob("part-*")):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.kill(worker_below(process.pid), signal.SIGKILL)
        assert process.wait(240) == 0
    assert lines_of(command.folder / "ray.jsonl") == lines_of(command.folder / "local.jsonl")


def worker_below(ancestor: int) -> int:
    """A process of Ray's that does parts for ours; nobody else's is touched."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if b"ray::MapWorker" in (place / "cmdline").read_bytes() and is_below(int(place.name), ancestor):
                return int(place.name)
        except OSError:  # it has ended
            continue
    raise AssertionError("no worker is at work")


def is_below(pid: int, ancestor: int) -> bool:
    while pid > 1 and pid != ancestor:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid == ancestor
