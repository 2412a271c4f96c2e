"""One act that two instrumentations saw, spans that name no team, and answers that stand beside other things."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tracer_hooks import semconv
from tracer_hooks.schema import StepKind
from tracer_hooks.telemetry import SpanRecord, SpanStatus, assemble, normalise, read_otlp

from ._runs import FIXTURES, only, span


def turn(number: int, parent: int | None, name: str, **attributes: Any) -> SpanRecord:
    return span(number, parent, name, {semconv.OPERATION_NAME: "invoke_agent", semconv.AGENT_NAME: name, **attributes})


def chat(number: int, parent: int | None, text: str, **fields: Any) -> SpanRecord:
    said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": text}]}])
    return span(number, parent, "chat", {semconv.OPERATION_NAME: "chat", semconv.OUTPUT_MESSAGES: said}, **fields)


def tool(number: int, parent: int | None, scope: str, *, name: str = "add", **fields: Any) -> SpanRecord:
    attributes = {semconv.OPERATION_NAME: "execute_tool", semconv.TOOL_NAME: name, **fields.pop("attributes", {})}
    return span(number, parent, f"execute_tool {name}", attributes, scope=scope, **fields)


@pytest.mark.parametrize(
    ("failure", "error"), [({}, None), ({"status": SpanStatus.ERROR, "status_message": "overflow"}, "overflow")]
)
def test_a_tool_call_seen_twice_is_one_call_that_tells_what_either_told(
    failure: dict[str, Any], error: str | None
) -> None:
    outer = tool(2, 1, "x", attributes={"input.value": '{"a": 1}', semconv.OI_OUTPUT_VALUE: "2"})
    inner = tool(3, 2, "framework", attributes={semconv.TOOL_CALL_ID: "c1"}, **failure)
    [step] = only([turn(1, None, "adder"), outer, inner]).steps
    [call] = step.tool_calls
    assert (call.name, call.arguments, call.result, call.call_id, call.attempts) == ("add", {"a": 1}, "2", "c1", 1)
    assert call.error == error


@pytest.mark.parametrize(
    ("inner", "calls"),
    [
        (tool(3, 2, "x", name="other"), ["add", "other"]),
        (tool(3, 2, "x", attributes={semconv.TOOL_CALL_ARGUMENTS: '{"a": 2}'}), ["add", "add"]),
        (tool(3, 2, "x", attributes={semconv.TOOL_CALL_ARGUMENTS: '{"a": 1}'}), ["add"]),
    ],
)
def test_a_tool_that_calls_another_or_itself_is_two_calls(inner: SpanRecord, calls: list[str]) -> None:
    outer = tool(2, 1, "x", attributes={semconv.TOOL_CALL_ARGUMENTS: '{"a": 1}'})
    run = only([turn(1, None, "adder"), outer, inner])
    assert [call.name for step in run.steps for call in step.tool_calls] == calls


def test_a_model_call_seen_three_times_is_one_step() -> None:
    middle = span(3, 2, "chat", {semconv.OPERATION_NAME: "chat", semconv.USAGE_INPUT_TOKENS: 7})
    outer = span(2, 1, "chat", {semconv.OPERATION_NAME: "chat"})
    run = only([turn(1, None, "adder"), outer, middle, chat(4, 3, "It is 4.")])
    assert [(step.content, step.attempts) for step in run.steps] == [("It is 4.", 1)]
    assert run.usage.input_tokens == 7


def test_our_own_model_call_stays_and_anothers_inside_it_is_passed_over() -> None:
    own = {semconv.RUN_ID: "r", semconv.OPERATION_NAME: "invoke_workflow"}
    records = [
        span(1, None, "team", own),
        span(2, 1, "chat", {**chat(2, 1, "It is 4.").attributes, semconv.STEP_INDEX: 0, semconv.AGENT_NAME: "adder"}),
        chat(3, 2, "It is 4."),
    ]
    assert normalise(records)[1] is records[1]
    assert [step.content for step in only(records).steps] == ["It is 4."]


def test_attempts_are_counted_once_for_two_instrumentations_side_by_side() -> None:
    asked = json.dumps([{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "add"}]}])
    known = {semconv.TOOL_CALL_ID: "c1", semconv.TOOL_CALL_RESULT: "4"}
    records = [
        turn(1, None, "adder"),
        span(2, 1, "chat", {semconv.OPERATION_NAME: "chat", semconv.OUTPUT_MESSAGES: asked}),
        tool(3, 1, "x", attributes=known),
        tool(4, 1, "y", attributes=known),
    ]
    [step] = only(records).steps
    assert [(call.result, call.attempts) for call in step.tool_calls] == [("4", 1)]


def test_the_making_of_an_agent_is_no_run_and_nothing_is_none() -> None:
    assert assemble(normalise([span(1, None, "create_agent a", {semconv.OPERATION_NAME: "create_agent"})])) == []
    assert assemble([]) == []
    assert len(only(read_otlp(FIXTURES / "openinference_autogen_golden.pb.xz")).steps) == 4


# --- teams ---
def agents() -> list[SpanRecord]:
    return [turn(2, 1, "scout"), chat(3, 2, "It is 4."), turn(4, 1, "writer"), chat(5, 4, "Four.")]


@pytest.mark.parametrize(
    ("root", "team"),
    [
        (span(1, None, "desk", {}), "desk"),
        (turn(1, None, "desk"), "desk"),
        (span(1, None, "invoke_graph", {semconv.OPERATION_NAME: "invoke_graph"}), ""),
        (span(1, None, "POST /ask", {"http.request.method": "POST"}), ""),
        (span(1, None, "handle", {}, kind="server"), ""),
    ],
)
def test_the_team_is_the_span_around_all_turns_unless_it_is_a_servers(root: SpanRecord, team: str) -> None:
    records = [root, *agents()]
    for before, after in zip(records[1:], normalise(records)[1:], strict=True):
        assert after.attributes.items() >= before.attributes.items()
    run = only(records)
    assert (run.team, [step.agent for step in run.steps]) == (team, ["scout", "writer"])
    assert run.final_output == "Four."


def test_an_agent_with_acts_of_its_own_is_no_team_and_two_agents_without_a_span_around_them_are_a_run() -> None:
    run = only([turn(1, None, "lead"), *agents(), chat(6, 1, "Done.")])
    assert (run.team, [step.agent for step in run.steps]) == ("", ["scout", "writer", "lead"])
    first, *rest = agents()
    assert [step.agent for step in only([replace(first, parent_id=None), *rest]).steps] == ["scout", "writer"]


def asked(*texts: str) -> dict[str, str]:
    messages = [{"role": "user", "parts": [{"type": "text", "content": text}]} for text in texts]
    return {semconv.INPUT_MESSAGES: json.dumps(messages)}


@pytest.mark.parametrize(
    ("manager", "member", "task"),
    [
        (("What is 2 + 2?", "Choose who speaks next."), ("What is 2 + 2?",), "What is 2 + 2?"),
        (("What is 2 + 2?", "Choose who speaks next."), ("Add them.",), "What is 2 + 2?"),
        (("Two and two are these.", "What is 2 + 2?"), ("Two and two are these.", "What is 2 + 2?"), "What is 2 + 2?"),
        (("Two and two are these.", "What is 2 + 2?"), (), "What is 2 + 2?"),
    ],
)
def test_the_task_is_what_all_were_asked_and_not_what_a_manager_is_told(
    manager: tuple[str, ...], member: tuple[str, ...], task: str
) -> None:
    records = [turn(2, 1, "boss", **asked(*manager)), chat(3, 2, "scout"), turn(4, 1, "scout", **asked(*member))]
    assert only([span(1, None, "desk", {}), *records, chat(5, 4, "Four.")]).task == task


def test_a_session_that_goes_on_has_a_task_of_its_own() -> None:
    said = [*json.loads(asked("What is 1 + 1?")[semconv.INPUT_MESSAGES]), {"role": "assistant", "parts": []}]
    shown = json.dumps(said + json.loads(asked("What is 2 + 2?")[semconv.INPUT_MESSAGES]))
    spoken = chat(2, 1, "Four.")
    spoken = replace(spoken, attributes={**spoken.attributes, semconv.INPUT_MESSAGES: shown})
    assert only([turn(1, None, "adder"), spoken]).task == "What is 2 + 2?"


def test_a_run_that_broke_off_in_a_model_call_has_no_answer_and_its_teams_name() -> None:
    silent = span(6, 4, "chat", {semconv.OPERATION_NAME: "chat"})
    scout, said, writer, _ = agents()
    assert only([span(1, None, "desk", {}), scout, said, writer, silent]).final_output is None
    run = only([span(1, None, "workflow.run", {"workflow.name": "desk"}), scout, said])
    assert (run.team, run.final_output) == ("desk", "It is 4.")


def test_the_framework_is_that_of_the_agents_and_not_of_the_users_span_around_them() -> None:
    scout, said, *_ = (replace(record, scope="gcp.vertex.agent") for record in agents())
    assert only([span(1, None, "GET /ask", {}, scope="shop"), scout, said]).framework == "google_adk"
    scout, said = (replace(record, scope="some.agents") for record in (scout, said))
    assert only([span(1, None, "GET /ask", {}, scope="shop"), scout, said]).framework == "some.agents"


@pytest.mark.parametrize(
    ("reply", "recipient"),
    [
        ('{"terminate": false, "next_speaker": "scout"}', "scout"),
        ('{"is_request_satisfied": {"answer": false}, "next_speaker": {"answer": "scout"}}', "scout"),
        ('{"is_request_satisfied": {"answer": true}, "next_speaker": {"answer": "scout"}}', None),
        ('{"terminate": true, "next_speaker": null}', None),
        ('{"next_speaker": ["scout"]}', None),
        ('["next_speaker"]', None),
        ('{"next_speaker": "scout"', None),
    ],
)
def test_a_manager_that_chooses_the_next_speaker_hands_over(reply: str, recipient: str | None) -> None:
    first, *_ = only([turn(1, None, "boss"), chat(2, 1, reply)]).steps
    assert (first.recipient, first.kind) == (recipient, StepKind.MESSAGE if recipient is None else StepKind.HANDOFF)


def test_what_the_user_quotes_of_another_agent_is_that_agents() -> None:
    quotes = [
        "[scout] called tool `add` with parameters: {'a': 2}",
        "[scout] `add` tool returned result: {'result': 'It is 4.'}",
        "[scout] said: I guess so.",
    ]
    shown = asked("What is 2 + 2?")[semconv.INPUT_MESSAGES]
    parts = [{"type": "text", "content": text} for text in ("For context:", *quotes)]
    heard = {semconv.INPUT_MESSAGES: json.dumps([*json.loads(shown), {"role": "user", "parts": parts}])}
    spoken = chat(2, 1, "Four.")
    spoken = replace(spoken, attributes={**spoken.attributes, **heard})
    [step] = only([turn(1, None, "writer"), spoken]).steps
    assert [(item.source, item.text) for item in step.inputs] == [
        ("user", "What is 2 + 2?"),
        ("scout", "It is 4.\nI guess so."),
    ]


# --- texts that stand beside other things ---
def test_what_was_said_is_not_the_prompt_beside_it() -> None:
    output = json.dumps({"raw": "Four.", "messages": [{"role": "user", "content": "What is 2 + 2?"}]})
    agent = span(1, None, "w", {semconv.OI_SPAN_KIND: "AGENT", "agent.name": "writer", "output.value": output})
    [step] = only([agent]).steps
    assert step.content == "Four."
    assert [item.text for item in step.inputs] == ["What is 2 + 2?"]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ('[{"text": "a"}, {"text": "b"}]', "a\nb"),
        ('[{"type": "text", "text": "a"}]', "a"),
        ('[{"type": "image", "text": "a"}]', '[{"type": "image", "text": "a"}]'),
        ('["a", "b"]', '["a", "b"]'),
        ("[]", "[]"),
        ('{"result": "a"}', "a"),  # as Gemini wants it
        ('{"result": 3}', '{"result": 3}'),
        ('{"result": "a", "unit": "b"}', '{"result": "a", "unit": "b"}'),
    ],
)
def test_blocks_of_text_that_a_tool_returned_are_read_as_text(result: str, text: str) -> None:
    [step] = only([turn(1, None, "adder"), tool(2, 1, "x", attributes={semconv.TOOL_CALL_RESULT: result})]).steps
    assert [call.result for call in step.tool_calls] == [text]


def test_what_a_tool_takes_is_not_what_it_was_given() -> None:
    described = json.dumps({"a": {"type": "integer", "description": "A number."}})
    given = json.dumps({"args": [], "kwargs": {"a": 1}})
    attributes = {semconv.OI_TOOL_PARAMETERS: described, "input.value": given}
    [step] = only([turn(1, None, "adder"), tool(2, 1, "x", attributes=attributes)]).steps
    assert [call.arguments for call in step.tool_calls] == [{"a": 1}]


def test_an_answer_given_by_a_tool_is_the_text_of_its_step() -> None:
    answered = tool(3, 1, "x", attributes={semconv.TOOL_CALL_RESULT: "4"})
    run = only([turn(1, None, "adder", **{"output.value": "4"}), chat(2, 1, ""), answered])
    assert [(step.content, len(step.tool_calls)) for step in run.steps] == [("4", 1)]


@pytest.mark.parametrize(
    ("arguments", "returned"),
    [
        ({"copies": 12, "note": "ok"}, '{"copies":12,"note":"ok"}'),
        ({"response": 12}, 12),
        ({"response": ["Twelve.", "Bye."]}, '["Twelve.","Bye."]'),
    ],
)
def test_an_answer_in_the_form_of_a_call_that_no_tool_carries_out_is_words(arguments: Any, returned: Any) -> None:
    asked = {"type": "tool_call", "id": "c", "name": "final_result", "arguments": json.dumps(arguments)}
    reply = [{"role": "assistant", "parts": [asked]}]
    records = [
        turn(1, None, "adder", final_result=returned),
        span(2, 1, "chat", {semconv.OPERATION_NAME: "chat", semconv.OUTPUT_MESSAGES: json.dumps(reply)}),
    ]
    run = only(records)
    assert [(step.kind, step.content, step.tool_calls) for step in run.steps] == [
        (StepKind.MESSAGE, str(returned), ()),
    ]
    assert run.final_output == str(returned)
    [refused] = only([turn(1, None, "adder", final_result="Done."), *records[1:]]).steps
    assert (refused.kind, len(refused.tool_calls)) == (StepKind.TOOL_CALL, 1)


def test_damaged_parts_do_no_harm() -> None:
    messages = json.dumps(
        [{"role": "user", "parts": [None, 3, {"type": "tool_call_response", "id": "c", "result": 4}]}]
    )
    broken = span(2, 1, "chat", {semconv.OPERATION_NAME: "chat", semconv.INPUT_MESSAGES: messages})
    roster = span(
        1, None, "crew", {semconv.OI_SPAN_KIND: "CHAIN", "crew_agents": '[{"role": "a", "tools": [3, {}]}, 4]'}
    )
    assert len(only([roster, broken]).steps) == 1
    for value in ('"', "3", '"AGENT', "null"):
        assert normalise([span(1, None, "x", {"mlflow.spanType": value, "mlflow.spanInputs": value})])
