"""``observe()``: runs of any framework are taken up from its spans, once, whole, and off the run's thread."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace as otel_trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import NonRecordingSpan, SpanContext, StatusCode, TraceFlags, set_span_in_context

import tracer_hooks
from tracer_hooks.datasets import load
from tracer_hooks.diagnosis import get_attributor
from tracer_hooks.errors import ConfigError
from tracer_hooks.runtime import _observe, _traces
from tracer_hooks.schema import RunOutcome
from tracer_hooks.store import RunStore
from tracer_hooks.telemetry import read_otlp

from ._live_spans import TASK, Desk, messages, play

FIXTURES = Path(__file__).parents[2] / "fixtures" / "otlp"
RECORDED = sorted(path.name for path in FIXTURES.glob("*.pb.xz"))


@pytest.fixture
def provider() -> Iterator[TracerProvider]:
    made = TracerProvider(shutdown_on_exit=False)
    yield made
    made.shutdown()
    tracer_hooks.flush()


@pytest.fixture
def runs(path: Path) -> Any:
    """Every run in the store, when all that has ended is stored."""

    def stored() -> list[Any]:
        assert tracer_hooks.flush(20)
        if not path.exists():
            return []
        with RunStore(path) as store:
            return [store.get(each.run_id) for each in store.list()]

    return stored


def test_a_failed_run_is_judged_stored_and_diagnosed_and_the_users_callbacks_are_told(
    provider: TracerProvider, path: Path, runs: Any
) -> None:
    failed: list[Any] = []
    found: list[Any] = []
    observer = tracer_hooks.observe(
        expected="17", name="library", tags={"release": "1"}, store=path, on_failure=failed.append,
        on_finding=found.append, provider=provider,
    )  # fmt: skip
    with tracer_hooks.tags(request="r1"):
        Desk(provider).run("12")
    (stored,) = runs()
    assert (stored.team, stored.framework, stored.task) == ("library", "some.framework", TASK)
    assert stored.tags == {"release": "1", "request": "r1"}
    assert (stored.outcome, stored.outcome_reason) == (RunOutcome.FAILED, "check: expected 17, got 12")
    assert (stored.attribution.agent, stored.attribution.step, stored.attribution.certainty) == (
        "librarian",
        1,
        "clear",
    )
    (run,) = failed
    assert run is observer.last_run
    assert found == [run]
    assert run.attribution.agent == "librarian"
    assert run.trajectory.reference == "17"
    assert "17 copies" in str(run.trajectory.steps[0].tool_calls[0].result)
    Desk(provider).run("17")
    tracer_hooks.flush()
    assert observer.last_run is not run
    assert observer.last_run.outcome is RunOutcome.SUCCEEDED
    assert len(failed) == 1


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_trace_that_comes_about_live_is_the_run_and_has_the_diagnosis_of_its_file(
    name: str, provider: TracerProvider, path: Path, runs: Any
) -> None:
    tracer_hooks.observe(check=lambda result: False, store=path, provider=provider)
    play(getattr(provider, _observe._OBSERVER).collector, read_otlp(FIXTURES / name))
    live = {stored.run_id: stored for stored in runs()}
    recorded = [record.trajectory for record in load(FIXTURES / name)]
    assert live.keys() == {run.run_id for run in recorded}
    for run in recorded:
        seen = live[run.run_id]
        told = {"outcome": seen.outcome, "outcome_reason": seen.outcome_reason, "team": seen.team}
        expected = run.model_copy(update=told)
        assert seen.trajectory == expected
        again = tracer_hooks.diagnose(expected)
        ignored = {"elapsed_s": 0.0}
        assert seen.attribution.model_copy(update=ignored) == again.model_copy(update=ignored)


# --- when a run is over ---------------------------------------------------------------------------------------------
def test_runs_at_once_in_threads_and_tasks_are_kept_apart(provider: TracerProvider, path: Path, runs: Any) -> None:
    tracer_hooks.observe(expected="17", store=path, provider=provider)
    desk = Desk(provider)

    async def in_tasks() -> None:
        async def one(said: str) -> None:
            with desk.team() as root:
                await asyncio.sleep(0)
                desk.librarian(said)
                await asyncio.sleep(0)
                desk.answer(root, f"{said} copies")

        await asyncio.gather(*(one(str(10 + number)) for number in range(10)))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: desk.run(str(10 + number)), range(20)))
    asyncio.run(in_tasks())
    stored = runs()
    assert len(stored) == 30
    assert sum(each.outcome is RunOutcome.SUCCEEDED for each in stored) == 2
    assert {len(each.trajectory.steps) for each in stored} == {2, 3}


def test_children_that_begin_and_end_after_their_root_belong_to_the_run(
    provider: TracerProvider, path: Path, runs: Any
) -> None:
    tracer_hooks.observe(store=path, provider=provider)
    desk = Desk(provider)
    with desk.team() as root:
        desk.librarian("12")
        stream = desk.tracer.start_span("chat", attributes={"gen_ai.operation.name": "chat"})
    with otel_trace.use_span(root):
        desk.turn("clerk", "late", "The late word.")  # the root has ended, the stream has not
    time.sleep(_traces._SETTLE_S * 1.5)
    stream.end()
    (stored,) = runs()
    assert [step.agent for step in stored.trajectory.steps].count("clerk") == 1


def test_a_run_whose_child_never_ends_is_taken_up_all_the_same(
    provider: TracerProvider, path: Path, runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracer_hooks.observe(expected="17", store=path, provider=provider)
    desk = Desk(provider)
    with desk.team() as root:
        desk.librarian("12")
        left = desk.tracer.start_span("never ends")
        desk.answer(root, "12 copies")
    (stored,) = runs()
    assert stored.attribution.agent == "librarian"
    left.end()  # too late, and no run of its own
    assert len(runs()) == 1


def test_a_run_that_never_ends_is_abandoned_at_the_end_of_the_provider_and_blames_nobody(
    provider: TracerProvider, path: Path, runs: Any
) -> None:
    tracer_hooks.observe(expected="17", store=path, provider=provider)
    desk = Desk(provider)
    root = desk.tracer.start_span("invoke_workflow desk", attributes={"gen_ai.operation.name": "invoke_workflow"})
    with otel_trace.use_span(root):
        desk.librarian("12")
    assert runs() == []
    provider.shutdown()
    (stored,) = runs()
    assert (stored.outcome, stored.outcome_reason, stored.attribution) == (RunOutcome.UNKNOWN, "abandoned", None)


def test_open_traces_are_bounded_and_the_oldest_is_given_up_with_one_line(
    provider: TracerProvider, path: Path, runs: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_traces, "MOST_TRACES", 10)
    tracer_hooks.observe(expected="17", store=path, provider=provider)
    desk = Desk(provider)
    for _ in range(30):
        root = desk.tracer.start_span("invoke_workflow desk")
        with otel_trace.use_span(root):
            desk.librarian("12")
    assert len(getattr(provider, _observe._OBSERVER).collector._traces) == 10
    assert len(runs()) == 20
    assert [record.getMessage() for record in caplog.records if "gives up" in record.getMessage()] == [
        "tracer-hooks gives up the oldest of 10 runs that have not ended"
    ]


def test_calls_of_a_service_in_one_distributed_trace_are_runs_of_their_own(
    provider: TracerProvider, path: Path, runs: Any
) -> None:
    tracer_hooks.observe(expected="17", store=path, provider=provider)
    caller = SpanContext(0xABC, 0xDEF, is_remote=True, trace_flags=TraceFlags(1))
    around = set_span_in_context(NonRecordingSpan(caller))
    Desk(provider).run("12", context=around)
    assert len(runs()) == 1
    Desk(provider).run("17", context=around)
    assert sorted((each.run_id, each.outcome.value) for each in runs()) == [
        (f"{0xABC:032x}", "failed"),
        (f"{0xABC:032x}-2", "succeeded"),
    ]


def test_a_run_inside_a_span_of_another_provider_ends_with_that_span(
    provider: TracerProvider, path: Path, runs: Any
) -> None:
    tracer_hooks.observe(store=path, provider=provider)
    desk = Desk(provider)
    with TracerProvider().get_tracer("web").start_as_current_span("POST /desk"):
        desk.librarian("17")
        time.sleep(_traces._SETTLE_S * 1.5)  # a long tool, say, that nobody traces
        desk.turn("clerk", "17", "Dear reader, 17.")
    (stored,) = runs()
    assert [step.agent for step in stored.trajectory.steps] == ["librarian", "librarian", "clerk"]


def test_calls_of_a_team_within_one_span_of_the_users_are_runs_of_their_own(
    provider: TracerProvider, path: Path, runs: Any
) -> None:
    tracer_hooks.observe(expected={"Emma?": "17", "Persuasion?": "4"}, store=path, provider=provider)
    desk = Desk(provider)
    with provider.get_tracer("batch").start_as_current_span("job"):
        desk.turn("clerk", "Emma?", "There are 12.")
        desk.turn("clerk", "Persuasion?", "There are 4.")
    assert {stored.task: (stored.team, stored.outcome.value) for stored in runs()} == {
        "Emma?": ("clerk", "failed"),
        "Persuasion?": ("clerk", "succeeded"),
    }


@pytest.mark.parametrize("second", [("clerk", "The answer is: There are 12."), ("writer", "Persuasion?")])
def test_calls_that_build_on_each_other_or_are_of_several_agents_are_one_run(
    second: tuple[str, str], provider: TracerProvider, path: Path, runs: Any
) -> None:
    tracer_hooks.observe(store=path, provider=provider)
    desk = Desk(provider)
    with provider.get_tracer("batch").start_as_current_span("job"):
        desk.turn("clerk", "Emma?", "There are 12.")
        desk.turn(*second, "There are 4.")
    (stored,) = runs()
    assert len(stored.trajectory.steps) == 2


# --- what is no run of its own --------------------------------------------------------------------------------------
@pytest.mark.parametrize("same_provider", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_a_hooked_team_is_left_to_its_hook(
    same_provider: bool, inside: bool, provider: TracerProvider, path: Path, runs: Any
) -> None:
    """Its framework's own spans go to the observed provider, whether they hang below ours or not."""
    tracer_hooks.observe(expected="17", store=path, provider=provider)
    desk = Desk(provider)

    @tracer_hooks.agent
    def librarian(task: str) -> str:
        desk.librarian("12")
        return "12"

    own = provider if same_provider else TracerProvider()
    team = tracer_hooks.hook(
        lambda task: librarian(task), expected="17", store=path, name="hooked", tracer_provider=own
    )
    if inside:
        with desk.tracer.start_as_current_span("POST /desk"):
            team(TASK)
    else:
        team(TASK)
    assert [stored.team for stored in runs()] == ["hooked"]


