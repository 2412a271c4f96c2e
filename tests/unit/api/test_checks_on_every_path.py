"""What a check may return means the same on every path that a call can take."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy
import pytest

import tracer_hooks
from tracer_hooks.schema import RunOutcome

OK, FAILED, UNKNOWN = RunOutcome.SUCCEEDED, RunOutcome.FAILED, RunOutcome.UNKNOWN


@tracer_hooks.agent
def solo(task: str) -> str:
    return "It is 42."


def sync(hook: Callable[[Any], Any]) -> tracer_hooks.TeamRun | None:
    def office(task: str) -> str:
        return solo(task)

    hooked = hook(office)
    assert hooked("x") == "It is 42."
    return tracer_hooks.last_run(hooked)


def awaited(hook: Callable[[Any], Any]) -> tracer_hooks.TeamRun | None:
    async def office(task: str) -> str:
        return solo(task)

    hooked = hook(office)
    assert asyncio.run(hooked("x")) == "It is 42."
    return tracer_hooks.last_run(hooked)


def stream(hook: Callable[[Any], Any]) -> tracer_hooks.TeamRun | None:
    def office(task: str) -> Iterator[str]:
        yield solo(task)

    hooked = hook(office)
    assert list(hooked("x")) == ["It is 42."]
    return tracer_hooks.last_run(hooked)


def astream(hook: Callable[[Any], Any]) -> tracer_hooks.TeamRun | None:
    async def office(task: str) -> AsyncIterator[str]:
        yield solo(task)

    hooked = hook(office)

    async def read() -> list[str]:
        return [item async for item in hooked("x")]

    assert asyncio.run(read()) == ["It is 42."]
    return tracer_hooks.last_run(hooked)


def raising(result: Any) -> bool:
    raise LookupError("no total")


CASES: list[tuple[Any, RunOutcome, str]] = [
    (lambda result: True, OK, ""),
    (lambda result: numpy.bool_(False), FAILED, "returned False"),
    (lambda result: re.search("42", result.text), OK, ""),
    (lambda result: None, UNKNOWN, "returned None; did it forget to return?"),
    (lambda result: 0.5, OK, ""),
    (lambda result: 1.01, UNKNOWN, "returned 1.01, expected a bool"),
    (lambda result: Fraction(10**400), UNKNOWN, "expected a bool"),
    (lambda result: "no, 32 is wrong", UNKNOWN, "returned 'no, 32 is wrong', expected a bool"),
    (lambda result: object(), UNKNOWN, "expected a bool"),
    (raising, UNKNOWN, "the check raised LookupError"),
]


@pytest.mark.parametrize("path", [sync, awaited, stream, astream])
@pytest.mark.parametrize(("check", "outcome", "reason"), CASES)
def test_a_check(
    path: Callable[[Callable[[Any], Any]], tracer_hooks.TeamRun | None], check: Any, outcome: RunOutcome, reason: str
) -> None:
    run = path(lambda office: tracer_hooks.hook(office, check=check, retries=1, store="off", diagnose=False))
    assert run.outcome is outcome
    assert reason in (run.outcome_reason or "")
    retried = outcome is FAILED and path in (sync, awaited)
    assert [attempt.outcome for attempt in run.attempts] == [outcome] * (2 if retried else 1)


@pytest.mark.parametrize("path", [sync, awaited, stream, astream])
@pytest.mark.parametrize("expected", [{"another task": "42"}, raising])
def test_an_expected_answer_that_is_not_there(
    path: Callable[[Callable[[Any], Any]], tracer_hooks.TeamRun | None], expected: Any, caplog: pytest.LogCaptureFixture
) -> None:
    run = path(lambda office: tracer_hooks.hook(office, expected=expected, retries=1, store="off"))
    assert (run.outcome, len(run.attempts)) == (UNKNOWN, 1)
    assert (run.outcome_reason or "").startswith("expected= ")
    assert len(caplog.messages) == 1
    decided = path(lambda office: tracer_hooks.hook(office, expected=expected, check=lambda result: True, store="off"))
    assert decided.outcome is OK
