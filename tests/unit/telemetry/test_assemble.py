"""Spans become trajectories: in any order, of several runs, with what each agent received."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import numpy
import pytest

from tracer_hooks import semconv
from tracer_hooks.schema import AgentSpec, RunOutcome, StepKind
from tracer_hooks.telemetry import (
    AgentInvocation,
    ChatInvocation,
    ChatReply,
    RequestedTool,
    RunInvocation,
    SpanEvent,
    SpanRecord,
    SpanStatus,
    ToolInvocation,
    assemble,
    assistant_message,
    text_message,
    tool_message,
)

from ._runs import Recorded, span

CALL = RequestedTool(name="lookup", arguments={"query": "six times seven"}, id="c1")
USER = text_message("user", "What is six times seven?")
FOUND = "Six times seven is 42."
REPORT = "The table says it is 42."


def pipeline(run: RunInvocation) -> None:
    with run.active():
        turn = AgentInvocation(run, AgentSpec(name="researcher", instructions="search", tools=("lookup",)))
        with turn.active():
            asked = [text_message("system", "search"), USER]
            ChatInvocation(run, "m", messages=asked).stop(ChatReply(tool_calls=[CALL]))
            ToolInvocation(run, "lookup", arguments=CALL.arguments, call_id="c1").stop(FOUND)
            shown = [*asked, assistant_message("", [CALL]), tool_message("c1", FOUND)]
            ChatInvocation(run, "m", messages=shown).stop(ChatReply(content=REPORT))
        turn.stop(REPORT)
        turn = AgentInvocation(run, AgentSpec(name="writer"))
        with turn.active():
            asked = [text_message("system", "write"), USER, text_message("user", REPORT, name="researcher")]
            ChatInvocation(run, "m", messages=asked).stop(ChatReply(content="It is 42."))
        turn.stop("It is 42.")
    run.set_outcome(RunOutcome.SUCCEEDED)
    run.finish(output="It is 42.")


@pytest.fixture
def run() -> RunInvocation:
    run = Recorded().start("pipeline", task="What is six times seven?", framework="autogen")
    pipeline(run)
    return run


def test_a_run_becomes_a_trajectory(run: RunInvocation) -> None:
    trajectory = run.trajectory()
    assert (trajectory.team, trajectory.framework, trajectory.task) == (
        "pipeline",
        "autogen",
        "What is six times seven?",
    )
    assert (trajectory.outcome, trajectory.final_output) == (RunOutcome.SUCCEEDED, "It is 42.")
    assert [(s.agent, s.kind, s.content) for s in trajectory.steps] == [
        ("researcher", StepKind.TOOL_CALL, ""),
        ("researcher", StepKind.MESSAGE, REPORT),
        ("writer", StepKind.MESSAGE, "It is 42."),
    ]
    assert [(a.name, a.instructions, a.tools) for a in trajectory.agents] == [
        ("researcher", "search", ("lookup",)),
        ("writer", "write", ()),  # read off its system message
    ]


def test_inputs_say_which_step_they_come_from(run: RunInvocation) -> None:
    inputs = [[(i.source, i.step, i.text) for i in step.inputs] for step in run.trajectory().steps]
    task = ("user", None, "What is six times seven?")
    assert inputs == [[task], [("researcher", 0, FOUND)], [task, ("researcher", 1, REPORT)]]


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_spans_does_not_matter(run: RunInvocation, seed: int) -> None:
    records = list(run.records)
    random.Random(seed).shuffle(records)
    assert assemble(records) == [run.trajectory()]


def test_json_attributes_give_the_same(run: RunInvocation) -> None:
    def encoded(record: SpanRecord) -> SpanRecord:
        values = {k: json.dumps(v) if isinstance(v, (list, dict)) else v for k, v in record.attributes.items()}
        return replace(record, attributes=values)

    assert assemble([encoded(record) for record in run.records]) == [run.trajectory()]


def test_several_runs_are_kept_apart() -> None:
    recorded = Recorded()
    runs = [recorded.start(team, task=team) for team in ("one", "two", "three")]
    for run in runs:
        pipeline(run)
    records = [record for run in runs for record in run.records]
    random.Random(0).shuffle(records)
    assert [(t.team, t.run_id) for t in assemble(records)] == [(run.trajectory().team, run.run_id) for run in runs]


def test_without_step_indices_the_steps_go_by_time_and_call_id(run: RunInvocation) -> None:
    ours = (semconv.STEP_INDEX, semconv.RUN_ID)
    foreign = [replace(r, attributes={k: v for k, v in r.attributes.items() if k not in ours}) for r in run.records]
    (trajectory,) = assemble(foreign)
    assert [(s.agent, s.kind, s.content) for s in trajectory.steps] == [
        (s.agent, s.kind, s.content) for s in run.trajectory().steps
    ]
    assert trajectory.steps[0].tool_calls[0].result == FOUND


def test_a_tool_call_has_its_attempts_its_error_and_what_it_said_of_its_failure() -> None:
    with Recorded().turn() as run:
        asked = [RequestedTool(name="lookup", id=f"c{number}") for number in (1, 2, 3)]
        ChatInvocation(run, "m").stop(ChatReply(tool_calls=asked))
        for call_id in ("c1", "c1", "c2"):
            ToolInvocation(run, "lookup", call_id=call_id).fail(OSError("busy"))
        ToolInvocation(run, "lookup", call_id="c1").stop("42")
        ToolInvocation(run, "lookup", call_id="c3").stop("Error: no such row", error="no such row")
    (step,) = run.trajectory().steps
    assert step.kind is StepKind.TOOL_CALL
    assert [(call.attempts, call.result, call.error) for call in step.tool_calls] == [
        (3, "42", None),
        (1, None, "busy"),
        (1, "Error: no such row", "no such row"),
    ]


def test_calls_with_arrays_as_arguments_are_told_apart() -> None:
    with Recorded().turn() as run:
        ChatInvocation(run, "m").stop(ChatReply(content="adding"))
        for values in ([1.0, 2.0], [3.0, 4.0], [3.0, 4.0]):
            ToolInvocation(run, "add", arguments={"values": numpy.array(values)}).stop(str(sum(values)))
    calls = run.trajectory().steps[0].tool_calls
    assert [(c.arguments, c.attempts) for c in calls] == [({"values": [1.0, 2.0]}, 1), ({"values": [3.0, 4.0]}, 2)]


def test_a_refused_call_gets_its_result_from_the_next_request() -> None:
    with Recorded().turn() as run:
        ChatInvocation(run, "m", messages=[USER]).stop(ChatReply(tool_calls=[CALL]))
        shown = [USER, assistant_message("", [CALL]), tool_message("c1", "unknown argument 'query'")]
        ChatInvocation(run, "m", messages=shown).stop(ChatReply(content="sorry"))
    assert run.trajectory().steps[0].tool_calls[0].result == "unknown argument 'query'"


@pytest.mark.parametrize("operation", ["chat", "tool", "turn"])
def test_a_hand_off_names_its_recipient(operation: str) -> None:
    run = Recorded().start()
    with run.active():
        turn = AgentInvocation(run, AgentSpec(name="triage"))
        with turn.active():
            chat = ChatInvocation(run, "m")
            if operation == "chat":
                chat.hand_off("billing")
            chat.stop(ChatReply(content="billing, please", tool_calls=[CALL] if operation == "tool" else ()))
            if operation == "tool":
                tool = ToolInvocation(run, "lookup", call_id="c1")
                tool.hand_off("billing")
                tool.stop("passed on")
        if operation == "turn":
            turn.hand_off("billing")
        turn.stop()
    run.finish()
    (step,) = run.trajectory().steps
    assert (step.kind, step.recipient) == (StepKind.HANDOFF, "billing")


@pytest.mark.parametrize(
    "spoilt",
    [
        {semconv.INPUT_MESSAGES: "[not json"},
        {semconv.INPUT_MESSAGES: [1, None, {"parts": "x"}, {"role": "user"}]},
        {semconv.OUTPUT_MESSAGES: '{"role": 1}'},
        {semconv.OUTPUT_MESSAGES: [{"role": "assistant", "parts": [None, 3, {"type": "tool_call"}]}]},
        {semconv.STEP_INDEX: "seven"},
        {semconv.AGENT_NAME: 7},
        {semconv.USAGE_INPUT_TOKENS: "3"},
        {semconv.RUN_AGENTS: "[1, {}]"},
        {semconv.RUN_AGENTS: "[broken"},
    ],
)
def test_damaged_attributes_do_not_stop_the_rest(run: RunInvocation, spoilt: dict[str, Any]) -> None:
    records = [replace(r, attributes={**r.attributes, **spoilt}) for r in run.records]
    (trajectory,) = assemble(records)
    assert trajectory.run_id == run.run_id


def test_lost_and_looping_parents_do_not_stop_the_rest(run: RunInvocation) -> None:
    chat = next(r for r in run.records if r.name.startswith("chat"))
    turn = next(r for r in run.records if r.span_id == chat.parent_id)
    loop = [replace(r, parent_id=chat.span_id) if r is turn else r for r in run.records]
    lost = [r for r in run.records if r.parent_id is not None]
    for records in (loop, lost):
        (trajectory,) = assemble(records)
        assert len(trajectory.steps) == 3


def test_an_error_status_without_outcome_is_a_failed_run() -> None:
    root = span(1, None, "", {semconv.OPERATION_NAME: semconv.OP_INVOKE_WORKFLOW})
    (trajectory,) = assemble([replace(root, status=SpanStatus.ERROR, status_message="boom")])
    assert (trajectory.outcome, trajectory.outcome_reason) == (RunOutcome.FAILED, "boom")


def _foreign(number: int, operation: str, attributes: dict[str, Any] | None = None, **fields: Any) -> SpanRecord:
    """A span of another instrumentation, inside the first one."""
    values = {semconv.OPERATION_NAME: operation, **(attributes or {})}
    return span(number, 1 if number > 1 else None, "", values, **fields)


def test_an_exception_that_was_recorded_names_a_failure_without_a_message() -> None:
    raised = SpanEvent(name="exception", time_ns=1, attributes={semconv.EXCEPTION_MESSAGE: "refused"})
    other = SpanEvent(name="note", time_ns=2)
    failed: dict[str, Any] = {"status": SpanStatus.ERROR, "events": (raised, other)}
    records = [
        _foreign(1, semconv.OP_INVOKE_WORKFLOW),
        _foreign(2, semconv.OP_EXECUTE_TOOL, {semconv.TOOL_NAME: "lookup"}, **failed),
        _foreign(3, semconv.OP_CHAT, **failed),
        _foreign(4, semconv.OP_CHAT, {semconv.ERROR_TYPE: "TimeoutError"}, status=SpanStatus.ERROR),
        _foreign(5, semconv.OP_CHAT, status=SpanStatus.ERROR),
    ]
    (trajectory,) = assemble(records)
    assert trajectory.steps[0].tool_calls[0].error == "refused"
    assert [step.error for step in trajectory.steps[1:]] == ["refused", "TimeoutError", "failed"]


def test_the_answer_of_the_span_around_everything_is_the_runs() -> None:
    chat = _foreign(2, semconv.OP_CHAT, {semconv.OUTPUT_MESSAGES: [assistant_message("So far so good.", [])]})
    root = _foreign(1, semconv.OP_INVOKE_WORKFLOW, {semconv.OI_OUTPUT_VALUE: "It is 42."})
    assert assemble([root, chat])[0].final_output == "It is 42."
    assert assemble([_foreign(1, semconv.OP_INVOKE_WORKFLOW), chat])[0].final_output == "So far so good."


def test_instructions_as_a_plain_text_are_the_agents() -> None:
    told = {semconv.AGENT_NAME: "writer", semconv.SYSTEM_INSTRUCTIONS: "You write."}
    (trajectory,) = assemble([_foreign(1, semconv.OP_INVOKE_WORKFLOW), _foreign(2, semconv.OP_CHAT, told)])
    assert [(one.name, one.instructions) for one in trajectory.agents] == [("writer", "You write.")]


def test_a_time_beyond_the_calendar_is_unknown() -> None:
    late = 400_000 * 365 * 86_400 * 10**9
    root = _foreign(1, semconv.OP_INVOKE_WORKFLOW)
    (trajectory,) = assemble([root, _foreign(2, semconv.OP_CHAT, end_ns=late)])
    assert trajectory.steps[0].started_at is not None
    assert trajectory.steps[0].ended_at is None
