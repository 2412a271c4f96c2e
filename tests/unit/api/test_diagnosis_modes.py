"""When failed runs are diagnosed, who is told, and what the diagnosis looks like among the spans."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks import semconv
from tracer_hooks.errors import TracerHooksError
from tracer_hooks.runtime import _team_run
from tracer_hooks.schema import Attribution, RunOutcome, Trajectory

from ._framework import Blame, Slow, run_of
from ._spans import Recording, attributes


@tracer_hooks.agent
def solo(task: str) -> str:
    return "It is 41."


def team(**options: Any) -> Any:
    return tracer_hooks.hook(lambda task: solo(task), **{"expected": "42", "attributor": Blame(("solo",)), **options})


def ateam(**options: Any) -> Any:
    async def solve(task: str) -> str:
        return solo(task)

    return tracer_hooks.hook(solve, **{"expected": "42", "attributor": Blame(("solo",)), **options})


@pytest.mark.parametrize("mode", ["auto", "inline", True])
def test_sync_code_gets_the_diagnosis_with_the_result(mode: Any) -> None:
    solve = team(diagnose=mode)
    solve("x")
    attribution = run_of(solve).attribution
    assert attribution is not None
    assert (attribution.agent, attribution.step) == ("solo", 0)


@pytest.mark.parametrize("mode", ["off", False])
async def test_off(mode: Any) -> None:
    blame = Blame(("solo",))
    solve, asolve = team(diagnose=mode, attributor=blame), ateam(diagnose=mode, attributor=blame)
    solve("x")
    await asolve("x")
    assert (await run_of(asolve).diagnosed()).attribution is None
    assert run_of(solve).attribution is None
    assert run_of(solve).outcome is RunOutcome.FAILED
    assert blame.seen == []


async def test_inline_in_async_code() -> None:
    solve = ateam(diagnose="inline")
    await solve("x")
    assert run_of(solve).attribution is not None


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("mode", ["auto", True, "background"])
async def test_async_code_never_waits(mode: Any, streams: bool) -> None:
    async def stream(task: str) -> AsyncIterator[str]:
        yield solo(task)

    slow, options = Slow(), {"expected": "42", "diagnose": mode}
    solve: Any = tracer_hooks.hook(stream, attributor=slow, **options) if streams else ateam(attributor=slow, **options)
    assert ([item async for item in solve("x")] if streams else [await solve("x")]) == ["It is 41."]
    run = run_of(solve)
    assert run.outcome is RunOutcome.FAILED
    assert run.trajectory.steps[0].content == "It is 41."
    assert run.last.attribution is None
    with pytest.raises(TimeoutError, match=r"was not done within 0\.01 s"):
        run.wait(0.01)
    slow.go.set()
    assert (await run.diagnosed()).attribution is not None
    assert slow.thread is not threading.current_thread()


async def test_who_asks_for_a_diagnosis_under_way_waits_for_it() -> None:
    slow = Slow()
    solve = ateam(attributor=slow)
    await solve("x")
    threading.Timer(0.05, slow.go.set).start()
    found = await asyncio.gather(*(asyncio.to_thread(getattr, run_of(solve), "attribution") for _ in range(2)))
    await ateam()("x")
    await (quick := ateam())("x")
    assert [each.agent for each in (*found, run_of(quick).attribution) if each is not None] == ["solo"] * 3


async def test_a_diagnosis_that_takes_long_holds_an_event_loop_up_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_team_run, "_LOOP_PATIENCE_S", 0.01)
    slow = Slow()
    solve = ateam(attributor=slow)
    await solve("x")
    assert (run_of(solve).attribution, run_of(solve).attribution) == (None, None)
    assert [line for line in caplog.messages if "on its way" in line] == caplog.messages
    assert len(caplog.messages) == 1
    slow.go.set()
    assert (await run_of(solve).diagnosed()).attribution is not None


def test_a_run_that_goes_on_has_no_attempts_yet() -> None:
    def solve(task: str) -> str:
        with pytest.raises(TracerHooksError, match="has not ended yet"):
            _ = run_of(hooked).outcome
        return "42"

    hooked = tracer_hooks.hook(solve)
    hooked("x")
    assert run_of(hooked).outcome is RunOutcome.SUCCEEDED


# --- on_failure ------------------------------------------------------------------------------------------------------
def test_on_failure_is_called_once_with_the_diagnosed_run() -> None:
    told: list[tracer_hooks.TeamRun] = []
    solve = team(on_failure=told.append, retries=1)
    solve("x")
    assert told == [run_of(solve)]
    assert told[0].wait(timeout=5).attribution is not None
    good = tracer_hooks.hook(lambda task: "42", expected="42", on_failure=told.append)
    good("x")
    assert len(told) == 1


def test_on_failure_that_raises_is_logged_and_goes_no_further(caplog: pytest.LogCaptureFixture) -> None:
    def broken(run: tracer_hooks.TeamRun) -> None:
        raise KeyError("pager")

    solve = team(on_failure=broken)
    assert solve("x") == "It is 41."
    assert caplog.messages == ["on_failure raised KeyError: 'pager'"]


# --- the diagnosis as a span -----------------------------------------------------------------------------------------
def test_the_diagnosis_is_an_evaluator_span_with_one_link() -> None:
    seen = Recording()
    team(tracer_provider=seen.provider, capture="full", attributor=Blame(("solo",), confidence=0.7))("x")
    (span,) = seen.named("diagnose")
    (agent,) = seen.named("invoke_agent solo")
    got = attributes(span)
    assert got[semconv.OI_SPAN_KIND] == "EVALUATOR"
    assert (got[semconv.DIAGNOSIS_AGENT], got[semconv.DIAGNOSIS_STEP]) == ("solo", 0)
    (link,) = span.links
    assert link.context.span_id == agent.get_span_context().span_id
    assert link.context.trace_id == seen.root.get_span_context().trace_id == span.get_span_context().trace_id
    (event,) = span.events
    assert event.name == "gen_ai.evaluation.result"
    assert dict(event.attributes or {})["gen_ai.evaluation.score.label"] == "decisive"
    assert dict(event.attributes or {})["gen_ai.evaluation.score.value"] == 0.7


def test_an_abstention_is_said_too_without_a_link_in_the_runs_trace() -> None:
    seen = Recording()
    team(tracer_provider=seen.provider, attributor=Blame())("x")
    (span,) = seen.named("diagnose")
    assert span.links == ()
    assert span.get_span_context().trace_id == seen.root.get_span_context().trace_id
    assert attributes(span)[semconv.DIAGNOSIS_ABSTAINED] is True
    assert attributes(span)[semconv.DIAGNOSIS_ABSTAINED_REASON] == "no sign of failure"
    (event,) = span.events
    assert dict(event.attributes or {})["gen_ai.evaluation.score.label"] == "abstained"


def test_what_the_attributor_does_is_not_traced_as_the_users() -> None:
    seen = Recording()

    @tracer_hooks.model
    def ask(prompt: str) -> str:
        return "solo"

    class Asks(Blame):
        def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
            self.agents = (ask("who?"),)
            inner = tracer_hooks.hook(lambda task: ask(task), tracer_provider=seen.provider)
            inner("a hooked function of the attributor's")
            return super().attribute(trajectory, reference=reference)

    solve = team(tracer_provider=seen.provider, attributor=Asks())
    solve("x")
    assert run_of(solve).attribution is not None
    assert len(seen.named("invoke_workflow")) == 1
    assert not seen.named("chat")


# --- tracer_hooks.diagnose -------------------------------------------------------------------------------------------
def test_diagnose_takes_runs_trajectories_and_files(tmp_path: Any) -> None:
    from tracer_hooks.schema import to_json

    solve = team()
    solve("x")
    run = run_of(solve)
    for target in (run, run.trajectory):
        assert tracer_hooks.diagnose(target, attributor=Blame(("solo",))).agent == "solo"
    path = tmp_path / "runs.jsonl"
    path.write_text((to_json(run.trajectory) + "\n") * 2)
    assert [one.agent for one in tracer_hooks.diagnose(path, attributor=Blame(("solo",)))] == ["solo", "solo"]
    path.write_text("{")
    with pytest.raises(TracerHooksError, match=r"runs\.jsonl"):
        tracer_hooks.diagnose(path)