def test_an_observed_team_beside_a_hooked_one_in_the_same_trace_is_taken_up(
    provider: TracerProvider, path: Path, runs: Any
) -> None:
    tracer_hooks.observe(store=path, provider=provider)
    hooked = tracer_hooks.hook(lambda task: "42", store=path, name="hooked", tracer_provider=provider)
    with provider.get_tracer("web").start_as_current_span("POST /desk"):
        hooked("x")
        Desk(provider).run("12")
    assert sorted(stored.framework for stored in runs()) == ["python", "some.framework"]


def test_what_a_check_and_an_attributor_trace_is_no_run(provider: TracerProvider, path: Path, runs: Any) -> None:
    desk = Desk(provider)

    async def check(result: Any, task: str) -> bool:
        desk.turn("grader", task, "It is wrong.")
        return False

    class Asking:
        name = "asking"

        def attribute(self, trajectory: Any, *, reference: str | None = None) -> Any:
            desk.turn("judge", "who?", "the librarian")
            return get_attributor("structural").attribute(trajectory, reference=reference)

    tracer_hooks.observe(check=check, attributor=Asking(), store=path, provider=provider)
    desk.run("12")
    (stored,) = runs()
    assert stored.outcome is RunOutcome.FAILED


def test_spans_that_are_of_no_agent_model_or_tool_are_no_run(provider: TracerProvider, path: Path, runs: Any) -> None:
    observer = tracer_hooks.observe(store=path, provider=provider)
    with provider.get_tracer("web").start_as_current_span("GET /health"):
        pass
    assert runs() == []
    assert observer.last_run is None


