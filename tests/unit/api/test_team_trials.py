"""Runs of an ``improve`` job: what the surroundings failed, what nobody judged, and teams that are there once."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.budget import CostCap, Spending
from tracer_hooks.diagnosis import ENVIRONMENT_FAULT
from tracer_hooks.errors import BudgetSpentError, ReplayError
from tracer_hooks.improvement import ImproveOptions, PromptedTeam, TeamTrials
from tracer_hooks.journal import Journal
from tracer_hooks.schema import Attribution, Trajectory, Usage
from tracer_hooks.tasks import SuiteTask

from ._framework import BenchAdapter, BenchTeam

TASK = SuiteTask(id="t1", text="six times seven", reference="42")


class Outage:
    """Lays every failure on the surroundings."""

    name = "outage"

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        return Attribution(run_id=trajectory.run_id, abstained=True, abstained_reason=ENVIRONMENT_FAULT)


def trials(target: Any, folder: Path) -> TeamTrials:
    options = ImproveOptions(attributor=Outage(), backoff_s=0.0, workers=2)
    return TeamTrials(PromptedTeam(target), Journal(folder), Spending(), options)


def test_a_run_that_the_surroundings_failed_is_made_again(tmp_path: Path) -> None:
    answers = iter(["no route", "no route", "It is 42."])
    asked: list[str] = []

    def solve(task: str) -> str:
        asked.append(task)
        return next(answers)

    (run,) = trials(solve, tmp_path).run([TASK], {})
    assert run.passed
    assert len(asked) == 3
    assert len(Journal(tmp_path)) == 1, "only what the team did itself is kept"


def test_failures_are_diagnosed_beside_a_team_that_makes_one_run_at_a_time(tmp_path: Path) -> None:
    meeting, inside = threading.Barrier(3), threading.Lock()

    class Slow(Outage):
        """Answers when three runs are asked about at the same time."""

        concurrency = 3

        def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
            meeting.wait(20)
            return Attribution(run_id=trajectory.run_id, abstained=True, abstained_reason=trajectory.task)

    def solve(task: str) -> str:
        assert inside.acquire(blocking=False), "no two runs of the team at the same time"
        time.sleep(0.01)
        inside.release()
        return "no idea"

    options = ImproveOptions(attributor=Slow(), workers=1)
    made = TeamTrials(PromptedTeam(solve), Journal(tmp_path), Spending(CostCap(max_runs=6)), options)
    tasks = [TASK.model_copy(update={"id": f"t{number}", "text": f"task {number}"}) for number in range(6)]
    runs = made.run(tasks, {})
    assert [run.task for run in runs] == [task.id for task in tasks]
    assert [run.attribution and run.attribution.abstained_reason for run in runs] == [task.text for task in tasks]
    with pytest.raises(BudgetSpentError, match="the cap of 6 runs"):
        made.run(tasks, {})


def test_tokens_of_the_judge_count_also_for_tries_that_the_surroundings_failed(tmp_path: Path) -> None:
    class Judge(Outage):
        def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
            found = super().attribute(trajectory)
            return found.model_copy(update={"usage": Usage(input_tokens=70, output_tokens=30)})

    answers = iter(["no route", "no route", "It is 42."])
    spending = Spending(CostCap(max_tokens=200))
    options = ImproveOptions(attributor=Judge(), backoff_s=0.0)
    made = TeamTrials(PromptedTeam(lambda task: next(answers)), Journal(tmp_path), spending, options)
    (run,) = made.run([TASK], {})
    assert (run.usage.total, spending.tokens) == (200, 200)
    with pytest.raises(BudgetSpentError, match="the cap of 200 tokens"):
        made.run([TASK], {})


def test_surroundings_that_fail_again_and_again_end_the_job(tmp_path: Path) -> None:
    def solve(task: str) -> str:
        raise ConnectionError("no route to the model")

    with pytest.raises(ReplayError, match=r"on the task 't1' it was not the team .* 3 times: .*no route to the model"):
        trials(solve, tmp_path).run([TASK], {})
    assert len(Journal(tmp_path)) == 0


def test_a_run_that_was_interrupted_is_neither_good_nor_bad(tmp_path: Path, bench: BenchAdapter) -> None:
    bench.interrupts = True
    with pytest.raises(ReplayError, match="nothing says whether the run on the task 't1' succeeded"):
        trials(BenchTeam(lambda told, task: "It is 42."), tmp_path).run([TASK], {})


def test_a_team_object_works_on_one_task_at_a_time(tmp_path: Path, bench: BenchAdapter) -> None:
    at_work: list[str] = []

    def say(told: str, task: str) -> str:
        at_work.append(task)
        assert len(at_work) == 1
        at_work.remove(task)
        return "It is 42."

    team = BenchTeam(say)
    tasks = [TASK.model_copy(update={"id": f"t{number}", "text": f"task {number}"}) for number in range(4)]
    runs = trials(team, tmp_path).run(tasks, {})
    assert [run.passed for run in runs] == [True] * 4
    assert team.resets == 4
