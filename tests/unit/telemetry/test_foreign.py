"""Traces of other instrumentations, recorded from the real ones and built after their documentation."""

import json
from typing import Any

import pytest

from tracer_hooks import semconv
from tracer_hooks.schema import Step, StepKind, Trajectory
from tracer_hooks.telemetry import SpanEvent, SpanRecord, SpanStatus, assemble, normalise, read_otlp, to_spans

from ._runs import FIXTURES, only, span


def operation(record: SpanRecord) -> object:
    return record.attributes.get(semconv.OPERATION_NAME)


def texts(messages: Any) -> list[tuple[str, str]]:
    return [(message["role"], message["parts"][0]["content"]) for message in messages]


# --- recorded: openinference-instrumentation-langchain 0.1.80, -autogen-agentchat 0.1.22, and
# opentelemetry-instrumentation-langchain 0.62.4, each with a two-agent team on a scripted model ---
@pytest.mark.parametrize(
    "name", ["openinference_langgraph.pb.xz", "openinference_langgraph_console.json.xz", "openllmetry_langgraph.pb.xz"]
)
def test_recorded_langgraph_trace_keeps_agents_text_tools_and_errors(name: str) -> None:
    run = only(read_otlp(FIXTURES / name))
    assert run.task == "How many people live in Paris?"
    assert run.final_output == "Answer: 2.1 million"
    assert run.team == "team"
    assert [(step.agent, step.kind, step.content) for step in run.steps] == [
        ("researcher", StepKind.TOOL_CALL, ""),
        ("researcher", StepKind.TOOL_CALL, ""),
        ("researcher", StepKind.MESSAGE, "Paris has 2.1 million people."),
        ("writer", StepKind.MESSAGE, "Answer: 2.1 million"),
    ]
    good, bad = run.steps[0].tool_calls[0], run.steps[1].tool_calls[0]
    assert (good.name, good.arguments, good.result, good.error, good.call_id) == (
        "lookup",
        {"city": "Paris"},
        "2.1 million",
        None,
        "call_1",
    )
    assert (bad.arguments, bad.error, bad.call_id) == ({"city": "Atlantis"}, "no such city: Atlantis", "call_2")
    assert {spec.name: spec.instructions for spec in run.agents} == {
        "researcher": "You research.",
        "writer": "You write.",
    }
    assert (run.usage.input_tokens, run.usage.output_tokens) == (48, 20)
    assert any(seen.source == "researcher" and seen.step == 2 for seen in run.steps[3].inputs)


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("openinference_langgraph.pb.xz", "openinference.instrumentation.langchain"),
        ("openllmetry_langgraph.pb.xz", "opentelemetry.instrumentation.langchain"),
    ],
)
def test_recorded_langgraph_trace_has_one_team_one_turn_an_agent_and_its_library(name: str, library: str) -> None:
    after = normalise(read_otlp(FIXTURES / name))
    found = [(operation(r), r.attributes.get(semconv.AGENT_NAME)) for r in sorted(after, key=lambda r: r.start_ns)]
    assert found.count(("invoke_workflow", None)) == 1
    assert [agent for kind, agent in found if kind == "invoke_agent"] == ["researcher", "writer"]
    assert [agent for kind, agent in found if kind in ("chat", "execute_tool")] == [*["researcher"] * 5, "writer"]
    assert only(after).instrumentation == library


def test_our_own_spans_name_no_library() -> None:
    (own,) = assemble(to_spans(Trajectory(run_id="r", steps=(Step(index=0, agent="a", content="x"),))))
    assert own.instrumentation is None


def test_recorded_autogen_trace_takes_the_agents_words_from_the_team() -> None:
    run = only(read_otlp(FIXTURES / "openinference_autogen.pb.xz"))
    assert run.team == "RoundRobinGroupChat"
    assert run.task == "How many people live in Paris?"
    assert [(step.agent, step.content) for step in run.steps] == [
        ("researcher", ""),
        ("researcher", "Paris has 2.1 million people."),
        ("writer", "Answer: 2.1 million"),
    ]
    assert run.steps[0].tool_calls[0].arguments == {"city": "Paris"}
    assert run.steps[0].tool_calls[0].result == "2.1 million"