# --- judging --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "content", "outcome", "reason"),
    [
        ({}, True, "succeeded", None),
        ({}, False, "unknown", "its spans hold no text"),
        ({"expected": "17"}, False, "unknown", "its spans hold no text"),
        ({"check": lambda result: 1 / 0}, True, "unknown", "the check raised ZeroDivisionError"),
        ({"check": lambda result, task: task != TASK}, True, "failed", "check: the check returned False"),
        ({"expected": {"another task": "1"}}, True, "unknown", f"expected= has no answer for the task {TASK!r}"),
    ],
)  # fmt: skip
def test_outcome(
    options: dict[str, Any], content: bool, outcome: str, reason: str | None, provider: TracerProvider, path: Path,
    runs: Any,
) -> None:  # fmt: skip
    tracer_hooks.observe(**options, store=path, provider=provider)
    Desk(provider, content=content).run("12")
    (stored,) = runs()
    assert (stored.outcome.value, stored.outcome_reason) == (outcome, reason)
    assert (stored.attribution is not None) == (outcome == "failed")


def test_a_run_that_raised_failed_with_the_exception_as_its_reason(
    provider: TracerProvider, path: Path, runs: Any
) -> None:
    tracer_hooks.observe(expected="17", store=path, provider=provider)
    desk = Desk(provider)

    def broken() -> None:
        with desk.team():
            desk.librarian("12")
            raise ValueError("no shelf")

    with pytest.raises(ValueError, match="no shelf"):
        broken()
    (stored,) = runs()
    assert (stored.outcome, stored.outcome_reason) == (RunOutcome.FAILED, "ValueError: no shelf")


