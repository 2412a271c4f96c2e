"""OpenInference's input and output values beside the GenAI keys, for readers that do not derive them, as Phoenix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.schema import to_text
from tracer_hooks.telemetry._messages import message_text


def openinference_values(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """``input.value`` and ``output.value`` with their MIME types, and the keys of a model or tool call."""
    kind = attributes.get(semconv.OI_SPAN_KIND)
    if kind == semconv.OI_KIND_TOOL:
        values = _value("input", attributes.get(semconv.TOOL_CALL_ARGUMENTS))
        values |= _value("output", attributes.get(semconv.TOOL_CALL_RESULT))
        return {**values, semconv.OI_TOOL_NAME: attributes.get(semconv.TOOL_NAME)}
    if kind == semconv.OI_KIND_CHAIN:
        values = _value("input", attributes.get(semconv.RUN_TASK))
        return values | _value("output", attributes.get(semconv.RUN_FINAL_OUTPUT))
    values = _value("input", _last_text(attributes.get(semconv.INPUT_MESSAGES)))
    values |= _value("output", _last_text(attributes.get(semconv.OUTPUT_MESSAGES)))
    if kind == semconv.OI_KIND_AGENT:
        values |= dict.fromkeys((semconv.OI_AGENT_NAME, semconv.OI_GRAPH_NODE_ID), attributes.get(semconv.AGENT_NAME))
    if kind == semconv.OI_KIND_LLM:
        values[semconv.OI_LLM_MODEL] = attributes.get(semconv.REQUEST_MODEL)
        values[semconv.OI_LLM_TOKENS_PROMPT] = attributes.get(semconv.USAGE_INPUT_TOKENS)
        values[semconv.OI_LLM_TOKENS_COMPLETION] = attributes.get(semconv.USAGE_OUTPUT_TOKENS)
    return values


_KEYS = {
    "input": (semconv.OI_INPUT_VALUE, semconv.OI_INPUT_MIME),
    "output": (semconv.OI_OUTPUT_VALUE, semconv.OI_OUTPUT_MIME),
}


def _value(side: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    key, mime = _KEYS[side]
    return {key: value, mime: semconv.MIME_TEXT if isinstance(value, str) else semconv.MIME_JSON}


def _last_text(messages: Any) -> str | None:
    return to_text(message_text(messages[-1])) if isinstance(messages, list) and messages else None
