"""Another attempt with other instructions, or without; and who gets what in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks import RetryBoundary, Verdict
from tracer_hooks.repair import Failure, Repair, RepairTarget
from tracer_hooks.schema import RunOutcome

from ._framework import BenchAdapter, BenchTeam, Blame, run_of
from ._spans import Recording


class Teach:
    """Appends a lesson to the blamed agent's prompt; a new one at each call."""

    name = "teach"

    def __init__(self, *lessons: str) -> None:
        self._lessons = lessons or ("lesson",)
        self.asked: list[tuple[str | None, str | None]] = []

    def propose(self, failure: Failure, step: int | None) -> Repair | None:
        agent = failure.agent
        if step is not None or agent is None:
            return None
        lesson = self._lessons[min(len(self.asked), len(self._lessons) - 1)]
        told = failure.instructions(agent)
        self.asked.append((agent, told))
        text = f"{told} {lesson}"
        return Repair(strategy=self.name, target=RepairTarget.INSTRUCTIONS, agent=agent, text=text)


def learns(told: str, task: str) -> str:
    return "It is 42." if "lesson" in told else "It is 41."


def never(told: str, task: str) -> str:
    return f"It is 41 for {told!r}."


def options(*lessons: str, **more: Any) -> dict[str, Any]:
    return {"expected": "42", "retries": 1, "attributor": Blame(("solo",)), "repair": Teach(*lessons), **more}


# --- a factory -------------------------------------------------------------------------------------------------------
def factory(say: Any, built: list[Any], **opts: Any) -> Any:
    @tracer_hooks.hook(**opts)
    def build_team(prompts: Mapping[str, str] | None = None) -> BenchTeam:
        built.append(dict(prompts or {}))
        return BenchTeam(say, (prompts or {}).get("solo", "Be right."))

    return build_team


def test_instructions_that_help_serve_their_own_attempt_and_no_other(bench: BenchAdapter) -> None:
    built: list[Any] = []
    build = factory(learns, built, **options())
    team = build()
    for _ in range(2):
        assert team.run("x") == {"answer": "It is 42."}
        first, second = run_of(team).attempts
        assert (first.outcome, second.outcome) == (RunOutcome.FAILED, RunOutcome.SUCCEEDED)
        assert first.repair is None
        assert second.repair is not None
        assert (second.repair.agent, second.repair.text) == ("solo", "Be right. lesson")
        assert run_of(team).outcome is RunOutcome.SUCCEEDED
        assert run_of(team).trajectory.agents[0].instructions == "Be right. lesson"
        assert team.told == "Be right.", "the user's own team is as it was"
    assert build().told == "Be right.", "and so is the factory's next team"
    assert built == [{}, {"solo": "Be right. lesson"}, {"solo": "Be right. lesson"}, {}]


def test_every_attempt_begins_from_the_teams_own_instructions(bench: BenchAdapter) -> None:
    built: list[Any] = []
    build = factory(never, built, **options("one", "two", retries=2))
    team = build()
    assert team.run("x") == {"answer": "It is 41 for 'Be right.'."}, "the earliest among equals"
    run = run_of(team)
    assert run.repair is not None
    assert [trial.passed for trial in run.repair.trials] == [False, False]
    assert (run.repair.stopped, run.repair.recovered) == ("2 of 2 retries used", False)
    assert built == [{}, {"solo": "Be right. one"}, {"solo": "Be right. two"}]


async def test_async_calls_and_async_factories_retry_in_the_callers_loop(bench: BenchAdapter) -> None:
    loops: list[Any] = []

    @tracer_hooks.hook(**options())
    async def build_team(prompts: Any = None) -> BenchTeam:
        loops.append(asyncio.get_running_loop())
        return BenchTeam(learns, (prompts or {}).get("solo", "Be right."))

    team = await build_team()
    assert await team.arun("x") == {"answer": "It is 42."}
    assert loops == [asyncio.get_running_loop()] * 2


def test_prompts_of_the_user_stay_under_ours(bench: BenchAdapter) -> None:
    built: list[Any] = []
    build = factory(learns, built, **options())
    team = build({"solo": "Mine.", "other": "Yours."})
    team.run("x")
    assert built == [{"solo": "Mine.", "other": "Yours."}, {"solo": "Mine. lesson", "other": "Yours."}]


def test_a_factory_without_prompts_is_rewritten_on_the_team(bench: BenchAdapter) -> None:
    built: list[BenchTeam] = []

    @tracer_hooks.hook(**options())
    def build_team(told: str = "Be right.") -> BenchTeam:
        built.append(BenchTeam(learns, told))
        return built[-1]

    team = build_team("Mine.")
    assert team.run("x") == {"answer": "It is 42."}
    assert [one.told for one in built] == ["Mine.", "Mine."], "put back after the run"


