"""What decides how a run ended, and what its exported root span says."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncIterator
from fractions import Fraction
from typing import Any, cast

import numpy
import pytest
from opentelemetry.trace import StatusCode

import tracer_hooks
from tracer_hooks import Verdict, semconv
from tracer_hooks.frameworks import RunResult
from tracer_hooks.schema import RunOutcome

from ._framework import BenchAdapter, BenchTeam, run_of
from ._spans import Recording, attributes

OK, FAILED, UNKNOWN = RunOutcome.SUCCEEDED, RunOutcome.FAILED, RunOutcome.UNKNOWN
WANTED = "expected a bool, a score from 0 to 1, or a Verdict"


def judged(check: Any = None, answer: Any = "It is 42.", **options: Any) -> tuple[RunOutcome, str | None]:
    run = tracer_hooks.run(lambda task: answer, "six times seven", check=check, **options)
    return run.outcome, run.outcome_reason


async def acheck(result: RunResult) -> bool:
    return "42" in result.text


async def acheck_fails(result: RunResult, task: str) -> Verdict:
    await asyncio.sleep(0)
    return Verdict(passed=False, reason=f"not {task}")


def asserts(result: RunResult) -> bool:
    if "43" not in result.text:
        raise AssertionError("43 is missing")  # pytest rewrites the texts of assert statements
    return True


def asserts_without_text(result: RunResult) -> bool:
    raise AssertionError


def raises(result: RunResult) -> bool:
    raise KeyError("total")


def is_right(result: RunResult) -> bool:
    return False


class Score(float):
    """A number of the user's own, which can be neither compared nor shown."""

    def __ge__(self, other: Any) -> bool:
        raise TypeError("compare totals")

    def __repr__(self) -> str:
        raise TypeError("no text")


class Judge:
    def __call__(self, result: RunResult, task: str) -> bool:
        return task == "six times seven" and result.native == "It is 42."


