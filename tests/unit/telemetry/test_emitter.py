"""Operations become spans and records, numbered as steps, ended in every path."""

from __future__ import annotations

import asyncio
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import NonRecordingSpan, SpanContext, StatusCode, TraceFlags, use_span

from tracer_hooks import semconv
from tracer_hooks.config import CaptureConfig
from tracer_hooks.schema import AgentSpec, RunOutcome, StepKind, Usage
from tracer_hooks.telemetry import (
    AgentInvocation,
    ChatInvocation,
    ChatReply,
    Emitter,
    RequestedTool,
    RunStart,
    ToolInvocation,
    current_invocation,
    current_run,
    suppressed,
)
from tracer_hooks.testing import span_tree

from ._runs import Recorded

CALL = RequestedTool(name="lookup", arguments={"query": "x"}, id="c1")


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


def test_a_turn_with_a_tool_call_is_two_steps(recorded: Recorded) -> None:
    with recorded.turn() as run:
        ChatInvocation(run, "m").stop(ChatReply(tool_calls=[CALL]))
        ToolInvocation(run, "lookup", arguments={"query": "x"}, call_id="c1").stop("42")
        ChatInvocation(run, "m").stop(ChatReply(content="It is 42."))
    assert span_tree(recorded.spans).splitlines() == [
        "invoke_workflow team",
        "  invoke_agent a",
        "    chat m [0]",
        "    execute_tool lookup [0]",
        "    chat m [1]",
    ]
    first, second = run.trajectory().steps
    assert (first.kind, first.tool_calls[0].result) == (StepKind.TOOL_CALL, "42")
    assert (second.kind, second.content) == (StepKind.MESSAGE, "It is 42.")


def test_a_turn_without_model_is_a_step_unless_it_only_hands_on_its_members_words(recorded: Recorded) -> None:
    run = recorded.start()
    with run.active():
        outer = AgentInvocation(run, AgentSpec(name="society"))
        with outer.active():
            AgentInvocation(run, AgentSpec(name="member")).stop("yes")
        outer.stop("yes")
    run.finish()
    assert [(s.agent, s.content) for s in run.trajectory().steps] == [("member", "yes")]


def test_a_failed_call_and_its_repetition_are_attempts_at_one_step(recorded: Recorded) -> None:
    with recorded.turn() as run:
        ChatInvocation(run, "m").fail(ValueError("first"))
        ChatInvocation(run, "m").stop(ChatReply(content="at last"))
    (step,) = run.trajectory().steps
    assert (step.attempts, step.error, step.content) == (2, None, "at last")
    chats = [span for span in recorded.spans if span.name == "chat m"]
    assert [(span.attributes or {}).get(semconv.STEP_ATTEMPT) for span in chats] == [None, 2]


def test_a_turn_that_is_started_over_goes_on_at_the_failed_step(recorded: Recorded) -> None:
    run = recorded.start()
    error = ValueError("down")
    with run.active():
        first = AgentInvocation(run, AgentSpec(name="a"))
        with first.active():
            ChatInvocation(run, "m").fail(error)
        first.fail(error)
        again = AgentInvocation(run, AgentSpec(name="a"), retry_of=first)
        with again.active():
            ChatInvocation(run, "m").stop(ChatReply(content="up"))
        again.stop("up")
    run.finish()
    assert [(s.index, s.attempts, s.content) for s in run.trajectory().steps] == [(0, 2, "up")]


def test_an_error_is_recorded_once_where_it_happened(recorded: Recorded) -> None:
    run = recorded.start()
    error = ValueError("model is down")
    with run.active():
        turn = AgentInvocation(run, AgentSpec(name="a"))
        with turn.active():
            ChatInvocation(run, "m").fail(error)
        turn.fail(error)
    run.finish(error=RuntimeError("ValueError: model is down"))  # as AutoGen's runtime replaces it

    assert [span.status.status_code for span in recorded.spans] == [StatusCode.ERROR] * 3
    events = {span.name: [event.name for event in span.events] for span in recorded.spans}
    assert events == {"chat m": ["exception"], "invoke_agent a": [], "invoke_workflow team": []}
    assert [(s.kind, s.error) for s in run.trajectory().steps] == [(StepKind.ERROR, "model is down")]
    assert recorded.span("chat m").attributes[semconv.ERROR_TYPE] == "ValueError"


@pytest.mark.parametrize(
    ("first", "second"),
    [(ValueError("boom"), ValueError("boom")), (KeyError(1), ValueError("11 of 12 rows are bad"))],
    ids=["equal texts", "a text within the other"],
)
def test_different_failures_are_two_failures(recorded: Recorded, first: Exception, second: Exception) -> None:
    run = recorded.start()
    with run.active():
        for name, error in (("a", first), ("b", second)):
            AgentInvocation(run, AgentSpec(name=name)).fail(error)
    run.finish()
    assert [(s.agent, s.error) for s in run.trajectory().steps] == [("a", str(first)), ("b", str(second))]
    assert all(len(recorded.span(f"invoke_agent {name}").events) == 1 for name in "ab")


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def circular() -> Exception:
    """One of two exceptions that refer to each other."""
    one, two = ValueError("one"), ValueError("two")
    one.__context__, two.__context__ = two, one
    return one


