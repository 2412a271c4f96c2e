"""MLflow's spans in OpenInference's keys: both say the same of a span, its kind, input and output."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.telemetry._foreign_messages import decoded
from tracer_hooks.telemetry._span_record import SpanRecord

_TYPE = "mlflow.spanType"
_KINDS = {
    "AGENT": semconv.OI_KIND_AGENT,
    "CHAIN": semconv.OI_KIND_CHAIN,
    "WORKFLOW": semconv.OI_KIND_CHAIN,
    "TASK": semconv.OI_KIND_CHAIN,
    "CHAT_MODEL": semconv.OI_KIND_LLM,
    "LLM": semconv.OI_KIND_LLM,
    "TOOL": semconv.OI_KIND_TOOL,
}
_SAME = {
    "mlflow.spanInputs": semconv.OI_INPUT_VALUE,
    "mlflow.spanOutputs": semconv.OI_OUTPUT_VALUE,
    "mlflow.llm.model": semconv.OI_LLM_MODEL,
    "mlflow.llm.provider": semconv.OI_LLM_PROVIDER,
}


def in_openinference(record: SpanRecord) -> SpanRecord:
    """``record`` with OpenInference's keys beside MLflow's; another's span as it is."""
    attributes = record.attributes
    if _TYPE not in attributes:
        return record
    found: dict[str, Any] = {semconv.OI_SPAN_KIND: _KINDS.get(_plain(attributes[_TYPE]))}
    found |= {key: _plain(attributes[own]) for own, key in _SAME.items() if own in attributes}
    usage = decoded(attributes.get("mlflow.chat.tokenUsage"))
    if isinstance(usage, Mapping):
        found[semconv.OI_LLM_TOKENS_PROMPT] = usage.get("input_tokens")
        found[semconv.OI_LLM_TOKENS_COMPLETION] = usage.get("output_tokens")
    added = {key: value for key, value in found.items() if value is not None}
    return dataclasses.replace(record, attributes={**added, **attributes})


def _plain(value: Any) -> Any:
    """MLflow writes every value as JSON, texts too; objects and lists stay JSON text, as OpenInference has them."""
    return decoded(f"[{value}]")[0] if isinstance(value, str) and value.startswith('"') else value
