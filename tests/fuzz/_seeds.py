"""One small valid record of every shape that is read, as plain data."""

import json
from typing import Any

_TRACE = "0af7651916cd43dd8448eb211c80319c"


def trajectory() -> dict[str, Any]:
    call = {"name": "calc", "arguments": {"x": [1, 2]}, "result": "6", "error": None, "call_id": "c1", "attempts": 1}
    first = {
        "index": 0, "agent": "a", "content": "2+3=6", "kind": "tool_call", "tool_calls": [call],
        "inputs": [{"source": "user", "text": "add 2 and 3"}], "usage": {"input_tokens": 3, "output_tokens": 4},
        "started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:00:01Z", "span_id": "00000000000000aa",
    }  # fmt: skip
    second = {
        "index": 1, "agent": "b", "content": "The answer is 6", "model": "m", "recipient": "a",
        "inputs": [{"source": "a", "step": 0, "text": "2+3=6"}],
    }  # fmt: skip
    return {
        "schema_version": 1, "run_id": "r1", "team": "t", "framework": "python", "task": "add 2 and 3",
        "agents": [{"name": "a", "instructions": "do", "tools": ["calc"]}, {"name": "b"}], "steps": [first, second],
        "outcome": "failed", "outcome_reason": "check: expected '5', got '6'", "final_output": "6", "reference": "5",
        "trace_id": "0" * 31 + "1",
    }  # fmt: skip


def labelled() -> dict[str, Any]:
    return {
        "trajectory": trajectory(), "decisive": {"agent": "a", "step": 0, "error_mode": "FM-3.2", "reason": "x"},
        "faults": [{"agent": "a", "error_mode": "FM-3.2"}], "label_source": "human", "question_id": "q",
        "verification": {"clean_run_id": "r0"},
    }  # fmt: skip


def whowhen() -> dict[str, Any]:
    history = [
        {"content": "2+3=6", "role": "assistant", "name": "A_Expert"},
        {"content": "exitcode: 1 (execution failed)\nerror", "role": "user", "name": "Computer_terminal"},
        {"content": "6", "role": "Orchestrator (-> WebSurfer)"},
    ]
    return {
        "is_correct": False, "question": "What is 2+3?", "question_ID": "q1", "ground_truth": "5", "history": history,
        "mistake_agent": "A_Expert", "mistake_step": "0", "mistake_reason": "wrong",
        "system_prompt": {"A_Expert": "you are"},
    }  # fmt: skip


def aegis_nested() -> dict[str, Any]:
    turns = [
        {"step": 1, "agent_name": "A", "content": "2+3=6", "phase": "p"},
        {"step": 2, "agent_name": "B", "content": "ok 6"},
    ]
    return {
        "id": "x1",
        "metadata": {"framework": "mad"},
        "input": {"query": "q?", "conversation_history": turns, "final_output": "6"},
        "output": {"faulty_agents": [{"agent_name": "A", "error_type": "FM-1.1", "injection_strategy": "p"}]},
        "ground_truth": {"correct_answer": "5"},
    }


def aegis_flat() -> dict[str, Any]:
    turns = [{"agent_name": "A", "content": "x"}, {"agent_name": "B", "content": "y"}]
    return {"question": "q?", "trajectory": turns, "faulty_agents": ["A"]}


def agentrx_run() -> dict[str, Any]:
    call = [{"sub_index": 1, "role": "assistant", "content": "call"}]
    call.append({"sub_index": 2, "role": "tool", "name": "f", "content": "Error: x"})
    asked = [{"sub_index": 1, "role": "user", "content": "hi"}]
    steps = [{"index": 1, "substeps": asked}, {"index": 2, "substeps": call}]
    return {"trajectory_id": "tau_retail_3", "instruction": "do it", "steps": steps}


