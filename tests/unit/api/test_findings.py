"""Findings of a hooked run: worked out when asked for, told to a callback beside the call, shown and exported."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks import semconv
from tracer_hooks.diagnosis import findings_of
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis.findings import KindOfFinding, _find, finding
from tracer_hooks.schema import Attribution, Finding, FindingKind, RunOutcome, Step, Trajectory

from ._framework import Blame, run_of
from ._spans import Recording, attributes

HOSTILE = "<script>alert('41')</script>"


class Mocks:
    """A kind that finds the word "mock" in what an agent says; counts the runs that it looked at."""

    def __init__(self) -> None:
        self.looked_at = 0

    def __call__(self, run: RunReading) -> Iterator[Finding]:
        self.looked_at += 1
        for step in run.steps:
            if "mock" in step.content:
                yield finding(run, FindingKind.MADE_UP_DATA, f"{step.agent!r} used mock data", step=step.index)


@pytest.fixture
def mocks(monkeypatch: pytest.MonkeyPatch) -> Mocks:
    looks = Mocks()
    kind = KindOfFinding(kind=FindingKind.MADE_UP_DATA, definition="Mock data.", find=looks)
    monkeypatch.setattr(_find, "KINDS", {kind.kind: kind})
    return looks


@tracer_hooks.agent
def solo(task: str) -> str:
    return f"With mock data: {task}"


def team(agent: Callable[[str], str] = solo, **options: Any) -> Any:
    return tracer_hooks.hook(lambda task: agent(task), attributor=Blame(("solo",)), **options)


def test_findings_of_a_trajectory(mocks: Mocks) -> None:
    run = Trajectory(
        run_id="7", steps=(Step(index=0, agent="a", content="fine"), Step(index=1, agent="b", content="mock"))
    )
    assert [(each.step, each.agent, each.text) for each in findings_of(run)] == [(1, "b", "'b' used mock data.")]
    assert findings_of(Trajectory(run_id="8")) == ()


@pytest.mark.parametrize(
    ("expected", "outcome"),
    [(None, RunOutcome.SUCCEEDED), ("With mock data: x", RunOutcome.SUCCEEDED), ("42", RunOutcome.FAILED)],
)
def test_every_run_has_its_findings_judged_or_not(mocks: Mocks, expected: str | None, outcome: RunOutcome) -> None:
    solve = team(expected=expected)
    solve("x")
    assert run_of(solve).outcome is outcome
    assert [each.text for each in run_of(solve).findings] == ["'solo' used mock data."]


def test_a_run_costs_nothing_until_it_is_asked_and_is_looked_at_once(mocks: Mocks) -> None:
    solve = team()
    solve("x")
    assert mocks.looked_at == 0
    assert run_of(solve).findings is run_of(solve).findings
    assert mocks.looked_at == 1


def test_the_findings_of_the_diagnosis_come_first(mocks: Mocks) -> None:
    told = Finding(kind=FindingKind.LOOP, step=0, agent="solo", text="Again and again.")

    class Finds(Blame):
        def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
            return super().attribute(trajectory, reference=reference).model_copy(update={"findings": (told,)})

    seen = Recording()
    solve = tracer_hooks.hook(
        lambda task: solo(task), expected="42", attributor=Finds(("solo",)), tracer_provider=seen.provider
    )
    solve("x")
    assert run_of(solve).findings == (told,)
    assert mocks.looked_at == 0
    (span,) = seen.named("diagnose")
    assert attributes(span)[semconv.DIAGNOSIS_FINDINGS] == ("loop",)


def test_a_diagnosis_without_findings_has_no_such_attribute() -> None:
    seen = Recording()
    team(lambda task: "fine", expected="42", tracer_provider=seen.provider)("x")
    (span,) = seen.named("diagnose")
    assert semconv.DIAGNOSIS_FINDINGS not in attributes(span)


def test_findings_never_raise(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def broken(trajectory: Trajectory, *, reference: str | None = None) -> tuple[Finding, ...]:
        raise ZeroDivisionError("odd run")

    monkeypatch.setenv("TRACER_HOOKS_STRICT", "0")
    monkeypatch.setattr("tracer_hooks.diagnosis.findings_of", broken)
    solve = team()
    solve("x")
    assert run_of(solve).findings == ()
    assert [message.split(". ")[0] for message in caplog.messages] == [
        "tracer-hooks could not look for findings in the run (ZeroDivisionError: odd run)"
    ]


def test_a_run_that_goes_on_has_none() -> None:
    def solve(task: str) -> str:
        assert run_of(hooked).findings == ()
        assert "the run goes on" in run_of(hooked)._repr_html_()
        assert str(run_of(hooked)).endswith("the run goes on")
        return "42"

    hooked = tracer_hooks.hook(solve)
    assert hooked("x") == "42"


# --- on_finding ------------------------------------------------------------------------------------------------------
def test_on_finding_is_called_once_a_run_with_findings_in_another_thread(mocks: Mocks) -> None:
    told: list[tuple[tracer_hooks.TeamRun, threading.Thread]] = []
    solve = team(expected="42", retries=1, on_finding=lambda run: told.append((run, threading.current_thread())))
    solve("x")
    assert tracer_hooks.flush(timeout=10)
    ((run, thread),) = told
    assert run is run_of(solve)
    assert len(run.attempts) == 2
    assert thread is not threading.current_thread()
    quiet = team(lambda task: "It is 42.", on_finding=lambda run: told.append((run, threading.current_thread())))
    quiet("x")
    assert tracer_hooks.flush(timeout=10)
    assert len(told) == 1


async def test_on_finding_in_asynchronous_code(mocks: Mocks) -> None:
    told: list[tracer_hooks.TeamRun] = []

    async def work(task: str) -> str:
        return solo(task)

    solve = tracer_hooks.hook(work, on_finding=told.append)
    assert await solve("x") == "With mock data: x"
    assert tracer_hooks.flush(timeout=10)
    assert told == [run_of(solve)]


def test_a_callback_that_hangs_keeps_no_call_waiting(mocks: Mocks) -> None:
    go, told = threading.Event(), []

    def slow(run: tracer_hooks.TeamRun) -> None:
        go.wait(10)
        told.append(run)

    solve = team(on_finding=slow)
    assert [solve("x"), solve("y")] == ["With mock data: x", "With mock data: y"]
    assert not tracer_hooks.flush(timeout=0.01)
    assert told == []
    go.set()
    assert tracer_hooks.flush(timeout=10)
    assert [run.task for run in told] == ["x", "y"]


def test_a_callback_that_raises_is_one_log_line(mocks: Mocks, caplog: pytest.LogCaptureFixture) -> None:
    def broken(run: tracer_hooks.TeamRun) -> None:
        raise KeyError("pager")

    assert team(on_finding=broken)("x") == "With mock data: x"
    assert tracer_hooks.flush(timeout=10)
    assert caplog.messages == ["on_finding raised KeyError: 'pager'"]


# --- notebooks -------------------------------------------------------------------------------------------------------
def test_a_run_in_a_notebook_is_escaped(mocks: Mocks) -> None:
    @tracer_hooks.agent(name=HOSTILE)
    def stranger(task: str) -> str:
        return f"mock {HOSTILE}"

    good = tracer_hooks.hook(lambda task: stranger(task))
    bad = tracer_hooks.hook(
        lambda task: stranger(task), check=lambda result: tracer_hooks.Verdict(passed=False, reason=HOSTILE)
    )
    for solve in (good, bad):
        solve("x")
        run = run_of(solve)
        assert "<script>" not in run._repr_html_() + run.trajectory._repr_html_()
        assert "used mock data" in run._repr_html_()
    assert "failed (check: &lt;script&gt;" in run_of(bad)._repr_html_()
    assert run_of(bad).attribution is not None
    assert f"failed (check: {HOSTILE}" in str(run_of(bad))
    assert run_of(bad).advice in str(run_of(bad))
    assert (run_of(good).advice, "used mock data" in str(run_of(good))) == ("", True)


def test_a_long_run_in_a_notebook_is_cut() -> None:
    steps = tuple(Step(index=index, agent="a", content="word " * 1_000) for index in range(230))
    html = Trajectory(run_id="7", team="t", steps=steps)._repr_html_()
    assert html.count("<tr>") == 201
    assert "and 30 more" in html
    assert "t: unknown, 230 steps" in html
    assert len(html) < 50_000