@pytest.mark.parametrize(
    ("check", "outcome", "reason"),
    [
        (lambda result: True, OK, None),
        (lambda result: False, FAILED, "check: the check returned False"),
        (is_right, FAILED, "check: is_right returned False"),
        (lambda result: None, UNKNOWN, "the check returned None; did it forget to return?"),
        (lambda result: re.search("42", result.text), OK, None),
        (lambda result: "42" in result, OK, None),
        (lambda result: "43" in result, FAILED, "check: the check returned False"),
        (lambda result: math.nan, UNKNOWN, f"the check returned nan, {WANTED}"),
        (lambda result: 1.5, UNKNOWN, f"the check returned 1.5, {WANTED}"),
        (lambda result: -1, UNKNOWN, f"the check returned -1, {WANTED}"),
        (lambda result: Score(), UNKNOWN, f"the check returned a Score whose repr() raises, {WANTED}"),
        (lambda result: "yes", UNKNOWN, f"the check returned 'yes', {WANTED}"),
        (lambda result: [], UNKNOWN, f"the check returned [], {WANTED}"),
        (lambda result: numpy.array([1, 2]), UNKNOWN, f"the check returned array([1, 2]), {WANTED}"),
        (lambda result, task: "42" in result.text and "seven" in task, OK, None),
        (lambda *both: len(both) == 2, OK, None),
        (lambda result, task="other": task == "six times seven", OK, None),
        (lambda result: 0.5, OK, None),
        (lambda result: 0.25, FAILED, "check: the check scored 0.25, below 0.5"),
        (lambda result: 1, OK, None),
        (lambda result: 0, FAILED, "check: the check scored 0, below 0.5"),
        (lambda result: numpy.float32(0.25), FAILED, "check: the check scored 0.25, below 0.5"),
        (lambda result: numpy.bool_(True), OK, None),
        (lambda result: Fraction(1, 4), FAILED, "check: the check scored 0.25, below 0.5"),
        (lambda result: Verdict(passed=True), OK, None),
        (lambda result: Verdict(passed=False, reason="no total"), FAILED, "check: no total"),
        (lambda result: Verdict(passed=False), FAILED, "check: not passed"),
        (
            lambda result: Verdict(passed=True, score=cast(Any, "0.9")),
            UNKNOWN,
            f"the check returned a Verdict with passed=True and score='0.9', {WANTED}",
        ),
        (
            lambda result: Verdict(passed=True, score=7),
            UNKNOWN,
            f"the check returned a Verdict with passed=True and score=7, {WANTED}",
        ),
        (
            lambda result: Verdict(passed=cast(Any, "no")),
            UNKNOWN,
            f"the check returned a Verdict with passed='no' and score=None, {WANTED}",
        ),
        (Judge(), OK, None),
        (acheck, OK, None),
        (acheck_fails, FAILED, "check: not six times seven"),
        (asserts, FAILED, "check: 43 is missing"),
        (asserts_without_text, FAILED, "check: an assertion of asserts_without_text does not hold"),
        (raises, UNKNOWN, "the check raised KeyError"),
    ],
)
def test_checks(check: Any, outcome: RunOutcome, reason: str | None) -> None:
    assert judged(check) == (outcome, reason)


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (lambda result: object, f"the check returned <class 'object'>, {WANTED}; "),
        (lambda result: None, "the check returned None; did it forget to return? "),
        (raises, "raises raised KeyError: 'total', on the task 'a'; "),
    ],
)
def test_what_decides_nothing_is_said_once_and_held_against_nobody(
    check: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[str] = []
    told: list[tracer_hooks.TeamRun] = []

    @tracer_hooks.hook(check=check, retries=3, on_failure=told.append)
    def team(task: str) -> str:
        asked.append(task)
        return "fine"

    assert [team("a"), team("b")] == ["fine", "fine"]
    run = run_of(team)
    assert (asked, told, run.attribution, run.repair) == (["a", "b"], [], None, None)
    assert (run.outcome, run.trajectory.outcome) == (UNKNOWN, UNKNOWN)
    assert "total" not in f"{run.outcome_reason} {run.trajectory.outcome_reason}"
    judged(asserts)  # a verdict, of which nothing is said
    assert [line.partition("he outcome of such a run is not known")[0][:-1] for line in caplog.messages] == [said]


@pytest.mark.parametrize("kind", [TimeoutError, asyncio.CancelledError])
async def test_a_timeout_or_cancellation_within_the_check_is_not_the_teams(kind: type[BaseException]) -> None:
    async def slow(result: RunResult) -> bool:
        raise kind

    async def team(task: str) -> str:
        return "It is 42."

    runs = await asyncio.gather(*(tracer_hooks.arun(team, "x", check=slow, retries=1) for _ in range(2)))
    runs.append(await asyncio.to_thread(tracer_hooks.run, lambda task: "It is 42.", "x", check=slow, retries=1))
    for run in runs:
        assert (run.outcome, run.outcome_reason) == (UNKNOWN, f"the check raised {kind.__name__}")
        assert len(run.attempts) == 1


async def test_an_async_check_is_asked_in_sync_code_inside_a_running_loop() -> None:
    async def broken(result: RunResult) -> bool:
        raise KeyError("total")

    assert judged(acheck) == (OK, None)
    assert judged(broken) == (UNKNOWN, "the check raised KeyError")


async def test_a_sync_and_an_async_check_in_async_code() -> None:
    async def team(task: str) -> str:
        return "It is 41."

    for check in (acheck, lambda result: "42" in result.text):
        assert (await tracer_hooks.arun(team, "x", check=check)).outcome is FAILED


# --- the expected answer ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("expected", "answer", "outcome"),
    [
        ("42", "It is 42.", OK),
        ("42", "It is 421.", FAILED),
        ("42", "It is 142", FAILED),
        ("Forty  Two", "it is forty\ntwo!", OK),
        ({"six times seven": "42"}, "It is 41.", FAILED),
        ({"six times seven": 42}, "It is 42.", OK),
        ({"another": "42"}, "It is 41.", UNKNOWN),
        (lambda task: "42" if "seven" in task else None, "It is 41.", FAILED),
        (lambda task: None, "It is 41.", UNKNOWN),
    ],
)
def test_expected(expected: Any, answer: str, outcome: RunOutcome) -> None:
    assert judged(expected=expected, answer=answer)[0] is outcome


def test_the_check_wins_over_the_expected_answer_which_is_kept() -> None:
    run = tracer_hooks.run(lambda task: "41", "x", expected="42", check=lambda result: True)
    assert run.outcome is OK
    assert run.trajectory.reference == "42"


# --- no check --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("answer", [None, "", "  \n"])
def test_no_answer_is_a_failure(answer: Any) -> None:
    assert judged(answer=answer) == (FAILED, "no answer")


def test_stop_reasons(bench: BenchAdapter) -> None:
    bench.stop_reason = "max turns"
    team = BenchTeam(lambda told, task: task)

    def ended(task: str, **options: Any) -> tuple[RunOutcome, str | None]:
        run = tracer_hooks.run(BenchTeam(team.say), task, **options)
        return run.outcome, run.outcome_reason

    assert ended("42") == (OK, "max turns")
    assert ended("") == (FAILED, "no answer (max turns)")
    assert ended("42", check=lambda result: result.stop_reason != "max turns")[0] is FAILED


def test_an_interrupt_is_unknown_and_not_judged(bench: BenchAdapter) -> None:
    bench.interrupts = True
    run = tracer_hooks.run(BenchTeam(lambda told, task: "x"), "x", check=lambda result: 1 / 0, retries=2)
    assert (run.outcome, run.outcome_reason, len(run.attempts)) == (UNKNOWN, "interrupted", 1)


