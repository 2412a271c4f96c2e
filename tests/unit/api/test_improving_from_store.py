"""Failures of production runs propose, and tasks that passed there join the trial."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracer_hooks
from tracer_hooks.errors import ConfigError
from tracer_hooks.improvement import Split

from ._sums import Writes, carry, heeds_carry, improved, is_right, numbers, options, tasks, team_builder

pytest.importorskip("gepa")

OLD = [task.text for task in tasks(12, seed=99)]


def produce(home: Path, texts: list[str] = OLD) -> None:
    """Runs of the team in production, hooked by its user."""
    team = tracer_hooks.hook(team_builder()(), check=is_right, store=home / "job.sqlite")
    for text in texts:
        team(text)
    tracer_hooks.last_run(team)
    tracer_hooks.unhook(team)


def test_failures_of_stored_runs_propose(tmp_path: Path) -> None:
    produce(tmp_path)
    failing = [text for text in OLD if not heeds_carry("", *numbers(text))]
    assert len(failing) >= 3
    produce(tmp_path, [task.text for task in Split.of(tasks()).accept])
    result = improved(tmp_path / "job", from_store=True)
    assert result.outcome == "accepted"
    assert result.baseline.runs == 0
    assert result.provenance["failures"] == len(failing), "what is read of tasks that accept would be no evidence"
    assert result.tasks["passed"] == len(OLD) - len(failing)
    again = improved(tmp_path / "job", Writes("nothing new is asked"), from_store=True)
    assert (again.outcome, again.texts, again.runs) == (result.outcome, result.texts, result.runs)


def test_later_runs_do_not_change_a_job_that_was_begun(tmp_path: Path) -> None:
    produce(tmp_path)
    first = improved(tmp_path / "job", from_store=True)
    produce(tmp_path, [task.text for task in tasks(5, seed=7)])
    again = improved(tmp_path / "job", from_store=True)
    assert (again.tasks, again.provenance["runs"]) == (first.tasks, first.provenance["runs"])
    with pytest.raises(ConfigError, match="holds an improvement with other tasks or options"):
        improved(tmp_path / "job")


def test_tasks_that_passed_in_stored_runs_are_in_the_trial(tmp_path: Path) -> None:
    produce(tmp_path)
    result = improved(tmp_path / "job", carry())
    assert result.tasks["passed"] > 0
    stored = {pair.task for pair in result.pairs if pair.formerly_passed and pair.task.startswith("passed-")}
    assert stored


def test_stored_tasks_that_the_check_cannot_judge_are_left_out(tmp_path: Path) -> None:
    produce(tmp_path)
    known = {task.text for task in tasks()}

    def only_of_the_file(result: tracer_hooks.RunResult, task: str) -> tracer_hooks.Verdict:
        if task not in known:
            raise KeyError(task)
        return is_right(result, task)

    result = improved(tmp_path / "job", carry(), check=only_of_the_file)
    assert result.tasks["passed"] == 0
    assert result.outcome == "accepted"


def test_a_store_without_a_failure_of_this_team(tmp_path: Path) -> None:
    produce(tmp_path, [text for text in OLD if heeds_carry("", *numbers(text))])
    with pytest.raises(ConfigError, match="holds no failed run of the team 'sums'"):
        improved(tmp_path / "job", from_store=True)


def test_runs_of_the_job_itself_are_not_stored(tmp_path: Path) -> None:
    from tracer_hooks.store import RunStore

    produce(tmp_path)
    improved(tmp_path / "job", options=options(metric_calls=40))
    with RunStore(tmp_path / "job.sqlite") as runs:
        assert len(runs.list(limit=1000)) == len(OLD)
