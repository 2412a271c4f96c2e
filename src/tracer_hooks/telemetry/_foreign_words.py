"""What agents and teams were given and said, where no model call of theirs was traced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.telemetry._foreign_messages import to_messages
from tracer_hooks.telemetry._foreign_roles import SpanTree
from tracer_hooks.telemetry._foreign_tools import TRACELOOP_INPUT, TRACELOOP_OUTPUT
from tracer_hooks.telemetry._messages import Message, message_text
from tracer_hooks.telemetry._span_record import SpanRecord


def messages_of_act(record: SpanRecord) -> dict[str, Any]:
    """Input and output of an agent or team; of a whole state that came out, only what was said last."""
    found = {semconv.INPUT_MESSAGES: _given(record), semconv.OUTPUT_MESSAGES: _said(record)[-1:]}
    return {key: value for key, value in found.items() if value}


def words_from_teams(
    tree: SpanTree, operations: Mapping[int, str | None], agents: Mapping[int, str]
) -> dict[int, Message]:
    """The last message of each agent's turn, by span, from the conversation that its team's span gives back.

    OpenInference for AutoGen (0.1.22) writes no output on the agents' own spans.
    """
    found: dict[int, Message] = {}
    turns: dict[tuple[int, str], list[SpanRecord]] = {}
    teams: dict[int, SpanRecord] = {}
    outer = tree.above({key for key, operation in operations.items() if operation == semconv.OP_INVOKE_WORKFLOW})
    for record in sorted(tree.records, key=lambda record: record.start_ns):
        if operations[id(record)] != semconv.OP_INVOKE_AGENT or _said(record):
            continue
        above = next(outer.around(record), None)
        if above is not None:
            teams[id(above)] = above
            turns.setdefault((id(above), agents.get(id(record), "")), []).append(record)
    for (team, agent), spans in turns.items():
        words = [message for message in _said(teams[team]) if message.get("name") == agent and message_text(message)]
        # counted from the end: what an earlier call of the same team object said may stand before it
        found.update({id(span): message for span, message in zip(reversed(spans), reversed(words), strict=False)})
    return found


def _given(record: SpanRecord) -> list[Message]:
    return to_messages(_value(record, semconv.OI_INPUT_VALUE, TRACELOOP_INPUT), "user")


def _said(record: SpanRecord) -> list[Message]:
    return to_messages(_value(record, semconv.OI_OUTPUT_VALUE, TRACELOOP_OUTPUT), "assistant")


def _value(record: SpanRecord, *keys: str) -> Any:
    return next((record.attributes[key] for key in keys if record.attributes.get(key) is not None), None)