# --- exceptions, cancellation, streams broken off --------------------------------------------------------------------
def test_an_exception_is_a_failure_and_reaches_the_caller_as_it_was() -> None:
    error = ValueError("broken")
    seen = Recording()

    @tracer_hooks.hook(tracer_provider=seen.provider)
    def team(task: str) -> str:
        raise error

    with pytest.raises(ValueError, match="broken") as caught:
        team("x")
    assert caught.value is error
    assert error.__cause__ is None
    assert error.__context__ is None
    names = [entry.name for entry in caught.traceback]
    assert names[-1] == "team"
    assert len(names) <= 8
    run = run_of(team)
    assert (run.outcome, run.outcome_reason) == (FAILED, "ValueError: broken")
    assert seen.root.status.status_code is StatusCode.ERROR
    assert not seen.open


async def test_cancellation_is_unknown() -> None:
    seen = Recording()
    began = asyncio.Event()

    @tracer_hooks.hook(tracer_provider=seen.provider, retries=3)
    async def team(task: str) -> str:
        began.set()
        await asyncio.Event().wait()
        return "never"

    work = asyncio.create_task(team("x"))
    await began.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    run = run_of(team)
    assert (run.outcome, run.outcome_reason, len(run.attempts)) == (UNKNOWN, "cancelled", 1)
    assert seen.root.status.status_code is StatusCode.UNSET
    assert not seen.open
    await run.diagnosed()


class Stop(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "outcome", "reason"),
    [
        (KeyboardInterrupt(), UNKNOWN, "cancelled"),
        (SystemExit(2), UNKNOWN, "cancelled"),
        (Stop("now"), FAILED, "Stop: now"),
    ],
    ids=repr,
)
def test_what_is_no_exception_of_the_teams_passes_and_is_not_retried(
    error: BaseException, outcome: RunOutcome, reason: str
) -> None:
    seen = Recording()

    @tracer_hooks.hook(tracer_provider=seen.provider, retries=2)
    def team(task: str) -> str:
        raise error

    with pytest.raises(type(error)):
        team("x")
    run = run_of(team)
    assert (run.outcome, run.outcome_reason, len(run.attempts)) == (outcome, reason, 1)
    assert not seen.open
    assert run.wait(timeout=5) is run


@pytest.mark.parametrize("ending", ["break", "aclose"])
async def test_an_async_stream_broken_off_is_unknown(ending: str) -> None:
    seen = Recording()
    closed: list[str] = []

    @tracer_hooks.hook(tracer_provider=seen.provider, expected="b")
    async def stream(task: str) -> AsyncIterator[str]:
        try:
            yield "a"
            yield "b"
        finally:
            closed.append("closed")

    items: Any = stream("x")
    async for _ in items:
        break
    if ending == "aclose":
        await items.aclose()
    else:
        del items
        while others := asyncio.all_tasks() - {asyncio.current_task()}:  # the loop closes what was dropped in a task
            await asyncio.wait(others)
        for _ in range(5):
            await asyncio.sleep(0)
    assert closed == ["closed"]
    assert not seen.open
    run = run_of(stream)
    assert (run.outcome, run.outcome_reason) == (UNKNOWN, "abandoned")
    await run.diagnosed()


# --- the root span ---------------------------------------------------------------------------------------------------
def test_a_failed_check_is_an_error_of_the_root_span_and_the_check_runs_inside_it() -> None:
    seen = Recording()

    @tracer_hooks.model
    def judge(prompt: str) -> str:
        return "no"

    def check(result: RunResult) -> bool:
        with seen.provider.get_tracer("the user's").start_as_current_span("judging"):
            return judge(result.text) == "yes"

    run = tracer_hooks.run(lambda task: "It is 41.", "x", check=check, tracer_provider=seen.provider, capture="full")
    root = seen.root
    assert root.status.status_code is StatusCode.ERROR
    assert root.status.description == "check: check returned False"
    assert attributes(root)[semconv.RUN_OUTCOME] == "failed"
    assert attributes(root)[semconv.RUN_OUTCOME_REASON] == "check: check returned False"
    (judging,) = seen.named("judging")
    assert judging.parent is not None
    assert judging.parent.span_id == root.get_span_context().span_id
    assert not seen.named("chat"), "what a check asks is no step of the run"
    assert len(run.trajectory.steps) == 0


def test_a_passed_run_has_no_status() -> None:
    seen = Recording()
    tracer_hooks.run(lambda task: "42", "x", expected="42", tracer_provider=seen.provider)
    assert seen.root.status.status_code is StatusCode.UNSET