def test_a_stream_that_is_broken_off_is_no_failure(provider: TracerProvider, path: Path, runs: Any) -> None:
    """The spans of what is cancelled end without a word."""
    tracer_hooks.observe(expected="17", store=path, provider=provider)
    desk = Desk(provider)
    call = json.dumps([{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "stock"}]}])
    with desk.team(), desk.span("invoke_agent", {"gen_ai.agent.name": "librarian"}):
        desk.chat(messages("user", TASK), call)
    (stored,) = runs()
    assert (stored.outcome, stored.outcome_reason) == (RunOutcome.UNKNOWN, "cancelled or broken off")
    assert stored.attribution is None


@pytest.mark.parametrize(
    ("error", "outcome", "reason"),
    [
        (RuntimeError("401: no key"), RunOutcome.FAILED, "RuntimeError: 401: no key"),
        (asyncio.CancelledError("by its scope"), RunOutcome.UNKNOWN, "cancelled or broken off"),
    ],
)
def test_a_run_that_ends_at_its_first_error_says_which_though_its_framework_swallows_it(
    error: BaseException, outcome: RunOutcome, reason: str, provider: TracerProvider, path: Path, runs: Any
) -> None:
    tracer_hooks.observe(expected="17", store=path, provider=provider)
    desk = Desk(provider)
    with desk.team(), desk.span("invoke_agent", {"gen_ai.agent.name": "librarian"}), desk.span("chat", {}) as span:
        span.record_exception(error)
        span.set_status(StatusCode.ERROR, str(error))
    (stored,) = runs()
    assert (stored.outcome, stored.outcome_reason) == (outcome, reason)
    assert (stored.attribution is not None) == (outcome is RunOutcome.FAILED)


def test_an_answer_that_the_instrumentation_hides_is_not_judged(
    provider: TracerProvider, path: Path, runs: Any
) -> None:
    tracer_hooks.observe(check=lambda result: 1 / 0, store=path, provider=provider)
    desk = Desk(provider)
    with desk.team() as root:
        desk.turn("clerk", TASK, "__REDACTED__")
        desk.answer(root, "__REDACTED__")
    (stored,) = runs()
    assert (stored.outcome, stored.outcome_reason) == (RunOutcome.UNKNOWN, "its spans hold no text")


