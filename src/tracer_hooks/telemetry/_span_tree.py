"""The spans of one run as a tree, with the questions that assembling asks of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracer_hooks import semconv
from tracer_hooks._json_text import parse_json
from tracer_hooks.schema import to_text
from tracer_hooks.telemetry._messages import Message, message_text
from tracer_hooks.telemetry._span_record import SpanRecord

CHAT_OPERATIONS = frozenset({semconv.OP_CHAT, semconv.OP_GENERATE_CONTENT, semconv.OP_TEXT_COMPLETION})


def decoded(value: object) -> Any:
    """An attribute that holds JSON, decoded; other values as they are."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value


def messages_of(record: SpanRecord, key: str) -> list[Message]:
    """The messages under ``key``; empty when there are none or they are damaged."""
    return messages_in(record.attributes, key)


def messages_in(attributes: Mapping[str, Any], key: str) -> list[Message]:
    """The same of attributes without their span."""
    value = decoded(attributes.get(key))
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


class SpanTree:
    """The spans of one run.

    Args:
        records: At least one span, in any order; a parent that is missing makes its children top-level.
    """

    def __init__(self, records: Sequence[SpanRecord]) -> None:
        self.records = sorted(records, key=lambda record: (record.start_ns, record.end_ns, record.span_id))
        self._by_id = {record.span_id: record for record in self.records}
        self._turns: dict[int, SpanRecord | None] = {}
        self._of_operations: dict[tuple[str, ...], list[SpanRecord]] = {}
        self.root = self._find_root()

    @property
    def start_ns(self) -> int:
        """When the run began."""
        return self.records[0].start_ns

    def of_operation(self, *operations: str) -> Sequence[SpanRecord]:
        """Spans of one of the operations, by start time."""
        found = self._of_operations.get(operations)
        if found is None:  # the same few questions are asked again and again
            found = self._of_operations[operations] = [r for r in self.records if r.operation in operations]
        return found

    def ancestors(self, record: SpanRecord) -> Iterator[SpanRecord]:
        """The spans around ``record``, innermost first."""
        seen = {record.span_id}
        parent = self._by_id.get(record.parent_id) if record.parent_id else None
        while parent is not None and parent.span_id not in seen:
            yield parent
            seen.add(parent.span_id)
            parent = self._by_id.get(parent.parent_id) if parent.parent_id else None

    def agent_of(self, record: SpanRecord) -> SpanRecord | None:
        """The innermost agent turn around ``record``."""
        passed, ended = [record], False
        found: SpanRecord | None = None
        for ancestor in self.ancestors(record):
            ended = _is_turn(ancestor) or id(ancestor) in self._turns
            if ended:
                found = ancestor if _is_turn(ancestor) else self._turns[id(ancestor)]
                break
            passed.append(ancestor)
        if found is record or not (ended or self._is_top(passed[-1])):  # a damaged file may hold a circle
            return next((one for one in self.ancestors(record) if _is_turn(one)), None)
        self._turns.update((id(one), found) for one in passed)
        return found

    def agent_name(self, record: SpanRecord, default: str) -> str:
        """The agent that ``record`` belongs to: its own attribute, else the turn around it, else ``default``."""
        name = record.attributes.get(semconv.AGENT_NAME)
        if not name and (agent := self.agent_of(record)) is not None:
            name = agent.attributes.get(semconv.AGENT_NAME)
        return to_text(name) if name else default

    def system_prompts(self) -> dict[str, str]:
        """Each agent's system prompt, as far as a model call of its, else a turn, shows one."""
        prompts: dict[str, str] = {}
        for record in [*self.of_operation(*CHAT_OPERATIONS), *self.of_operation(semconv.OP_INVOKE_AGENT)]:
            name = self.agent_name(record, "")
            if name and name not in prompts and (prompt := _system_prompt(record)):
                prompts[name] = prompt
        return prompts

    def _is_top(self, record: SpanRecord) -> bool:
        return not record.parent_id or record.parent_id not in self._by_id

    def _find_root(self) -> SpanRecord:
        for record in self.records:
            if record.operation == semconv.OP_INVOKE_WORKFLOW and not any(
                outer.operation == semconv.OP_INVOKE_WORKFLOW for outer in self.ancestors(record)
            ):
                return record
        return next((r for r in self.records if r.parent_id not in self._by_id), self.records[0])


def _is_turn(record: SpanRecord) -> bool:
    return record.operation == semconv.OP_INVOKE_AGENT


def _system_prompt(chat: SpanRecord) -> str:
    instructions = decoded(chat.attributes.get(semconv.SYSTEM_INSTRUCTIONS))
    if isinstance(instructions, list):
        return message_text({"parts": instructions})
    if instructions:
        return to_text(instructions)
    system = [m for m in messages_of(chat, semconv.INPUT_MESSAGES) if m.get("role") == "system"]
    return message_text(system[0]) if system else ""
