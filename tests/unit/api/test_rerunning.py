"""Runs that are made again: of team objects, of factories, of functions and streams, and what cannot be judged."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.errors import AdapterError, CheckError, ConfigError
from tracer_hooks.rerun._targets import rerunner
from tracer_hooks.schema import RunOutcome

from ._framework import BenchAdapter, BenchTeam, run_of
from ._spans import Recording, attributes


def right(told: str, task: str) -> str:
    return "It is 42."


def plain(task: str) -> str:
    return "It is 42."


async def coroutine(task: str) -> str:
    return "It is 42."


def generator(task: str) -> Iterator[str]:
    yield "It is "
    yield "42."


async def async_generator(task: str) -> AsyncIterator[str]:
    yield "It is "
    yield "42."


@pytest.mark.parametrize("target", [plain, coroutine, generator, async_generator])
def test_every_kind_of_function_is_run_again(target: Callable[..., Any]) -> None:
    for trial in (
        rerunner(target, "x", expected="42").run(),
        rerunner(tracer_hooks.hook(target), "x", expected="42").run(),
    ):
        assert trial.passed
        assert trial.trajectory.final_output == "It is 42."


def test_a_function_of_streams_that_raises_is_a_failed_run() -> None:
    def breaks(task: str) -> Iterator[str]:
        yield "It is "
        raise ValueError("broken")

    trial = rerunner(breaks, "x", expected="42").run()
    assert (trial.trajectory.outcome, trial.trajectory.outcome_reason) == (RunOutcome.FAILED, "ValueError: broken")


def test_a_team_object_is_reset_before_each_run_and_left_as_it_was(bench: BenchAdapter) -> None:
    team = BenchTeam(right)
    before = dict(vars(team))
    runner = rerunner(team, "x", expected="42")
    assert runner.is_shared
    assert [runner.run().passed for _ in range(2)] == [True, True]
    assert team.resets == 2
    assert dict(vars(team)) == {**before, "resets": 2}


def test_a_factory_builds_a_team_for_each_run(bench: BenchAdapter) -> None:
    built: list[BenchTeam] = []

    def build_team() -> BenchTeam:
        built.append(BenchTeam(right))
        return built[-1]

    runner = rerunner(build_team, "x", expected="42")
    assert not runner.is_shared
    assert [runner.run().passed for _ in range(2)] == [True, True]
    assert len(built) == 2
    assert all(team.resets == 0 for team in built)


def test_a_run_whose_team_is_gone_says_how_to_run_it_again(bench: BenchAdapter) -> None:
    team = tracer_hooks.hook(BenchTeam(right), expected="42")
    team.run("six times seven")
    run = run_of(team)
    assert run.again is not None
    again = run.again()
    assert again.run().passed
    del team
    gc.collect()
    with pytest.raises(AdapterError, match=r"the team of the task 'six times seven' is gone.*pass build_team="):
        again.run()


@pytest.mark.parametrize(
    ("check", "why"),
    [
        (lambda result: "yes", "the check returned 'yes'"),
        (lambda result: None, r"the check returned None; did it forget to return\?"),
        (lambda result: result["x"], "the check raised TypeError: "),
    ],
)
def test_a_run_that_nobody_can_judge_is_neither_passed_nor_failed(check: Any, why: str) -> None:
    seen = Recording()
    hooked = tracer_hooks.hook(plain, check=check, tracer_provider=seen.provider)
    with pytest.raises(CheckError, match=f"a run cannot be judged: ({why})"):
        rerunner(hooked, "x").run()
    assert attributes(seen.root)["tracer_hooks.run.outcome"] == "unknown"


def test_an_interrupt_of_the_process_ends_the_run() -> None:
    def interrupted(task: str) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rerunner(interrupted, "x", expected="42").run()


def test_runs_are_not_made_again_where_no_content_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_RECORD", "off")
    with pytest.raises(ConfigError, match=r"expected 'full'.*TRACER_HOOKS_RECORD=full"):
        rerunner(plain, "x", expected="42")