def test_originals_are_kept_and_nothing_is_lost() -> None:
    def part_types(messages: Any) -> list[list[str]]:
        messages = json.loads(messages) if isinstance(messages, str) else messages
        return [[part["type"] for part in message["parts"]] for message in messages]

    replaced = {semconv.OPERATION_NAME, semconv.AGENT_NAME, semconv.TOOL_CALL_ARGUMENTS, semconv.TOOL_CALL_RESULT}
    messages = {semconv.INPUT_MESSAGES, semconv.OUTPUT_MESSAGES}
    for path in sorted(FIXTURES.glob("*.pb.xz")):
        before = read_otlp(path)
        for old, new in zip(before, normalise(before), strict=True):
            assert new.span_id == old.span_id
            for key in messages & old.attributes.keys():  # a tool's result may stand in them in another way
                assert part_types(new.attributes[key]) == part_types(old.attributes[key])
            kept = {key: value for key, value in old.attributes.items() if key not in replaced | messages}
            assert kept.items() <= new.attributes.items()
            assert old.status in (SpanStatus.UNSET, SpanStatus.OK, new.status)


def test_normalising_twice_changes_nothing_more() -> None:
    records = normalise(read_otlp(FIXTURES / "openinference_langgraph.pb.xz"))
    assert [run.steps for run in assemble(normalise(records))] == [run.steps for run in assemble(records)]


def test_own_spans_pass_unchanged_and_a_circle_of_parents_does_not_hang() -> None:
    kind = {semconv.OI_SPAN_KIND: "CHAIN"}
    assert len(normalise([span(1, 2, "a", kind), span(2, 1, "b", kind)])) == 2
    own = span(1, None, "chat m", {semconv.RUN_ID: "r", semconv.OPERATION_NAME: "chat", "llm.provider": "x"})
    assert normalise([own])[0] is own


# --- built: OpenInference with AGENT spans ---
def openinference() -> list[SpanRecord]:
    kind = semconv.OI_SPAN_KIND
    return [
        span(1, None, "crew", {kind: "CHAIN", "input.value": "Add 2 and 2", "output.value": "5"}),
        span(2, 1, "invoke_agent adder", {kind: "AGENT", "input.value": "Add 2 and 2"}),
        span(
            3,
            2,
            "ChatOpenAI",
            {
                kind: "LLM",
                "llm.model_name": "gpt-x",
                "llm.token_count.prompt": 9,
                "llm.token_count.completion": 4,
                "llm.input_messages.0.message.role": "system",
                "llm.input_messages.0.message.content": "You add.",
                "llm.input_messages.1.message.role": "user",
                "llm.input_messages.1.message.contents.0.message_content.type": "text",
                "llm.input_messages.1.message.contents.0.message_content.text": "Add 2 and 2",
                "llm.output_messages.0.message.role": "assistant",
                "llm.output_messages.0.message.content": "Let me see.",
                "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "add",
                "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"a": 2, "b": 2}',
            },
        ),
        span(
            4,
            2,
            "add",
            {kind: "TOOL", "tool.name": "add", "tool.parameters": '{"a": 2, "b": 2}', "input.value": "{}"},
            status=SpanStatus.ERROR,
            status_message="overflow",
            events=(SpanEvent(name="exception", attributes={"exception.type": "OverflowError"}),),
        ),
        span(5, 1, "whatever", {kind: "AGENT", "agent.name": "checker", "output.value": "5"}),
    ]


def test_openinference_agents_messages_and_failed_tool() -> None:
    records = {record.name: record for record in normalise(openinference())}
    assert [operation(record) for record in records.values()] == [
        "invoke_workflow",
        "invoke_agent",
        "chat",
        "execute_tool",
        "invoke_agent",
    ]
    chat = records["ChatOpenAI"].attributes
    assert texts(chat[semconv.INPUT_MESSAGES]) == [("system", "You add."), ("user", "Add 2 and 2")]
    assert chat[semconv.OUTPUT_MESSAGES][0]["parts"][1] == {
        "type": "tool_call",
        "id": "c1",
        "name": "add",
        "arguments": {"a": 2, "b": 2},
    }
    assert (chat[semconv.REQUEST_MODEL], chat[semconv.USAGE_INPUT_TOKENS], chat[semconv.USAGE_OUTPUT_TOKENS]) == (
        "gpt-x",
        9,
        4,
    )
    assert records["invoke_agent adder"].attributes[semconv.AGENT_NAME] == "adder"
    assert records["add"].attributes[semconv.ERROR_TYPE] == "OverflowError"
    run = only(openinference())
    assert [(step.agent, step.content) for step in run.steps] == [("adder", "Let me see."), ("checker", "5")]
    assert (run.steps[0].tool_calls[0].arguments, run.steps[0].tool_calls[0].error) == ({"a": 2, "b": 2}, "overflow")
    assert (run.task, run.final_output) == ("Add 2 and 2", "5")