@pytest.mark.parametrize("error", [Mute(), circular()], ids=["that cannot be printed", "circular"])
def test_an_odd_exception_is_an_error_all_the_same(recorded: Recorded, error: Exception) -> None:
    run = recorded.start()
    with run.active():
        AgentInvocation(run, AgentSpec(name="a")).fail(error)
    run.finish()
    span = recorded.span("invoke_agent a")
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes[semconv.ERROR_TYPE].endswith(type(error).__name__)


@pytest.mark.parametrize(
    ("error", "reason"),
    [(asyncio.CancelledError(), "cancelled"), (KeyboardInterrupt(), "cancelled"), (GeneratorExit(), "abandoned")],
)
def test_being_stopped_is_no_error(recorded: Recorded, error: BaseException, reason: str) -> None:
    run = recorded.start()
    with run.active():
        turn = AgentInvocation(run, AgentSpec(name="a"))
        with turn.active():
            ChatInvocation(run, "m")
    run.finish(error=error)
    assert {span.status.status_code for span in recorded.spans} == {StatusCode.UNSET}
    assert {(span.attributes or {}).get(semconv.ABANDONED) for span in recorded.spans} == {reason}
    assert run.trajectory().outcome is RunOutcome.UNKNOWN


def test_what_is_still_open_ends_with_the_run(recorded: Recorded) -> None:
    run = recorded.start()
    with run.active():
        turn = AgentInvocation(run, AgentSpec(name="a"))
        with turn.active():
            ToolInvocation(run, "t")
            ChatInvocation(run, "m").chunk("half a ")
            ChatInvocation(run, "silent").chunk()
    run.finish()
    ended = [span.name for span in recorded.spans]
    assert len(ended) == 5
    assert ended.index("invoke_agent a") > ended.index("chat m")  # children first
    assert "half a " in [step.content for step in run.trajectory().steps]


def test_later_ends_change_nothing(recorded: Recorded) -> None:
    run = recorded.start()
    with run.active():
        chat = ChatInvocation(run, "m")
        chat.stop(ChatReply(content="said"))
        chat.fail(ValueError("late"))
        chat.stop(ChatReply(content="said again"))
        chat.set(semconv.RESPONSE_ID, "late")
    run.finish()
    run.finish(error=ValueError("late"))
    assert len([span for span in recorded.spans if span.name == "chat m"]) == 1
    assert recorded.span("chat m").status.status_code is StatusCode.UNSET
    assert semconv.RESPONSE_ID not in (recorded.span("chat m").attributes or {})


@pytest.mark.parametrize(
    ("outcome", "reason", "status", "abandoned"),
    [
        (RunOutcome.FAILED, "check: no 42", (StatusCode.ERROR, "check: no 42"), None),
        (RunOutcome.UNKNOWN, "interrupted", (StatusCode.UNSET, None), "interrupted"),
    ],
)
def test_a_failed_check_makes_the_run_an_error_and_an_interrupt_leaves_it_open(
    recorded: Recorded, outcome: RunOutcome, reason: str, status: tuple[StatusCode, str | None], abandoned: str | None
) -> None:
    run = recorded.start()
    run.set_outcome(outcome, reason, by_check=outcome is RunOutcome.FAILED)
    run.finish(output="41")
    root = recorded.span("invoke_workflow team")
    assert (root.status.status_code, root.status.description) == status
    assert (root.attributes or {}).get(semconv.ABANDONED) == abandoned
    trajectory = run.trajectory()
    assert (trajectory.outcome, trajectory.outcome_reason) == (outcome, reason)


def test_model_calls_outside_any_turn_are_the_teams_own_and_tokens_are_on_them_alone(recorded: Recorded) -> None:
    run = recorded.start("crew")
    with run.active():
        for tokens in (3, 4):
            ChatInvocation(run, "m").stop(ChatReply(content="x", usage=Usage(input_tokens=tokens, output_tokens=1)))
    run.finish()
    chats = ["    chat m [0]", "    chat m [1]"]
    assert span_tree(recorded.spans).splitlines() == ["invoke_workflow crew", "  invoke_agent crew", *chats]
    with_usage = [s.name for s in recorded.spans if semconv.USAGE_INPUT_TOKENS in (s.attributes or {})]
    assert with_usage == ["chat m", "chat m"]
    root = recorded.span("invoke_workflow crew").attributes or {}
    assert (root[semconv.RUN_USAGE_INPUT_TOKENS], root[semconv.RUN_USAGE_OUTPUT_TOKENS]) == (7, 2)
    assert run.trajectory().usage == Usage(input_tokens=7, output_tokens=2)


