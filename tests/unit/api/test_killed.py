"""A process that is killed while it repairs runs loses no run that was stored."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tracer_hooks.repair import RepairLog
from tracer_hooks.store import RunStore

PROGRAM = """
import sys
import tracer_hooks

@tracer_hooks.model
def ask(messages):
    return "It is 41."

@tracer_hooks.agent(instructions="Be right.")
def solo(task):
    return ask([{"role": "user", "content": task}])

@tracer_hooks.hook(check=lambda result: tracer_hooks.Verdict(passed=False, reason="a wrong number"), retries=2,
                   store=sys.argv[1])
def solve(task):
    return solo(task)

for number in range(100_000):
    solve(f"task {number}")
    print(tracer_hooks.last_run(solve).session_id, flush=True)
"""


@pytest.mark.slow
def test_a_killed_process_loses_no_stored_run(tmp_path: Path) -> None:
    path, draw = tmp_path / "runs.sqlite", random.Random(3)
    stored: list[str] = []
    for _ in range(6):
        command = [sys.executable, "-c", PROGRAM, str(path)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout is not None
        stored.append(process.stdout.readline().strip())  # it is at work
        time.sleep(draw.uniform(0.05, 0.8))
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate(timeout=30)
        lines = rest.split("\n")
        stored += lines[:-1]  # what follows the last line break was broken off
    assert len(stored) > 6
    with RunStore(path) as store:
        for session in stored:
            attempts = store.attempts(session)
            assert [attempt.attempt for attempt in attempts] == [1, 2, 3]
            log = RepairLog.model_validate(attempts[-1].repair)
            assert len(log.trials) == 2
        (team,) = {run.team for run in store.list(limit=10)}
    assert team == "solve"