def agentrx_annotation() -> dict[str, Any]:
    failure = {
        "failure_id": 1, "step_number": 2, "step_reason": "bad", "failure_category": "Plan Adherence Failure",
        "failed_agent": "assistant",
    }  # fmt: skip
    cause = {"failure_id": 1, "reason_for_root_cause": "x"}
    return {"trajectory_id": "3", "failures": [failure], "root_cause": cause}


def agentrx() -> dict[str, Any]:
    return {**agentrx_annotation(), **agentrx_run()}


def trail_run() -> dict[str, Any]:
    def span(name: str, second: int, children: list[Any], kind: str, **attributes: Any) -> dict[str, Any]:
        named = {key.replace("__", "."): value for key, value in attributes.items()}
        return {
            "timestamp": f"2025-03-19T16:38:{second:02}.1Z", "trace_id": "a" * 32, "span_id": name, "span_name": name,
            "duration": "PT1S", "status_code": "Unset", "scope_name": "openinference", "child_spans": children,
            "span_attributes": {"openinference.span.kind": kind, **named},
        }  # fmt: skip

    model = span(
        "s2", 4, [], "LLM", input__value="i", output__value="42", llm__input_messages__0__message__role="user",
        llm__input_messages__0__message__content="q", llm__output_messages__0__message__role="assistant",
        llm__output_messages__0__message__content="42", llm__model_name="m",
    )  # fmt: skip
    tool = span("s3", 5, [], "TOOL", tool__name="f", input__value="x", output__value="y")
    asked = '{"task": "t?"}'
    root = span("s1", 3, [model, tool], "AGENT", input__value=asked, output__value="o", agent__name="boss")
    return {"trace_id": "a" * 32, "spans": [root]}


def trail_annotation() -> dict[str, Any]:
    errors = [{"category": "Goal Deviation", "location": "s3", "evidence": "e", "description": "d", "impact": "HIGH"}]
    errors.append({"category": "Resource Abuse", "location": "s1", "evidence": "e", "impact": "LOW"})
    return {"trace_id": "a" * 32, "errors": errors, "scores": [{"overall": 1}]}


def trail_row() -> dict[str, Any]:
    return {"trace": json.dumps(trail_run()), "labels": json.dumps(trail_annotation())}


def _attribute(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}


def _span(number: int, parent: int, name: str, *attributes: Any, **more: Any) -> dict[str, Any]:
    """A span in OTLP JSON."""
    return {
        "traceId": _TRACE, "spanId": f"{number:016x}", **({"parentSpanId": f"{parent:016x}"} if parent else {}),
        "name": name, "startTimeUnixNano": str(1_700_000_000_000_000_000 + number * 10**9),
        "endTimeUnixNano": str(1_700_000_000_500_000_000 + number * 10**9), "attributes": list(attributes), **more,
    }  # fmt: skip


def otlp() -> dict[str, Any]:
    failed = {
        "timeUnixNano": "1700000000000000001", "name": "exception",
        "attributes": [_attribute("exception.type", "E"), _attribute("exception.message", "m")],
    }  # fmt: skip
    link = {"traceId": _TRACE, "spanId": "00000000000000ff", "attributes": []}

    def span(number: int, parent: int, name: str, operation: str, *attributes: Any) -> dict[str, Any]:
        named = _attribute("gen_ai.operation.name", operation)
        more = {"kind": 1, "status": {"code": 0}, "events": [failed], "links": [link]}
        return _span(number, parent, name, named, *attributes, **more)

    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "hi"}]}])
    call = {"type": "tool_call", "id": "c", "name": "f", "arguments": {"a": 1}}
    told = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "2+3=6"}, call]}])
    roster = json.dumps([{"name": "a", "instructions": "i", "tools": ["f"]}])
    run = (_attribute("tracer_hooks.run.id", "r"), _attribute("tracer_hooks.run.agents", roster))
    chat = (
        _attribute("gen_ai.input.messages", asked), _attribute("gen_ai.output.messages", told),
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "5"}},
    )  # fmt: skip
    tool = (
        _attribute("gen_ai.tool.name", "f"), _attribute("gen_ai.tool.call.arguments", '{"a":1}'),
        _attribute("gen_ai.tool.call.result", "ok"),
    )  # fmt: skip
    index = {"key": "tracer_hooks.step.index", "value": {"intValue": "0"}}
    spans = [
        span(1, 0, "wf", "invoke_workflow", *run),
        span(2, 1, "agent", "invoke_agent", _attribute("gen_ai.agent.name", "a")),
        span(3, 2, "chat", "chat", *chat, index),
        span(4, 2, "tool", "execute_tool", *tool, index),
        span(5, 1, "agent2", "invoke_agent", _attribute("gen_ai.agent.name", "b"), chat[1]),
    ]
    scope = {"scope": {"name": "opentelemetry.instrumentation.langchain"}, "spans": spans}
    resource = {"attributes": [_attribute("service.name", "x")]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}