def test_a_model_call_inside_a_tool_nests_below_the_tool(recorded: Recorded) -> None:
    with recorded.turn() as run:
        tool = ToolInvocation(run, "summarise")
        with tool.active():
            ChatInvocation(run, "m").stop(ChatReply(content="short"))
        tool.stop("short")
    tree = span_tree(recorded.spans, with_steps=False).splitlines()
    assert tree[2:] == ["    execute_tool summarise", "      chat m"]


def test_a_run_inside_a_run_counts_its_own_steps(recorded: Recorded) -> None:
    outer = recorded.start("outer")
    with outer.active():
        turn = AgentInvocation(outer, AgentSpec(name="lead"))
        with turn.active():
            ChatInvocation(outer, "m").stop(ChatReply(content="one"))
            ChatInvocation(outer, "m").stop(ChatReply(content="two"))
            inner = recorded.start("inner")
            with inner.active():
                ToolInvocation(inner, "t").stop("tool of the inner run")
                ChatInvocation(inner, "m").stop(ChatReply(content="chat of the inner run"))
            inner.finish()
        turn.stop("two")
    outer.finish()
    assert [(s.index, s.agent) for s in inner.trajectory().steps] == [(0, "inner"), (1, "inner")]
    assert [s.content for s in outer.trajectory().steps] == ["one", "two"]


def test_nothing_is_current_outside_and_where_suppressed(recorded: Recorded) -> None:
    assert current_run() is None
    run = recorded.start()
    with run.active():
        assert current_run() is run
        with suppressed():
            assert current_invocation() is None
        seen = []
        thread = threading.Thread(target=lambda: seen.append(current_run()))
        thread.start()
        thread.join()
        assert seen == [None]
    run.finish()
    with run.active():
        assert current_run() is None, "a run that is over takes up nothing more"


def test_parallel_threads_get_different_steps(recorded: Recorded) -> None:
    run = recorded.start()
    barrier = threading.Barrier(8)

    def work(name: str) -> None:
        turn = AgentInvocation(run, AgentSpec(name=name), parent=run)
        barrier.wait()
        for _ in range(20):
            ChatInvocation(run, "m", agent=turn).stop(ChatReply(content=name))
        turn.stop(name)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, (f"agent{number}" for number in range(8))))
    run.finish()
    steps = run.trajectory().steps
    assert len(steps) == 160
    assert all(step.agent == step.content for step in steps)


def test_without_a_provider_the_record_is_complete() -> None:
    run = Emitter(capture=CaptureConfig()).start_run(RunStart(team="team", task="?"))
    with run.active():
        turn = AgentInvocation(run, AgentSpec(name="a"))
        with turn.active():
            ChatInvocation(run, "m").stop(ChatReply(content="hi"))
        turn.stop("hi")
    run.finish(output="hi")
    assert [s.content for s in run.trajectory().steps] == ["hi"]
    by_name = {record.name: record for record in run.records}
    assert by_name["chat m"].parent_id == by_name["invoke_agent a"].span_id
    assert by_name["invoke_agent a"].parent_id == by_name["invoke_workflow team"].span_id
    assert len({record.span_id for record in run.records}) == 3
    assert len({record.trace_id for record in run.records}) == 1


def test_runs_below_somebody_elses_span_have_ids_of_their_own_and_draw_none_of_the_users_numbers() -> None:
    outer = NonRecordingSpan(SpanContext(7, 7, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)))
    emitter = Emitter(tracer_provider=trace.NoOpTracerProvider(), capture=CaptureConfig())
    state = random.getstate()
    with use_span(outer):
        runs = [emitter.start_run(RunStart(team="team")) for _ in range(2)]
    for run in runs:
        run.finish()
    assert runs[0].span_id != runs[1].span_id
    assert random.getstate() == state


def test_a_provider_that_is_set_up_later_is_used_and_a_failing_tracer_does_not_reach_the_caller(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    emitter = Emitter(capture=CaptureConfig())
    late = TracerProvider()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: late)
    run = emitter.start_run(RunStart(team="team"))
    assert run.span.is_recording()
    run.finish()
    monkeypatch.setenv("TRACER_HOOKS_STRICT", "")
    broken = Mock(start_span=Mock(side_effect=OSError("tracer is broken")))
    monkeypatch.setattr(emitter, "tracer", lambda: broken)
    run = emitter.start_run(RunStart(team="team"))
    with run.active():
        ChatInvocation(run, "m").stop(ChatReply(content="hi"))
    run.finish()
    assert [s.content for s in run.trajectory().steps] == ["hi"]
    assert "tracer is broken" in caplog.text
