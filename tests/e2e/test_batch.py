"""``tracer-hooks diagnose`` in parts: into a file, of a store, and on a Ray cluster whose worker is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.schema import RunOutcome, Step, Trajectory, to_json

from ._command import Command

RUNS = 900


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
@pytest.mark.timeout(600)
def test_a_killed_worker_of_a_ray_cluster_loses_and_repeats_nothing(command: Command) -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    write(command.folder / "runs.jsonl", RUNS)
    arguments = ["diagnose", "runs.jsonl", "--attributor", "structural", "--out"]
    assert command(*arguments, "local.jsonl").code == 0
    parts = command.folder / "ray.jsonl.parts"
    with_a_killed_worker(command, [*arguments, "ray.jsonl"], b"ray::MapWorker", lambda: any(parts.glob("part-*")))
    assert lines_of(command.folder / "ray.jsonl") == lines_of(command.folder / "local.jsonl")


TEAM = """
import re, time, tracer_hooks
def build(prompts=None):
    def member(name, words):
        @tracer_hooks.model(name="rules")
        def ask(messages):
            time.sleep(0.02)
            found = [int(one) for one in re.findall(r"\\d+", messages[-1]["content"])]
            return words.format(sum(found), 2 * found[-1], found[-1])
        @tracer_hooks.agent(name=name, instructions=f"You are {name}.")
        def act(shown):
            return ask([{"role": "system", "content": name}, {"role": "user", "content": shown}])
        return act
    adder = member("adder", "The sum of all the numbers is {0}.")
    doubler = member("doubler", "The sum of both is {1}.")
    writer = member("writer", "The sum in the end is {2}.")
    return lambda task: writer(doubler(adder(task)))
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_labelled_data_built_on_a_ray_cluster_is_that_of_one_process(command: Command) -> None:
    pytest.importorskip("ray", reason="ray is not installed")
    (command.folder / "team.py").write_text(TEAM.replace("\\\\", "\\"), encoding="utf-8")
    tasks = [
        {"task": f"Shelf {n} has {2 * n + 3} red and {5 * n + 1} blue pens.", "reference": str(16 * n + 8)}
        for n in range(10)
    ]
    (command.folder / "tasks.jsonl").write_text("".join(f"{json.dumps(task)}\n" for task in tasks), encoding="utf-8")
    arguments = ["dataset", "build", "team.py:build", "--tasks", "tasks.jsonl", "--strategies", "response_corruption"]
    arguments += ["--workers", "2", "--out"]
    assert command(*arguments, "local").code == 0
    journal = command.folder / "ray" / "journal.jsonl"
    begun = lambda: journal.exists() and len(journal.read_bytes().splitlines()) > 3  # noqa: E731
    with_a_killed_worker(command, [*arguments, "ray"], b"ray::_Worker", begun)
    units = [json.loads(line)["unit"] for line in journal.read_text(encoding="utf-8").splitlines()]
    assert len(units) == len(set(units))
    local, ray = (
        [
            (each["question_id"], each["decisive"], [step["content"] for step in each["trajectory"]["steps"]])
            for each in found
        ]
        for found in (lines_of(command.folder / name / "labeled.jsonl") for name in ("local", "ray"))
    )
    assert local
    assert ray == local


def said_in(trajectory: dict[str, Any]) -> list[str]:
    return [step["content"] for step in trajectory["steps"]]


def with_a_killed_worker(command: Command, arguments: list[str], worker: bytes, has_begun: Callable[[], bool]) -> None:
    """Run a command with two workers of Ray, one of which is killed as soon as the work has begun."""
    argv = [*command.argv, *arguments, "--engine", "ray", "--workers", "2"]
    with subprocess.Popen(argv, cwd=command.folder, env=command.environment) as process:
        deadline = time.monotonic() + 240
        while not has_begun():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(worker_below(process.pid, worker), signal.SIGKILL)
        assert process.wait(240) == 0


def worker_below(ancestor: int, name: bytes) -> int:
    """A worker of Ray's that works for our process; nobody else's is touched."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if name in (place / "cmdline").read_bytes() and is_below(int(place.name), ancestor):
                return int(place.name)
        except OSError:  # it has ended
            continue
    raise AssertionError("no worker is at work")


def is_below(pid: int, ancestor: int) -> bool:
    while pid > 1 and pid != ancestor:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid == ancestor