def console_span() -> dict[str, Any]:
    """What the SDK's console exporter prints, with the attributes of OpenLLMetry."""
    attributes = {
        "gen_ai.operation.name": "chat", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "hi",
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "yo", "llm.usage.total_tokens": 5,
        "traceloop.span.kind": "workflow", "traceloop.entity.input": '{"inputs":{}}', "traceloop.entity.name": "x",
    }  # fmt: skip
    return {
        "name": "chat", "kind": "SpanKind.INTERNAL", "parent_id": None, "status": {"status_code": "UNSET"},
        "context": {"trace_id": f"0x{_TRACE}", "span_id": "0x00000000000000a1", "trace_state": "[]"},
        "start_time": "2026-01-01T00:00:00.000000Z", "end_time": "2026-01-01T00:00:01Z", "attributes": attributes,
        "events": [], "links": [], "resource": {"attributes": {"service.name": "x"}, "schema_url": ""},
    }  # fmt: skip


def openinference() -> dict[str, Any]:
    """Spans of OpenInference in OTLP JSON."""

    def span(number: int, parent: int, kind: str, **attributes: str) -> dict[str, Any]:
        named = {"openinference.span.kind": kind, **attributes}
        pairs = [_attribute(key.replace("__", "."), value) for key, value in named.items()]
        return _span(number, parent, f"n{number}", *pairs)

    messages = json.dumps({"messages": [{"role": "user", "content": "q"}, {"type": "ai", "data": {"content": "z"}}]})
    spans = [
        span(1, 0, "CHAIN", input__value=messages, metadata='{"langgraph_node": "a"}'),
        span(2, 1, "AGENT", agent__name="a", input__value=messages, output__value=messages),
        span(
            3, 2, "LLM", llm__output_messages__0__message__role="assistant",
            llm__output_messages__0__message__content="6", llm__input_messages__0__message__role="user",
            llm__output_messages__0__message__tool_calls__0__tool_call__function__name="f",
            llm__output_messages__0__message__tool_calls__0__tool_call__function__arguments='{"a": 1}',
        ),
        span(4, 2, "TOOL", tool__name="f", input__value='{"a": 1}', output__value="ok"),
    ]  # fmt: skip
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "openinference"}, "spans": spans}]}]}


def tape() -> dict[str, Any]:
    served = {
        "agent": "a", "step": 0, "digest": "d", "messages": [0], "content": "yo", "chunks": ["y", "o"],
        "tool_calls": [{"name": "f", "arguments": {"a": 1}, "id": "c"}],
        "usage": {"input_tokens": 3, "output_tokens": 4}, "latency_s": 0.5,
    }  # fmt: skip
    tool = {"agent": "a", "name": "f", "step": 0, "digest": "t", "arguments": {"a": 1}, "content": "6"}
    return {
        "schema_version": 1, "run_id": "r1", "tool_calls": [tool],
        "messages": [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}],
        "model_calls": [served, {"agent": "b", "step": 1, "digest": "e", "error": "ValueError: no"}],
    }  # fmt: skip
