"""The loop of a call without any team: which actions it asks for, and what an end before the end leaves behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.frameworks import RunResult, TeamCall
from tracer_hooks.frameworks.plain import PlainAdapter, PlainTeam
from tracer_hooks.runtime import TeamSource
from tracer_hooks.runtime._attempt_loop import (
    Action,
    AttemptLoop,
    CallTeam,
    Stage,
)
from tracer_hooks.runtime._call_context import CallOutcome
from tracer_hooks.runtime._options import make_options
from tracer_hooks.runtime._team_host import TeamHost
from tracer_hooks.schema import RunOutcome

from ._framework import Blame

OK, FAILED, UNKNOWN = RunOutcome.SUCCEEDED, RunOutcome.FAILED, RunOutcome.UNKNOWN


@tracer_hooks.agent(instructions="Be right.")
def solo(task: str) -> str:
    return "It is 41."


def loop_of(*, streams: bool = False, **options: Any) -> AttemptLoop:
    """A loop at its beginning; nothing is called but by the test."""
    given = {"store": "off", "check": lambda result: False, "retries": 1, "attributor": Blame(("solo",)), **options}
    made = make_options(**given)
    host = TeamHost(PlainAdapter(), TeamSource(), made)
    call = TeamCall(team=PlainTeam(solo, "solo"), method="run", args=("x",), task="x")
    found, action = host._begin(call, streams=streams)
    assert found is not None
    assert isinstance(action, CallTeam)
    found.first = action  # type: ignore[attr-defined]
    return found


def walk(loop: AttemptLoop, until: str) -> None:
    """Carry out the actions, in synchronous code, up to the first that does what ``until`` says."""
    action: Action | None = loop.first  # type: ignore[attr-defined]
    while action is not None and getattr(action, "what", "call the team") != until:
        action = loop.answer(action.now())
    assert action is not None


BROKEN_OFF = [
    ("call the team", [UNKNOWN]),
    ("ask the check", [UNKNOWN]),
    ("prepare a retry", [FAILED]),
    ("reopen", [FAILED]),
    ("conclude", [FAILED, FAILED]),
]


@pytest.mark.parametrize(("at", "outcomes"), BROKEN_OFF)
@pytest.mark.parametrize("error", [asyncio.CancelledError(), GeneratorExit(), KeyboardInterrupt()], ids=repr)
def test_broken_off_at_each_act_it_records_the_calls_that_were_made(
    at: str, outcomes: list[RunOutcome], error: BaseException
) -> None:
    loop = loop_of(streams=True, retry_streams=True)
    walk(loop, until=at)
    loop.break_off(error)
    loop.break_off(error)  # a second time changes nothing
    run = loop.context.run
    assert loop.stage is Stage.FINISHED
    assert [attempt.outcome for attempt in run.attempts] == outcomes
    assert run.wait(1) is run
    assert loop.answer(None) is None
    assert [attempt.outcome for attempt in run.attempts] == outcomes


@pytest.mark.parametrize("strict", ["", "1"])
def test_a_fault_of_ours_inside_an_attempt_does_not_fail_it(strict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STRICT", strict)
    loop = loop_of()

    def broken(*about: Any) -> Any:
        raise RuntimeError("our bug")

    monkeypatch.setattr(loop.context, "is_run", broken)
    ended = CallOutcome("It is 41.", RunResult(text="It is 41.", native="It is 41."))
    if strict:
        with pytest.raises(RuntimeError, match="our bug"):
            loop.answer(ended)
    else:
        assert loop.answer(ended) is None
    assert loop.value == "It is 41."
    assert loop.error is None
    assert loop.stage is Stage.FINISHED
    assert loop.context.run.wait(1).attempts == []