def test_a_chain_inside_an_agent_is_plumbing_and_tokens_of_a_team_are_not_counted_again() -> None:
    inner = span(6, 2, "RunnableSequence", {semconv.OI_SPAN_KIND: "CHAIN", "input.value": "a", "output.value": "b"})
    after = normalise([*openinference(), inner])[-1]
    assert operation(after) is None
    assert (after.attributes["input.value"], after.attributes["output.value"]) == ("a", "b")
    records = openinference()
    records[0] = span(1, None, "crew", {semconv.OI_SPAN_KIND: "CHAIN", "llm.token_count.prompt": 9})
    assert only(records).usage.input_tokens == 9


# --- built: GenAI of older editions, OpenLLMetry before 0.50 ---
OPENLLMETRY = {
    "gen_ai.system": "OpenAI",
    "llm.request.type": "chat",
    "gen_ai.request.model": "gpt-x",
    "gen_ai.usage.prompt_tokens": 7,
    "gen_ai.usage.completion_tokens": 3,
    "gen_ai.prompt.0.role": "user",
    "gen_ai.prompt.0.content": "weather?",
    "gen_ai.prompt.1.role": "tool",
    "gen_ai.prompt.1.content": "rain",
    "gen_ai.prompt.1.tool_call_id": "c0",
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.content": "It rains.",
    "gen_ai.completion.0.finish_reason": "stop",
    "gen_ai.completion.0.tool_calls.0.id": "c1",
    "gen_ai.completion.0.tool_calls.0.name": "umbrella",
    "gen_ai.completion.0.tool_calls.0.arguments": '{"open": true}',
}


def test_openllmetry_prompts_and_completions() -> None:
    records = [
        span(1, None, "crewai.workflow", {"traceloop.span.kind": "workflow", "traceloop.entity.name": "crew"}),
        span(2, 1, "Forecaster.agent", {"traceloop.span.kind": "agent"}),
        span(3, 2, "openai.chat", OPENLLMETRY),
        span(
            4,
            2,
            "umbrella.tool",
            {
                "traceloop.span.kind": "tool",
                "traceloop.entity.name": "umbrella",
                "traceloop.entity.input": '{"open": true}',
                "traceloop.entity.output": '"done"',
            },
        ),
    ]
    after = normalise(records)
    assert [operation(record) for record in after] == ["invoke_workflow", "invoke_agent", "chat", "execute_tool"]
    attributes = after[2].attributes
    assert attributes[semconv.PROVIDER_NAME] == "OpenAI"
    assert attributes[semconv.INPUT_MESSAGES][1]["parts"] == [
        {"type": "tool_call_response", "id": "c0", "response": "rain"}
    ]
    assert attributes[semconv.OUTPUT_MESSAGES][0]["finish_reason"] == "stop"
    [step] = only(records).steps
    assert (step.agent, step.content, step.usage and step.usage.input_tokens) == ("Forecaster", "It rains.", 7)
    assert (step.tool_calls[0].arguments, step.tool_calls[0].result) == ({"open": True}, '"done"')


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        (
            {"input_str": "{'city': 'Köln', 'days': [1, 2], 'note': None}"},
            {"city": "Köln", "days": [1, 2], "note": None},
        ),
        ({"input_str": "{'city': 'Köln'}", "inputs": {"city": "Ulm"}}, {"city": "Ulm"}),
        ({"input_str": "{broken"}, "{broken"),
        ({"input_str": "Köln"}, "Köln"),
    ],
)
def test_what_langchain_gives_a_tool_as_text_is_read_as_its_arguments(given: dict[str, Any], arguments: object) -> None:
    traced = {"traceloop.span.kind": "tool", "traceloop.entity.name": "lookup"}
    records = [
        span(1, None, "crewai.workflow", {"traceloop.span.kind": "workflow"}),
        span(2, 1, "lookup.tool", {**traced, "traceloop.entity.input": json.dumps(given)}),
    ]
    [step] = only(records).steps
    assert step.tool_calls[0].arguments == arguments


