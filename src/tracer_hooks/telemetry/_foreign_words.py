"""What agents and teams were given and said, where no model call of theirs was traced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.telemetry._foreign_messages import decoded, event_messages, to_messages
from tracer_hooks.telemetry._foreign_roles import PLUMBING, SpanTree
from tracer_hooks.telemetry._foreign_tools import TRACELOOP_INPUT, TRACELOOP_OUTPUT
from tracer_hooks.telemetry._messages import Message, message_text
from tracer_hooks.telemetry._span_record import SpanRecord

_ROSTERS = ("crew_agents", "crewai.crew.agents")  # OpenInference's and OpenLLMetry's, of CrewAI
_TASKS = ("crewai.task.description",)
_ANSWERS = ("final_result", "crewai.crew.result")  # Pydantic AI's, and OpenLLMetry's of CrewAI


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


def words_from_tasks(tree: SpanTree, operations: Mapping[int, str | None]) -> dict[int, Message]:
    """What agents said, by span, where only the span of the task right around an agent's last turn tells it.

    OpenLLMetry for CrewAI (0.62.4) writes a task's output, but none on the agent's span inside.
    """
    found: dict[int, Message] = {}
    last_turn: dict[int, SpanRecord] = {}
    for record in sorted(tree.records, key=lambda record: record.start_ns):
        task = tree.parent(record)
        is_turn = operations[id(record)] == semconv.OP_INVOKE_AGENT and not _said(record)
        if is_turn and task is not None and operations[id(task)] == PLUMBING and (said := _said(task)):
            found.pop(id(last_turn.get(id(task))), None)
            found[id(record)] = said[-1]
            last_turn[id(task)] = record
    return found


def requests_from_tasks(tree: SpanTree, operations: Mapping[int, str | None]) -> dict[int, list[Message]]:
    """What agents were asked, by span, where only the span of the task right around a turn tells it."""
    found: dict[int, list[Message]] = {}
    for record in tree.records:
        task = tree.parent(record)
        is_turn = operations[id(record)] == semconv.OP_INVOKE_AGENT
        if is_turn and task is not None and operations[id(task)] == PLUMBING and any(map(task.attributes.get, _TASKS)):
            found[id(record)] = _given(task)
    return found


def roster_of(record: SpanRecord) -> dict[str, Any]:
    """The members of a team, from the list of them on its span."""
    for key in _ROSTERS:
        value = decoded(record.attributes.get(key))
        if not isinstance(value, list):
            continue
        members = [item for item in value if isinstance(item, Mapping) and item.get("role")]
        if members:
            return {semconv.RUN_AGENTS: [_member(item) for item in members]}
    return {}


def _member(item: Mapping[str, Any]) -> dict[str, Any]:
    listed = item.get("tools_names") or item.get("tools")
    tools = [tool.get("name") if isinstance(tool, Mapping) else tool for tool in listed or () if tool]
    return {"name": item["role"], "instructions": item.get("backstory"), "tools": [tool for tool in tools if tool]}


def _given(record: SpanRecord) -> list[Message]:
    told = _conversation(record)
    if told:
        return told
    given = to_messages(_value(record, semconv.OI_INPUT_VALUE, TRACELOOP_INPUT, *_TASKS), "user")
    return given or event_messages(record.events)[0]


def _said(record: SpanRecord) -> list[Message]:
    said = to_messages(_value(record, semconv.OI_OUTPUT_VALUE, TRACELOOP_OUTPUT, *_ANSWERS), "assistant")
    return said or event_messages(record.events)[1]


def _conversation(record: SpanRecord) -> list[Message]:
    """What led to an answer, where the span's output holds both; CrewAI's does."""
    output = decoded(_value(record, semconv.OI_OUTPUT_VALUE, TRACELOOP_OUTPUT))
    if not isinstance(output, Mapping) or not isinstance(output.get("raw"), str) or not output.get("messages"):
        return []
    messages = to_messages(output["messages"], "user")
    is_answer = bool(messages) and messages[-1]["role"] == "assistant" and message_text(messages[-1]) == output["raw"]
    return messages[:-1] if is_answer else messages


def _value(record: SpanRecord, *keys: str) -> Any:
    return next((record.attributes[key] for key in keys if record.attributes.get(key) is not None), None)