def test_secrets_are_blanked_in_what_is_kept(
    provider: TracerProvider, path: Path, runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACER_HOOKS_RECORD", "off")
    tracer_hooks.observe(expected="17", store=path, provider=provider)
    Desk(provider).run("98765")
    (stored,) = runs()
    assert stored.outcome is RunOutcome.FAILED
    assert "98765" not in stored.model_dump_json(
        exclude={"run_id", "started_at", "ended_at", "session_id", "trajectory"}
    )
    assert not any(step.content for step in stored.trajectory.steps)


# --- never break the run --------------------------------------------------------------------------------------------
def test_a_fault_of_ours_is_one_line_and_the_run_goes_on(
    provider: TracerProvider, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STRICT", "0")
    tracer_hooks.observe(store=path, provider=provider)
    monkeypatch.setattr(_observe, "assemble", lambda records: 1 / 0)
    Desk(provider).run("12")
    tracer_hooks.flush()
    (said,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert said.startswith("tracer-hooks could not observe a run (ZeroDivisionError")
    monkeypatch.setattr(_traces, "current_invocation", lambda: 1 / 0)
    Desk(provider).run("12")


def test_callbacks_that_raise_cost_a_line(
    provider: TracerProvider, path: Path, runs: Any, caplog: pytest.LogCaptureFixture
) -> None:
    tracer_hooks.observe(expected="17", on_failure=lambda run: 1 / 0, store=path, provider=provider)
    Desk(provider).run("12")
    assert len(runs()) == 1
    assert "on_failure raised ZeroDivisionError: division by zero" in caplog.messages


def test_nothing_is_done_in_the_runs_thread(provider: TracerProvider, path: Path) -> None:
    threads: list[str] = []
    said = threading.Event()

    def check(result: Any) -> bool:
        threads.append(threading.current_thread().name)
        said.set()
        return True

    tracer_hooks.observe(check=check, store=path, provider=provider)
    Desk(provider).run("12")
    assert said.wait(10)
    assert threads == ["tracer-hooks-observe"]


# --- one observer a provider ----------------------------------------------------------------------------------------
def test_a_provider_has_one_observer_until_it_is_stopped(
    provider: TracerProvider, path: Path, runs: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "tracer_hooks")
    observer = tracer_hooks.observe(expected="17", store=path, provider=provider)
    assert tracer_hooks.observe(provider=provider) is observer
    assert tracer_hooks.observe(expected="18", provider=provider) is observer
    assert [record.getMessage() for record in caplog.records] == [
        "tracer-hooks observes the runs of TracerProvider",
        "tracer-hooks does not use expected=: this provider is observed already, with the options of the first call; "
        "to change them call stop() of its observer first",
    ]
    Desk(provider).run("12")
    observer.stop()
    observer.stop()
    assert not observer.is_on
    Desk(provider).run("12")
    assert len(runs()) == 1  # the one that had ended, and none since
    again = tracer_hooks.observe(store=path, provider=provider)
    assert again is not observer
    Desk(provider).run("12")
    assert len(runs()) == 2
    assert len(provider._active_span_processor._span_processors) == 1


def test_switched_off_it_takes_no_spans(
    provider: TracerProvider, path: Path, monkeypatch: pytest.MonkeyPatch, runs: Any
) -> None:
    monkeypatch.setenv("TRACER_HOOKS_DISABLED", "1")
    observer = tracer_hooks.observe(store=path, provider=provider)
    Desk(provider).run("12")
    assert runs() == []
    assert (observer.last_run, observer.is_on) == (None, False)
    observer.stop()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"check": "17"}, "check is '17', expected a function"),
        ({"provider": otel_trace.NoOpTracerProvider()}, "expected one of the OpenTelemetry SDK"),
        ({"tags": {"a b": 1}}, "the tag 'a b' cannot be used"),
        ({"attributor": "nobody"}, "'nobody'"),
    ],
)
def test_what_cannot_be_used_is_said_at_once(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace("(", r"\(")):
        tracer_hooks.observe(**{"provider": TracerProvider(shutdown_on_exit=False), **options})


def test_an_observed_provider_is_let_go(path: Path) -> None:
    made = TracerProvider(shutdown_on_exit=False)
    tracer_hooks.observe(store=path, provider=made)
    Desk(made).run("12")
    tracer_hooks.flush()
    is_there = weakref.ref(made)
    del made
    gc.collect()
    assert is_there() is None


# --- processes ------------------------------------------------------------------------------------------------------
def script(body: str, path: Path) -> str:
    """Standard output of a process of its own, with ``Desk`` at hand."""
    head = "import os, sys, tracer_hooks\nfrom opentelemetry import trace\nfrom _live_spans import Desk\n"
    source = head + textwrap.dedent(body)
    environment = {**os.environ, "TRACER_HOOKS_STORE": str(path)}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), environment.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", source], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout + done.stderr


def test_without_a_provider_one_is_set_and_a_run_is_stored_though_the_process_ends_at_once(
    path: Path, runs: Any
) -> None:
    said = script("tracer_hooks.observe(expected='17')\nDesk(trace.get_tracer_provider()).run('12')", path)
    assert said.startswith("tracer-hooks set a TracerProvider, since there was none")
    assert len(said.splitlines()) == 1
    (stored,) = runs()
    assert stored.attribution.agent == "librarian"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked on POSIX alone")
def test_a_forked_child_takes_up_its_own_runs_and_not_its_parents(path: Path, runs: Any) -> None:
    script(
        """
        tracer_hooks.observe(expected="17")
        desk = Desk(trace.get_tracer_provider())
        with desk.team() as root:
            desk.librarian("12")
            if (child := os.fork()) == 0:
                trace.context_api.attach(trace.context_api.Context())
                desk.run("17")
                tracer_hooks.flush()
                os._exit(0)
            os.waitpid(child, 0)
            desk.answer(root, "12 copies")
        """,
        path,
    )
    assert sorted(stored.outcome.value for stored in runs()) == ["failed", "succeeded"]
