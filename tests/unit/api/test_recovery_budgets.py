"""What recovering a call may cost, when it waits, and what is said of it in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks import RunOutcome
from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.repair import RepairTarget, RetryPolicy
from tracer_hooks.schema import Attribution, Usage
from tracer_hooks.telemetry import ChatReply

from ._framework import Blame
from ._office import At, Office, always_wrong, hooked, log_of, second_time


def failing_inner(calls: list[str], retries: Any) -> Any:
    @tracer_hooks.hook(check=lambda result: False, retries=retries, repair="plain")
    def inner(task: str) -> str:
        calls.append("inner")
        return "no"

    return inner


# --- budgets ---------------------------------------------------------------------------------------------------------
def test_tokens_of_writing_a_repair_count() -> None:
    writer = At(1, RepairTarget.TASK, text="wrong", usage=Usage(input_tokens=1_000))
    solve = hooked(Office(always_wrong), repair=writer, retries=RetryPolicy(max_retries=9, max_tokens=1_000))
    solve("x")
    assert len(log_of(solve).trials) == 1
    assert log_of(solve).stopped == "1030 of 1000 tokens used"


def test_money_is_bounded() -> None:
    policy = RetryPolicy(max_retries=9, max_cost=0.05, input_price=1_000, output_price=1_000)
    solve = hooked(Office(always_wrong), repair="plain", retries=policy)
    solve("x")
    assert len(log_of(solve).trials) == 2
    assert log_of(solve).stopped == "0.09 of 0.05 spent"


def test_nested_hooks_share_one_budget() -> None:
    calls: list[str] = []

    inner = failing_inner(calls, 2)

    @tracer_hooks.hook(check=lambda result: False, retries=2, repair="plain")
    def outer(task: str) -> str:
        calls.append("outer")
        return inner(task)

    outer("x")
    assert calls.count("inner") + calls.count("outer") == 4, "two runs and two retries, and not nine"
    assert log_of(inner).stopped == "2 of 2 retries used"
    assert log_of(outer).stopped == "2 of 2 retries used"


def test_an_outer_hook_that_was_not_asked_to_retry_bounds_nothing() -> None:
    calls: list[str] = []

    inner = failing_inner(calls, 2)
    tracer_hooks.hook(lambda task: inner(task))("x")
    assert calls == ["inner"] * 3


def test_the_depth_is_bounded() -> None:
    calls: list[str] = []

    inner = failing_inner(calls, RetryPolicy(max_retries=1, max_depth=1))
    tracer_hooks.hook(lambda task: inner(task))("x")
    assert calls == ["inner"]
    assert log_of(inner).stopped == "the team runs inside 1 other hooked ones, and max_depth is 1"


class Outage(Blame):
    def attribute(self, trajectory: Any, *, reference: str | None = None) -> Attribution:
        return Attribution(run_id=trajectory.run_id, abstained=True, abstained_reason="environment fault")


def test_a_fault_of_the_environment_is_waited_out_and_not_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    answers: Iterator[Any] = iter([TimeoutError("no answer"), TimeoutError("no answer"), "42"])

    def solve(task: str) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    strategy = At(1, RepairTarget.TASK, text="x")
    team = tracer_hooks.hook(solve, expected="42", retries=3, attributor=Outage(), repair=strategy)
    assert team("x") == "42"
    assert [0.5 <= waited[0] <= 1, 1 <= waited[1] <= 2] == [True, True]
    assert [trial.repair.is_plain for trial in log_of(team).trials] == [True, True]


class OutageOrSolver(Blame):
    """Blames nobody for a time-out, and else the solver."""

    def attribute(self, trajectory: Any, *, reference: str | None = None) -> Attribution:
        kind: Blame = Outage() if "TimeoutError" in (trajectory.outcome_reason or "") else Blame(("solver",))
        return kind.attribute(trajectory)


def in_turn(*answers: Office | Exception) -> Callable[[str], str]:
    """A team that answers, or raises, one after the other."""
    left = iter(answers)

    def solve(task: str) -> str:
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer(task)

    return solve


def test_what_fails_on_the_environment_teaches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    office = Office(always_wrong)
    solve = in_turn(office, TimeoutError("no answer"), office)
    strategies = ["resample", "plain"]
    team = tracer_hooks.hook(
        solve, expected="42", retries=2, attributor=OutageOrSolver(), repair=strategies, store="off"
    )
    team("x")
    assert [trial.repair.resume_from for trial in log_of(team).trials] == [1, None], "the first one's turn was used"


def test_tokens_that_no_model_reports_are_estimated_and_it_is_said() -> None:
    class Silent(Office):
        def ask(self, agent: str, messages: list[dict[str, str]]) -> ChatReply:
            return ChatReply(content=super().ask(agent, messages).content)

    policy = RetryPolicy(max_retries=9, max_tokens=40)
    team = hooked(Silent(always_wrong), retries=policy, repair="plain")
    team("x " * 40)
    log = log_of(team)
    assert len(log.trials) == 1
    assert log.stopped.startswith("about ")
    assert "the model reports no usage" in log.stopped
    assert log.usage.total >= 40


def test_tokens_that_cannot_even_be_estimated_allow_one_retry_and_it_is_said() -> None:
    class Silent(Office):
        def ask(self, agent: str, messages: list[dict[str, str]]) -> ChatReply:
            return ChatReply(content=super().ask(agent, messages).content)

    policy = RetryPolicy(max_retries=9, max_cost=1, input_price=1)
    without = CaptureConfig(record=ContentCapture.OFF)
    team = hooked(Silent(always_wrong), retries=policy, repair="plain", capture=without)
    team("x")
    assert len(log_of(team).trials) == 1
    assert "the bound cannot be kept" in log_of(team).stopped


async def test_waiting_lets_the_event_loop_go_on_and_can_be_cancelled() -> None:
    async def solve(task: str) -> str:
        raise TimeoutError("no answer")

    team = tracer_hooks.hook(solve, retries=RetryPolicy(max_retries=1, backoff_s=30), attributor=Outage())
    task = asyncio.create_task(team("x"))
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    log = log_of(team)
    assert (log.trials, log.stopped) == ((), "the call was broken off")


# --- what is said ----------------------------------------------------------------------------------------------------
def test_on_attempt_is_told_of_every_attempt_and_may_raise(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[tuple[int, RunOutcome, bool]] = []

    def on_attempt(attempt: tracer_hooks.Attempt) -> None:
        seen.append((attempt.number, attempt.outcome, attempt.repair is None))
        raise KeyError("the user's")

    solve = hooked(Office(second_time), on_attempt=on_attempt)
    assert solve("x") == "It is 42."
    assert seen == [(1, RunOutcome.FAILED, True), (2, RunOutcome.SUCCEEDED, False)]
    assert len([line for line in caplog.messages if "on_attempt raised KeyError" in line]) == 2


def test_an_outage_first_takes_no_rung_from_the_failure_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    office = Office(always_wrong)
    solve = in_turn(TimeoutError("no answer"), office, office, office)

    def is_right(result: Any) -> tracer_hooks.Verdict:
        return tracer_hooks.Verdict(passed=False, reason="it is too small")

    team = tracer_hooks.hook(solve, check=is_right, retries=3, attributor=OutageOrSolver(), store="off")
    team("x")
    strategies = [trial.repair.strategy for trial in log_of(team).trials]
    assert strategies == ["from_scratch", "from_scratch", "feedback_in_task"], "a pause, then the ladder from its start"
