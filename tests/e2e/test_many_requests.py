"""Commands with ``--concurrency``: so many requests under way, the same words in the same order, and a quick Ctrl-C."""

import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.schema import RunOutcome, Step, Trajectory, to_json
from tracer_hooks.testing import Reply, ScriptedLLM, ScriptedRequest

from ._command import Command

VERDICT = {
    "reason": "It is too low.", "verdict": "fault", "agent": "clerk", "step": 1, "error_mode": "FM-2.6",
    "probability": 0.8, "evidence": [{"step": 1, "quote": "It costs 75", "why": "too low"}], "other_faults": [],
    "alternatives": [],
}  # fmt: skip
WORDS = {"sentences": [{"step": 1, "agent": "clerk", "text": "It says 75.", "quote": "It costs 75"}]}


class Server:
    """Answers as a judge does when ``at_least`` are under way, later for some runs than for others; counts them."""

    def __init__(self, at_least: int) -> None:
        self.most = self._under_way = self._came = 0
        self._at_least = at_least
        self._changed = threading.Condition()

    def __call__(self, request: ScriptedRequest) -> Any:
        with self._changed:
            self._under_way += 1
            self._came += 1
            self.most = max(self.most, self._under_way)
            self._changed.notify_all()
            wait_s = 0.01 * (self._came % 3)
            self._changed.wait_for(lambda: self.most >= self._at_least, timeout=20)
        time.sleep(wait_s)
        with self._changed:
            self._under_way -= 1
        is_explanation = "sentences" in json.dumps(request.raw.get("response_format"))
        return Reply(json.dumps(WORDS if is_explanation else VERDICT), usage=(500, 50))


def runs_in(folder: Path, count: int) -> Path:
    told = "What does the ticket cost?"
    runs = [
        Trajectory(
            run_id=f"r{number}",
            task=told,
            steps=(
                Step(index=0, agent="user", content=f"{told} Number {number}."),
                Step(index=1, agent="clerk", content=f"It costs 75. That is the ticket with number {number}."),
            ),
            outcome=RunOutcome.FAILED,
            final_output="It costs 75.",
        )
        for number in range(count)
    ]
    path = folder / "runs.jsonl"
    path.write_text("".join(to_json(run) + "\n" for run in runs), encoding="utf-8")
    return path


def variables(llm: ScriptedLLM) -> dict[str, str]:
    return {
        "TRACER_HOOKS_JUDGE_MODEL": "m",
        "TRACER_HOOKS_JUDGE_BASE_URL": llm.base_url,
        "TRACER_HOOKS_STORE": "off",
    }


@pytest.mark.parametrize("explains", [False, True])
def test_diagnose_keeps_so_many_requests_under_way_and_prints_the_same(command: Command, explains: bool) -> None:
    runs_in(command.folder, 16)
    said = {}
    for at_once in (1, 8):
        server = Server(at_least=min(at_once, 5))  # 4 is what a judge has
        with ScriptedLLM(default=server) as llm:
            asked = ["diagnose", "runs.jsonl", "--attributor", "judge", "--concurrency", str(at_once), "--json"]
            done = command(*asked, *(["--explain"] if explains else []), **variables(llm))
            assert llm.calls == (32 if explains else 16)
        assert server.most == 1 if at_once == 1 else 4 < server.most <= 8
        assert done.code == 0, done.err
        said[at_once] = [{**one, "elapsed_s": 0} for one in done.json["results"]]
        assert all(one["step"] == 1 and ("explanation" in one) is explains for one in said[at_once])
    assert said[1] == said[8]
    assert [one["run_id"] for one in said[8]] == [f"r{number}" for number in range(16)]


def test_an_interrupt_leaves_at_once_and_nothing_is_sent_any_more(command: Command) -> None:
    runs_in(command.folder, 12)
    with ScriptedLLM(default=Reply("late", delay_s=100)) as llm:
        asked = [*command.argv, "diagnose", "runs.jsonl", "--attributor", "judge", "--concurrency", "4"]
        job = subprocess.Popen(
            asked, cwd=command.folder, env={**command.environment, **variables(llm)}, stderr=subprocess.PIPE, text=True
        )
        while llm.calls < 4:
            assert job.poll() is None, job.communicate()
            time.sleep(0.05)
        began = time.monotonic()
        os.kill(job.pid, signal.SIGINT)
        _, said = job.communicate(timeout=80)
        assert time.monotonic() - began < 60, "and not the 100 seconds that the answers take"
        assert llm.calls == 4
    assert job.returncode == 130
    assert "Traceback" not in said


def test_fewer_than_one_is_a_usage_error(command: Command) -> None:
    done = command("diagnose", str(runs_in(command.folder, 1)), "--concurrency", "0")
    assert done.code == 2
    assert "--concurrency" in done.err