def test_message_events_of_older_editions() -> None:
    events = (
        SpanEvent(name="gen_ai.system.message", attributes={"content": "Be brief."}),
        SpanEvent(name="gen_ai.user.message", attributes={"content": "hi"}),
        SpanEvent(name="gen_ai.tool.message", attributes={"content": "42", "id": "c0"}),
        SpanEvent(
            name="gen_ai.choice",
            attributes={"index": 0, "finish_reason": "stop", "message": '{"role": "assistant", "content": "hello"}'},
        ),
    )
    [record] = normalise([span(1, None, "chat gpt", {"gen_ai.system": "openai"}, events=events)])
    assert operation(record) == "chat"
    sent = record.attributes[semconv.INPUT_MESSAGES]
    assert texts(sent[:2]) == [("system", "Be brief."), ("user", "hi")]
    assert sent[2]["parts"] == [{"type": "tool_call_response", "id": "c0", "response": "42"}]
    assert texts(record.attributes[semconv.OUTPUT_MESSAGES]) == [("assistant", "hello")]
    assert record.events == events
    said = {
        name: json.dumps([{"role": role, "content": text}])
        for name, role, text in (("prompt", "user", "hi"), ("completion", "assistant", "hello"))
    }
    oldest = tuple(SpanEvent(name=f"gen_ai.content.{n}", attributes={f"gen_ai.{n}": t}) for n, t in said.items())
    [record] = normalise([span(1, None, "chat gpt", {}, events=oldest)])
    assert texts(record.attributes[semconv.INPUT_MESSAGES]) == [("user", "hi")]
    assert texts(record.attributes[semconv.OUTPUT_MESSAGES]) == [("assistant", "hello")]


def test_anthropic_blocks_become_tool_calls_and_results() -> None:
    blocks = [{"type": "text", "text": "I look."}, {"type": "tool_use", "id": "u1", "name": "look", "input": {"a": 1}}]
    given = [{"type": "tool_result", "tool_use_id": "u0", "content": [{"type": "text", "text": "dark"}]}]
    attributes = {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": json.dumps(given),
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": json.dumps(blocks),
    }
    [record] = normalise([span(1, None, "anthropic.chat", attributes)])
    assert record.attributes[semconv.INPUT_MESSAGES][0]["parts"] == [
        {"type": "tool_call_response", "id": "u0", "response": "dark"}
    ]
    assert record.attributes[semconv.OUTPUT_MESSAGES][0]["parts"] == [
        {"type": "text", "content": "I look."},
        {"type": "tool_call", "id": "u1", "name": "look", "arguments": {"a": 1}},
    ]


# --- built: OpenInference of the OpenAI Agents SDK, and items of OpenAI's Responses API ---
def handoff(tool: str, *, words: str = "") -> list[SpanRecord]:
    """Triage looks a number up and hands over to ``Money Desk`` by ``tool``, as one reply; none with ``tool=""``."""
    kind, reply = semconv.OI_SPAN_KIND, "llm.output_messages"
    place = 1 if words else 0  # what the model said and what it called are items of their own
    calls = f"{reply}.{place}.message.tool_calls"
    asked = {
        **({f"{reply}.0.message.role": "assistant", f"{reply}.0.message.content": words} if words else {}),
        f"{reply}.{place}.message.role": "assistant",
        f"{calls}.0.tool_call.function.name": "lookup",
        f"{calls}.0.tool_call.function.arguments": '{"query": "refund"}',
        f"{calls}.1.tool_call.function.name": tool,
    }
    desk = {"agent.name": "Money Desk", "graph.node.id": "Money Desk", "output.value": "42"}
    return [
        span(1, None, "Agent workflow", {kind: "AGENT"}),
        span(2, 1, "triage", {kind: "AGENT", "agent.name": "triage"}),
        span(3, 2, "response", {kind: "LLM", **(asked if tool else {})}),
        span(4, 2, "lookup", {kind: "TOOL", "tool.name": "lookup", "input.value": '{"query": "refund"}'}),
        span(5, 2, "handoff to Money Desk", {kind: "TOOL", "input.value": "triage", "output.value": "Money Desk"}),
        span(6, 1, "Money Desk", {kind: "AGENT", **desk}),
    ]