def test_a_factory_that_cannot_build_again_costs_the_retry_alone(
    bench: BenchAdapter, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[Any] = []

    @tracer_hooks.hook(**options())
    def build_team(prompts: Any = None) -> BenchTeam:
        calls.append(prompts)
        if prompts:
            raise KeyError("solo")
        return BenchTeam(never)

    team = build_team()
    assert team.run("x") == {"answer": "It is 41 for 'Be right.'."}
    run = run_of(team)
    assert len(run.attempts) == 1
    assert run.repair is not None
    assert run.repair.stopped == "the team could not be made ready again (KeyError: 'solo')"
    assert len(caplog.messages) == 1


# --- a team and a function -------------------------------------------------------------------------------------------
def test_without_instructions_the_system_message_of_each_request_is_rewritten() -> None:
    @tracer_hooks.model
    def ask(messages: list[dict[str, str]]) -> str:
        return learns(messages[0]["content"], "")

    @tracer_hooks.agent(instructions="Be right.")
    def solo(task: str) -> str:
        return ask([{"role": "system", "content": "Be right."}, {"role": "user", "content": task}])

    solve = tracer_hooks.hook(lambda task: solo(task), **options())
    assert solve("x") == "It is 42."


# --- what the caller gets --------------------------------------------------------------------------------------------
def test_the_first_exception_comes_back_as_it_was_when_every_attempt_raises() -> None:
    errors: list[ValueError] = []

    def solve(task: str) -> str:
        errors.append(ValueError(f"number {len(errors) + 1}"))
        raise errors[-1]

    hooked = tracer_hooks.hook(solve, retries=2)
    with pytest.raises(ValueError, match="number 1") as caught:
        hooked("x")
    assert caught.value is errors[0]
    assert len(errors) == 3
    assert [attempt.error for attempt in run_of(hooked).attempts] == errors
    assert run_of(hooked).error is errors[0]


def test_a_result_is_better_than_an_exception_and_a_better_score_than_a_worse_one() -> None:
    answers: Iterator[Any] = iter([ValueError("broken"), "bad", "better", "worse"])
    scores = {"bad": 0.1, "better": 0.4, "worse": 0.2}

    def solve(task: str) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    hooked = tracer_hooks.hook(solve, check=lambda result: scores[result.text], retries=3)
    assert hooked("x") == "better"
    run = run_of(hooked)
    assert (run.best.number, run.last.number) == (3, 4)
    assert run.outcome_reason == "check: the check scored 0.4, below 0.5"


@pytest.mark.parametrize("score", [-5.0, float("nan"), float("-inf"), 99.0])
def test_a_score_out_of_range_puts_no_exception_before_a_result(score: float) -> None:
    answers: Iterator[Any] = iter([ValueError("broken"), "an answer"])

    def solve(task: str) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    hooked = tracer_hooks.hook(solve, check=lambda result: Verdict(passed=False, score=score), retries=1)
    assert hooked("x") == "an answer"


# --- streams ---------------------------------------------------------------------------------------------------------
def stream_team(**opts: Any) -> Any:
    @tracer_hooks.agent
    def solo(task: str) -> str:
        return learns(tracer_hooks.instructions("solo", "Be right."), task)

    @tracer_hooks.hook(**opts)
    def stream(task: str) -> Iterator[str]:
        yield from solo(task).split(" ")

    return stream


def has(number: str) -> Any:
    return lambda result: number in result.text


def test_a_failed_stream_is_diagnosed_and_not_repeated() -> None:
    stream = stream_team(**options(expected=None, check=has("42")))
    for _ in range(2):
        assert list(stream("x")) == ["It", "is", "41."]
        run = run_of(stream)
        assert len(run.attempts) == 1
        assert run.attribution is not None
        assert run.repair is not None
        assert run.repair.trials == ()
        assert "retry_streams=True" in run.repair.stopped


@pytest.mark.parametrize("closes", [False, True])
def test_retry_streams_go_on_after_a_boundary(closes: bool) -> None:
    seen = Recording()
    stream = stream_team(**options(expected=None, check=has("42"), retry_streams=True, tracer_provider=seen.provider))
    items = stream("x")
    before = [next(items) for _ in range(3)]
    boundary = next(items)
    assert before == ["It", "is", "41."]
    assert isinstance(boundary, RetryBoundary)
    assert (boundary.attempt, boundary.reason) == (2, "check: the check returned False")
    assert boundary.repair is not None
    assert boundary.repair.agent == "solo"
    if closes:
        items.close()
        assert len(run_of(stream).attempts) == 1
    else:
        assert list(items) == ["It", "is", "42."]
    log = run_of(stream).repair
    assert log is not None
    assert log.stopped == ("the call was broken off" if closes else "the run was recovered")
    assert not seen.open
    run_of(stream).wait(timeout=5)


def test_a_stream_that_raises_in_every_attempt_raises_the_last() -> None:
    errors: list[ValueError] = []

    @tracer_hooks.hook(retries=1, retry_streams=True)
    def stream(task: str) -> Iterator[str]:
        yield "a"
        errors.append(ValueError("broken"))
        raise errors[-1]

    items: list[Any] = []
    with pytest.raises(ValueError, match="broken") as caught:
        items.extend(stream("x"))
    assert caught.value is errors[-1]
    assert len(errors) == 2
