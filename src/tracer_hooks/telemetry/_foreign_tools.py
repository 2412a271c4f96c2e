"""Tool calls as other instrumentations write them: name, arguments, id and result."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.schema import to_json_value, to_text
from tracer_hooks.telemetry._foreign_messages import block_text, decoded
from tracer_hooks.telemetry._span_record import SpanRecord

TRACELOOP_NAME = "traceloop.entity.name"
TRACELOOP_INPUT = "traceloop.entity.input"
TRACELOOP_OUTPUT = "traceloop.entity.output"
_SCHEMA_KEYS = {"type", "properties"}
_DESCRIPTION_KEYS = {"type", "description"}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back."""

    text: str | None = None
    call_id: str | None = None
    failed: bool = False


def tool_attributes(record: SpanRecord, parent: SpanRecord | None) -> dict[str, Any]:
    """The GenAI attributes of a tool span, from whatever keys it has."""
    name = tool_name(record)
    result = tool_result(record)
    requested = _requested_by(parent, name, result.call_id)
    arguments = _arguments(record)
    if not isinstance(arguments, Mapping) and requested is not None:
        arguments = requested.get("args", arguments)
    call_id = (
        record.attributes.get(semconv.TOOL_CALL_ID)
        or record.attributes.get("tool_call.id")
        or record.attributes.get(semconv.OI_TOOL_ID)
        or result.call_id
        or _call_id_of(record)
        or (requested or {}).get("id")
    )
    found = {
        semconv.TOOL_NAME: name,
        semconv.TOOL_CALL_ID: call_id,
        semconv.TOOL_CALL_RESULT: result.text,
        semconv.TOOL_CALL_ARGUMENTS: _as_attribute(arguments),
        semconv.TOOL_DESCRIPTION: record.attributes.get(semconv.OI_TOOL_DESCRIPTION),
    }
    return {key: value for key, value in found.items() if value is not None}


def tool_name(record: SpanRecord) -> str:
    """The tool's name."""
    for key in (semconv.TOOL_NAME, semconv.OI_TOOL_NAME, TRACELOOP_NAME):
        if record.attributes.get(key):
            return to_text(record.attributes[key])
    return record.name.removeprefix("execute_tool ").removesuffix(".tool").strip()


def tool_result(record: SpanRecord) -> ToolResult:
    """What the tool returned, taken out of a LangChain message when it stands in one."""
    for key in (semconv.TOOL_CALL_RESULT, semconv.OI_OUTPUT_VALUE, TRACELOOP_OUTPUT):
        if record.attributes.get(key) is not None:
            return _opened_result(record.attributes[key])
    return ToolResult()


def _opened_result(value: Any) -> ToolResult:
    fields = decoded(value)
    if not isinstance(fields, Mapping):
        return ToolResult(text=_as_attribute(block_text(value)))
    is_callback = "output" in fields and "kwargs" in fields  # OpenLLMetry keeps the callback's own arguments
    inside = decoded(fields["output"]) if is_callback else fields
    for wrapper in ("kwargs", "data"):
        if isinstance(inside, Mapping) and isinstance(inside.get(wrapper), Mapping):
            inside = inside[wrapper]
    if isinstance(inside, Mapping) and "tool_call_id" in inside and "content" in inside:
        return ToolResult(
            text=_as_attribute(inside["content"]),
            call_id=inside["tool_call_id"],
            failed=inside.get("status") == "error",
        )
    return ToolResult(text=_as_attribute(inside if is_callback else value))


def _arguments(record: SpanRecord) -> Any:
    own = decoded(record.attributes.get(semconv.TOOL_CALL_ARGUMENTS))
    if own is not None:
        return _opened_arguments(own)
    parameters = decoded(record.attributes.get(semconv.OI_TOOL_PARAMETERS))
    if parameters is not None and not _is_schema(parameters):
        return parameters
    for key in (semconv.OI_INPUT_VALUE, TRACELOOP_INPUT):
        if record.attributes.get(key) is not None:
            return _opened_arguments(decoded(record.attributes[key]))
    return None


def _is_schema(value: Any) -> bool:
    """Whether it describes what a tool takes, instead of saying what it was given."""
    if not isinstance(value, Mapping):
        return False
    described = [isinstance(item, Mapping) and item.keys() >= _DESCRIPTION_KEYS for item in value.values()]
    return value.keys() >= _SCHEMA_KEYS or (bool(described) and all(described))


def _opened_arguments(value: Any) -> Any:
    if isinstance(value, Mapping) and isinstance(value.get("kwargs"), Mapping) and value.get("args") == []:
        return value["kwargs"]  # the call of the function that carries the tool out, as of smolagents
    if isinstance(value, Mapping) and "input_str" in value:  # OpenLLMetry keeps the callback's own arguments
        value = value.get("inputs") or value["input_str"]
    if isinstance(value, str) and value.lstrip().startswith("{"):  # LangChain's input_str is Python's repr
        try:
            return ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return value
    return value


def _call_id_of(record: SpanRecord) -> str | None:
    inside = decoded(record.attributes.get(TRACELOOP_INPUT))
    inner = inside.get("kwargs") if isinstance(inside, Mapping) else None
    return inner.get("tool_call_id") if isinstance(inner, Mapping) else None


def _requested_by(parent: SpanRecord | None, name: str, call_id: str | None) -> Mapping[str, Any] | None:
    """The model's call in the input of LangGraph's tool node, which alone knows a failed call's id."""
    if parent is None:
        return None
    value = decoded(parent.attributes.get(semconv.OI_INPUT_VALUE, parent.attributes.get(TRACELOOP_INPUT)))
    value = value.get("inputs") if isinstance(value, Mapping) else value
    calls = [call for call in value or () if isinstance(call, Mapping)] if isinstance(value, list) else []
    calls = [call for call in calls if call.get("name") == name and call_id in (None, call.get("id"))]
    return calls[0] if len(calls) == 1 else None


def _as_attribute(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(to_json_value(value), ensure_ascii=False)