@pytest.mark.parametrize(
    ("tool", "called", "arguments"),
    [
        ("transfer_to_money_desk", "transfer_to_money_desk", {}),
        ("escalate", "escalate", {}),
        ("", "transfer_to_Money Desk", None),  # without content
    ],
)
def test_a_hand_off_and_the_span_that_only_tells_of_it_are_one_call(tool: str, called: str, arguments: object) -> None:
    for records in (handoff(tool), normalise(handoff(tool))):
        step = only(records).steps[0]
        assert (step.agent, step.kind, step.recipient) == ("triage", StepKind.HANDOFF, "Money Desk")
        assert [(call.name, call.arguments) for call in step.tool_calls] == [
            ("lookup", {"query": "refund"}),
            (called, arguments),
        ]


def test_words_and_calls_that_a_reply_lists_by_themselves_are_one_step() -> None:
    step = only(handoff("transfer_to_money_desk", words="Let me look.")).steps[0]
    assert (step.content, len(step.tool_calls)) == ("Let me look.", 2)


def test_a_hand_off_told_only_by_its_tool_names_the_agent_as_it_is_called() -> None:
    records = [record for record in handoff("transfer_to_money_desk") if "handoff" not in record.name]
    assert only(records).steps[0].recipient == "Money Desk"


def test_items_of_the_responses_api_are_read_as_calls_and_results() -> None:
    call = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "c1",
        "name": "lookup",
        "arguments": '{"query": "refund"}',
    }
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]}
    reasoned = {"type": "reasoning", "id": "rs_1", "summary": []}
    result = {"type": "function_call_output", "call_id": "c1", "output": "42"}
    kind = {semconv.OI_SPAN_KIND: "LLM", "agent.name": "triage"}
    asked = [{"role": "user", "content": "How much?"}]
    records = [
        span(
            2,
            1,
            "first",
            {**kind, "input.value": json.dumps(asked), "output.value": json.dumps([reasoned, said, call])},
        ),
        span(
            3,
            1,
            "second",
            {**kind, "input.value": json.dumps([*asked, said, call, result]), "output.value": "It is 42."},
        ),
    ]
    first, second = only([span(1, None, "desk", {semconv.OI_SPAN_KIND: "CHAIN"}), *records]).steps
    assert first.content == "Let me look."
    assert [(c.name, c.arguments, c.result, c.call_id) for c in first.tool_calls] == [
        ("lookup", {"query": "refund"}, "42", "c1")
    ]
    assert [(item.step, item.text) for item in second.inputs] == [(0, "42")]


@pytest.mark.parametrize(
    ("attributes", "name", "agent"),
    [
        ({"agent.name": "A", "graph.node.id": "B"}, "x", "A"),
        ({"graph.node.id": "B"}, "x", "B"),
        ({"gen_ai.agent.name": "C", "agent.name": "A"}, "x", "C"),
        ({}, "invoke_agent planner", "planner"),
        ({}, "Agent: planner", "planner"),
        ({}, "planner._execute_core", "planner"),
        ({}, "planner.on_messages_stream", "planner"),
        ({"metadata": '{"langgraph_node": "planner"}'}, "x", "planner"),
        ({"metadata": '{"langgraph_node": "agent", "langgraph_checkpoint_ns": "planner:1|agent:2"}'}, "x", "planner"),
        ({"metadata.lc_agent_name": "planner"}, "x", "planner"),
    ],
)
def test_name_of_an_agent(attributes: dict[str, Any], name: str, agent: str) -> None:
    [record] = normalise([span(1, None, name, {semconv.OI_SPAN_KIND: "AGENT", **attributes})])
    assert record.attributes[semconv.AGENT_NAME] == agent
