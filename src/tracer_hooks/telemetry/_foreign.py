"""Spans of other instrumentations, given our keys.

Reads GenAI attributes of any edition, OpenLLMetry (traceloop), OpenInference and MLflow. What a span says is
kept; our keys are added beside it. Replaced is only what stood under one of our keys and meant something
else there: the operation of a framework's inner part, messages of another shape, a callback's arguments in
place of the tool's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.telemetry._foreign_doubles import as_plumbing, find_doubles, told_by_both
from tracer_hooks.telemetry._foreign_messages import decoded, event_messages, is_genai, nested, settled, to_messages
from tracer_hooks.telemetry._foreign_mlflow import in_openinference
from tracer_hooks.telemetry._foreign_roles import (
    MODEL_OPERATIONS,
    PLUMBING,
    SpanTree,
    find_agents,
    is_own,
    operation_of,
    settle_teams,
    team_name,
)
from tracer_hooks.telemetry._foreign_teams import find_outer_teams
from tracer_hooks.telemetry._foreign_tools import (
    TRACELOOP_INPUT,
    TRACELOOP_OUTPUT,
    ToolResult,
    tool_attributes,
    tool_result,
)
from tracer_hooks.telemetry._foreign_words import (
    messages_of_act,
    requests_from_tasks,
    roster_of,
    words_from_tasks,
    words_from_teams,
)
from tracer_hooks.telemetry._messages import Message, message_text
from tracer_hooks.telemetry._span_record import SpanRecord, SpanStatus

_SENT = (semconv.INPUT_MESSAGES, semconv.OI_LLM_INPUT_MESSAGES, "gen_ai.prompt", semconv.OI_INPUT_VALUE)
_REPLIED = (
    semconv.OUTPUT_MESSAGES,
    semconv.OI_LLM_OUTPUT_MESSAGES,
    "gen_ai.completion",
    semconv.OI_OUTPUT_VALUE,
)


def normalise(records: Iterable[SpanRecord]) -> list[SpanRecord]:
    """Spans of any instrumentation with our GenAI keys: operation, agent, messages, tool call and usage.

    Our own spans pass unchanged. Give all spans of a trace at once: which span is a team or an
    agent can often be told only from those around it. The order is kept.
    """
    records = [record if is_own(record) else in_openinference(record) for record in records]
    tree = SpanTree(records)
    operations = {id(record): operation_of(record) for record in records}
    agents = find_agents(tree, operations)
    settle_teams(tree, operations)
    find_outer_teams(tree, operations, agents)
    rewriting = _Rewriting(
        tree,
        operations,
        agents,
        words_from_teams(tree, operations, agents) | words_from_tasks(tree, operations),
        requests_from_tasks(tree, operations),
    )
    rewritten = {id(record): record if is_own(record) else rewriting.apply(record) for record in records}
    doubles = find_doubles(tree, operations)
    for record in sorted(records, key=lambda record: -record.start_ns):  # of three, the innermost tells first
        kept = doubles.get(id(record))
        if kept is not None:
            if not is_own(kept):
                rewritten[id(kept)] = told_by_both(rewritten[id(kept)], rewritten[id(record)])
            rewritten[id(record)] = as_plumbing(rewritten[id(record)])
    return [rewritten[id(record)] for record in records]


@dataclass(frozen=True, slots=True)
class _Rewriting:
    """What is known of all spans while each is rewritten."""

    tree: SpanTree
    operations: Mapping[int, str | None]
    agents: Mapping[int, str]
    said: Mapping[int, Message]
    """What agents said, by span, where only the span of the team or of a task tells it."""
    asked: Mapping[int, list[Message]]
    """What agents were asked, by span, where only the span of a task tells it."""

    def apply(self, record: SpanRecord) -> SpanRecord:
        operation = self.operations[id(record)]
        attributes = dict(record.attributes)
        if operation in (PLUMBING, semconv.OP_INVOKE_WORKFLOW):
            attributes.pop(semconv.AGENT_NAME, None)
        if operation is not None:
            attributes[semconv.OPERATION_NAME] = operation or None
        if operation == semconv.OP_EXECUTE_TOOL:
            attributes |= tool_attributes(record, self.tree.parent(record))
        elif operation in MODEL_OPERATIONS:
            attributes |= _messages_of_call(record)
        added = self._added(record, operation)
        if operation == semconv.OP_INVOKE_WORKFLOW:
            added |= roster_of(record)
            added |= _run_attributes({**added, **attributes})
        merged = attributes | {key: value for key, value in added.items() if attributes.get(key) is None}
        kept = {key: value for key, value in merged.items() if value is not None}
        changed = dataclasses.replace(record, attributes=kept)
        return _with_tool_status(changed, tool_result(record)) if operation == semconv.OP_EXECUTE_TOOL else changed

    def _added(self, record: SpanRecord, operation: str | None) -> dict[str, Any]:
        """Attributes for a span that has none under these keys."""
        added = _common_attributes(record)
        agent = self.agents.get(id(record))
        if agent is not None and operation not in (PLUMBING, semconv.OP_INVOKE_WORKFLOW):
            added[semconv.AGENT_NAME] = agent
        if operation in MODEL_OPERATIONS:
            added |= _model_attributes(record)
        elif operation in (semconv.OP_INVOKE_AGENT, semconv.OP_INVOKE_WORKFLOW):
            added |= messages_of_act(record)
        if id(record) in self.said:
            added.setdefault(semconv.OUTPUT_MESSAGES, [self.said[id(record)]])
        if id(record) in self.asked:
            added.setdefault(semconv.INPUT_MESSAGES, self.asked[id(record)])
        if operation == semconv.OP_INVOKE_WORKFLOW:
            added[semconv.WORKFLOW_NAME] = team_name(record)
        return added


def _common_attributes(record: SpanRecord) -> dict[str, Any]:
    attributes = record.attributes
    found: dict[str, Any] = {
        semconv.PROVIDER_NAME: _first(attributes, semconv.SYSTEM, semconv.OI_LLM_PROVIDER, "llm.system"),
        semconv.CONVERSATION_ID: attributes.get(semconv.OI_SESSION_ID),
        semconv.OI_INPUT_VALUE: attributes.get(TRACELOOP_INPUT),
        semconv.OI_OUTPUT_VALUE: attributes.get(TRACELOOP_OUTPUT),
    }
    if record.status is SpanStatus.ERROR:
        raised = [event.attributes for event in record.events if event.name == semconv.EVENT_EXCEPTION]
        found[semconv.ERROR_TYPE] = raised[-1].get(semconv.EXCEPTION_TYPE) if raised else None
    return {key: value for key, value in found.items() if value is not None}


def _model_attributes(record: SpanRecord) -> dict[str, Any]:
    attributes = record.attributes
    settings = decoded(attributes.get("llm.invocation_parameters"))
    settings = settings if isinstance(settings, Mapping) else {}
    model = _first(attributes, semconv.OI_LLM_MODEL, "llm.request.model_name") or _first(
        settings, "model", "model_name"
    )
    found = {
        semconv.REQUEST_MODEL: model,
        semconv.RESPONSE_MODEL: attributes.get("llm.response.model_name"),
        semconv.USAGE_INPUT_TOKENS: _first(
            attributes, semconv.USAGE_PROMPT_TOKENS, semconv.OI_LLM_TOKENS_PROMPT, "llm.usage.prompt_tokens"
        ),
        semconv.USAGE_OUTPUT_TOKENS: _first(
            attributes,
            semconv.USAGE_COMPLETION_TOKENS,
            semconv.OI_LLM_TOKENS_COMPLETION,
            "llm.usage.completion_tokens",
        ),
    }
    return {key: value for key, value in found.items() if value is not None}


def _messages_of_call(record: SpanRecord) -> dict[str, Any]:
    sent, replied = event_messages(record.events)
    found = {
        semconv.INPUT_MESSAGES: _messages_under(record, _SENT, "user", sent),
        semconv.OUTPUT_MESSAGES: _messages_under(record, _REPLIED, "assistant", replied),
    }
    return {key: value for key, value in found.items() if value}


def _messages_under(
    record: SpanRecord, keys: tuple[str, ...], role: str, from_events: list[Message]
) -> list[Message] | None:
    """The messages under the first key that holds some; None when the first holds them as they should be."""
    genai, *others, whole_value = keys
    present = decoded(record.attributes.get(genai))
    if present and is_genai(present):
        return settled(present)
    for key in others:
        messages = to_messages(present or nested(record.attributes, key), role)
        if messages:
            return messages
    return from_events or to_messages(record.attributes.get(whole_value), role)


def _run_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    sent = decoded(attributes.get(semconv.INPUT_MESSAGES))
    replied = decoded(attributes.get(semconv.OUTPUT_MESSAGES))
    found: dict[str, Any] = {
        semconv.RUN_TASK: _text_of([item for item in _as_list(sent) if item.get("role") == "user"][:1]),
        semconv.RUN_FINAL_OUTPUT: _text_of(_as_list(replied)[-1:]),
    }
    return {key: value for key, value in found.items() if value}


def _as_list(messages: Any) -> list[Message]:
    return [item for item in messages if isinstance(item, dict)] if isinstance(messages, list) else []


def _text_of(messages: list[Message]) -> str:
    return "\n".join(message_text(message) for message in messages)


def _with_tool_status(record: SpanRecord, result: ToolResult) -> SpanRecord:
    """A tool whose error was handed to the model as a message has failed, although its span says OK."""
    if record.status is SpanStatus.ERROR or not result.failed:
        return record
    attributes = {semconv.ERROR_TYPE: "tool_error", **record.attributes}
    return dataclasses.replace(record, status=SpanStatus.ERROR, status_message=result.text or "", attributes=attributes)


def _first(attributes: Mapping[str, Any], *keys: str) -> Any:
    return next((attributes[key] for key in keys if attributes.get(key) is not None), None)
