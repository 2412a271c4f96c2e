"""The course of a call without any team: which acts it asks for, and what an end before the end leaves behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks._api.conducting._acts import Act, Announce, AskCheck, CallTeam, Conclude, PrepareRetry, Reopen
from tracer_hooks._api.conducting._conductor import Conductor
from tracer_hooks._api.conducting._course import Course, Stage
from tracer_hooks._api.conducting._options import make_options
from tracer_hooks._api.conducting._session import Ended
from tracer_hooks._api.runs import TeamSource
from tracer_hooks.frameworks import RunResult, TeamCall
from tracer_hooks.frameworks.plain import PlainAdapter, PlainTeam
from tracer_hooks.schema import RunOutcome

from ._framework import Blame

OK, FAILED, UNKNOWN = RunOutcome.SUCCEEDED, RunOutcome.FAILED, RunOutcome.UNKNOWN


@tracer_hooks.agent(instructions="Be right.")
def solo(task: str) -> str:
    return "It is 41."


def course_of(*, streams: bool = False, **options: Any) -> Course:
    """A course at its beginning; nothing is called but by the test."""
    given = {"store": "off", "check": lambda result: False, "retries": 1, "attributor": Blame(("solo",)), **options}
    made = make_options(**given)
    conductor = Conductor(PlainAdapter(), TeamSource(), made)
    call = TeamCall(team=PlainTeam(solo, "solo"), method="run", args=("x",), task="x")
    found, act = conductor._begin(call, streams=streams)
    assert found is not None
    assert isinstance(act, CallTeam)
    found.first = act  # type: ignore[attr-defined]
    return found


def walk(course: Course, until: type | None = None) -> list[type]:
    """Carry out the acts, in synchronous code, up to one of the type ``until``; gives their types."""
    act: Act | None = course.first  # type: ignore[attr-defined]
    acts: list[type] = []
    while act is not None:
        acts.append(type(act))
        if until is not None and type(act) is until:
            break
        act = course.answer(act.now())
    return acts


ATTEMPT: list[type] = [CallTeam, AskCheck]
RETRY: list[type] = [PrepareRetry, Reopen]


def test_a_run_that_passes() -> None:
    course = course_of(check=lambda result: True)
    assert walk(course) == [*ATTEMPT, Conclude]
    assert course.stage is Stage.FINISHED
    assert course.value == "It is 41."


def test_a_run_that_fails_twice() -> None:
    course = course_of()
    assert walk(course) == [*ATTEMPT, *RETRY, *ATTEMPT, Conclude]
    assert [attempt.outcome for attempt in course.session.run.attempts] == [FAILED, FAILED]


def test_a_stream_announces_its_retry_and_without_leave_has_none() -> None:
    again = course_of(streams=True, retry_streams=True)
    assert walk(again) == [*ATTEMPT, PrepareRetry, Announce, Reopen, *ATTEMPT, Conclude]
    assert walk(course_of(streams=True)) == [*ATTEMPT, Conclude]


BROKEN_OFF = [
    (CallTeam, [UNKNOWN]),
    (AskCheck, [UNKNOWN]),
    (PrepareRetry, [FAILED]),
    (Announce, [FAILED]),
    (Reopen, [FAILED]),
    (Conclude, [FAILED, FAILED]),
]


@pytest.mark.parametrize(("at", "outcomes"), BROKEN_OFF, ids=lambda value: getattr(value, "__name__", ""))
@pytest.mark.parametrize("error", [asyncio.CancelledError(), GeneratorExit(), KeyboardInterrupt()], ids=repr)
def test_broken_off_at_each_act_it_records_the_calls_that_were_made(
    at: type, outcomes: list[RunOutcome], error: BaseException
) -> None:
    course = course_of(streams=True, retry_streams=True)
    walk(course, until=at)
    course.break_off(error)
    course.break_off(error)  # a second time changes nothing
    run = course.session.run
    assert course.stage is Stage.FINISHED
    assert [attempt.outcome for attempt in run.attempts] == outcomes
    assert run.wait(1) is run
    assert course.answer(None) is None
    assert [attempt.outcome for attempt in run.attempts] == outcomes


def test_a_repair_that_was_never_tried_is_no_trial() -> None:
    course = course_of()
    walk(course, until=Reopen)
    course.break_off(asyncio.CancelledError())
    run = course.session.run
    assert len(run.attempts) == 1
    assert run.repair is not None
    assert (run.repair.trials, run.repair.stopped) == ((), "the call was broken off")


def test_a_trial_that_was_broken_off_says_nothing() -> None:
    course = course_of()
    walk(course, until=Reopen)
    reopened = Reopen(course.session, course.first.opened).now()  # type: ignore[attr-defined]
    course.answer(reopened)
    course.break_off(asyncio.CancelledError())
    run = course.session.run
    assert [attempt.outcome for attempt in run.attempts] == [FAILED, UNKNOWN]
    assert run.repair is not None
    assert [trial.outcome for trial in run.repair.trials] == [UNKNOWN]
    assert run.repair.stopped == "how the run ended is not known: cancelled"
    assert not run.repair.recovered


@pytest.mark.parametrize("strict", ["", "1"])
def test_a_fault_of_ours_inside_an_attempt_does_not_fail_it(strict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STRICT", strict)
    course = course_of()

    def broken(*about: Any) -> Any:
        raise RuntimeError("our bug")

    monkeypatch.setattr(course.session, "is_run", broken)
    ended = Ended("It is 41.", RunResult(text="It is 41.", native="It is 41."))
    if strict:
        with pytest.raises(RuntimeError, match="our bug"):
            course.answer(ended)
    else:
        assert course.answer(ended) is None
    assert course.value == "It is 41."
    assert course.error is None
    assert course.stage is Stage.FINISHED
    assert course.session.run.wait(1).attempts == []


def test_what_the_team_raised_is_an_answer_and_not_an_exception() -> None:
    def broken(task: str) -> str:
        raise LookupError("no number")

    course = course_of(retries=0)
    course.session.call.team.__dict__["run"] = broken
    assert walk(course) == [CallTeam, Conclude]
    assert isinstance(course.error, LookupError)
    assert course.session.run.last.outcome_reason == "LookupError: no number"
