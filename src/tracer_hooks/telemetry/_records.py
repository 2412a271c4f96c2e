"""Records of telemetry, free of any SDK: ended spans, the chat messages in them, and the spans of a run as a tree."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tracer_hooks import semconv
from tracer_hooks._reading import parse_json
from tracer_hooks.schema import Usage, to_text


class SpanStatus(StrEnum):
    """OpenTelemetry's span status."""

    UNSET = "unset"
    OK = "ok"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEvent:
    """Something that happened during a span, for example an exception."""

    name: str
    time_ns: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanLink:
    """A reference to a span of this or another trace."""

    trace_id: str
    span_id: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRecord:
    """One ended span.

    Identifiers are lower-case hex (32 and 16 digits); times are nanoseconds since the epoch. Attribute values are plain
    Python data. What the conventions encode as a JSON string (messages, tool arguments) may stand here as the decoded
    list or dict, too: :mod:`tracer_hooks.telemetry` accepts both, so that a live run never pays for JSON twice.
    """

    trace_id: str
    span_id: str
    parent_id: str | None = None
    name: str = ""
    kind: str = "internal"
    """``internal``, ``client``, ``server``, ``producer`` or ``consumer``."""
    start_ns: int = 0
    end_ns: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)
    status: SpanStatus = SpanStatus.UNSET
    status_message: str = ""
    events: tuple[SpanEvent, ...] = ()
    links: tuple[SpanLink, ...] = ()
    resource: Mapping[str, Any] = field(default_factory=dict)
    """Attributes of the process that emitted it."""
    scope: str = ""
    """Name of the instrumentation that emitted it."""
    schema_url: str = ""
    """Edition of the conventions that the instrumentation says it follows."""

    @property
    def operation(self) -> str | None:
        """The span's operation in the words of the GenAI conventions; None for anything but a text."""
        value = self.attributes.get(semconv.OPERATION_NAME)
        return value if isinstance(value, str) else None


Message = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedTool:
    """A tool call as the model asked for it."""

    name: str
    arguments: Any = None
    """Decoded JSON, or the model's raw text when that is not JSON."""
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """Answer of a model."""

    content: str = ""
    tool_calls: Sequence[RequestedTool] = ()
    usage: Usage | None = None
    """None when the provider reported none."""
    finish_reason: str | None = None
    model: str | None = None
    """The model that really answered, when the provider says."""
    response_id: str | None = None
    chunks: tuple[str, ...] = ()
    """The text as it was streamed; empty when it came in one piece. A supplied reply is streamed in these pieces."""

    def to_message(self) -> Message:
        """The reply as one assistant message."""
        result = assistant_message(self.content, self.tool_calls)
        if self.finish_reason is not None:
            result["finish_reason"] = self.finish_reason
        return result


def text_message(role: str, text: object, *, name: str | None = None) -> Message:
    """A message of one text part; ``role`` is ``system``, ``user``, ``assistant`` or ``tool``."""
    message: Message = {"role": role, "parts": [{"type": "text", "content": to_text(text)}]}
    if name:
        message["name"] = name
    return message


def assistant_message(text: object, tool_calls: Sequence[RequestedTool] = (), *, name: str | None = None) -> Message:
    """An earlier reply of a model, with the tools it called."""
    parts: list[dict[str, Any]] = [{"type": "text", "content": to_text(text)}] if text else []
    parts += [
        {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments} for call in tool_calls
    ]
    return {"role": "assistant", "parts": parts, **({"name": name} if name else {})}


def tool_message(call_id: str | None, response: object, *, name: str | None = None) -> Message:
    """A tool's result as it is shown to a model."""
    part = {"type": "tool_call_response", "id": call_id, "response": to_text(response)}
    return {"role": "tool", "parts": [part], **({"name": name} if name else {})}


def parts_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts of a message, without anything that is no part: other tools write messages, too."""
    parts = message.get("parts")
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, (list, tuple)) else []


def message_text(message: Mapping[str, Any]) -> str:
    """The text of a message: its text parts and tool results, joined by newlines."""
    texts = []
    for part in parts_of(message):
        value = part.get("content") if part.get("type") in ("text", "reasoning") else part.get("response")
        if value:
            texts.append(to_text(value))
    if not texts and isinstance(message.get("content"), str):
        texts.append(message["content"])
    return "\n".join(texts)


USAGE_KEYS = {
    "input_tokens": semconv.USAGE_INPUT_TOKENS,
    "output_tokens": semconv.USAGE_OUTPUT_TOKENS,
    "cache_read_tokens": semconv.USAGE_CACHE_READ_TOKENS,
    "cache_write_tokens": semconv.USAGE_CACHE_WRITE_TOKENS,
    "reasoning_tokens": semconv.USAGE_REASONING_TOKENS,
}
"""Where each count of a :class:`Usage` stands on the span of a model call."""


def usage_attributes(usage: Usage | None) -> dict[str, int]:
    """The counts of ``usage`` by their keys; of its parts (cache, reasoning) those that are not 0."""
    if usage is None:
        return {}
    counts = {key: getattr(usage, name) for name, key in USAGE_KEYS.items()}
    totals = {semconv.USAGE_INPUT_TOKENS: usage.input_tokens, semconv.USAGE_OUTPUT_TOKENS: usage.output_tokens}
    return {key: count for key, count in counts.items() if count} | totals


EXCEPTION_EVENTS = (semconv.EVENT_EXCEPTION, semconv.EVENT_OPERATION_EXCEPTION)
CHAT_OPERATIONS = frozenset({semconv.OP_CHAT, semconv.OP_GENERATE_CONTENT, semconv.OP_TEXT_COMPLETION})


def decode_json(value: object) -> Any:
    """An attribute that holds the JSON text of an object or list, decoded; other values as they are."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return parse_json(value)
        except ValueError:
            return value
    return value


def without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` that are there."""
    return {key: value for key, value in values.items() if value is not None}


def first_present(attributes: Mapping[str, Any], *keys: str) -> Any:
    """The value of the first key that has one."""
    return next((attributes[key] for key in keys if attributes.get(key) is not None), None)


def first_filled(attributes: Mapping[str, Any], *keys: str) -> Any:
    """The value of the first key that has one and is not empty."""
    return next((attributes[key] for key in keys if attributes.get(key)), None)


def messages_in(attributes: Mapping[str, Any], key: str) -> list[Message]:
    """The messages under ``key``; empty when there are none or they are damaged."""
    value = decode_json(attributes.get(key))
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


class SpansAbove:
    """Those around each span that are ``wanted``: long chains of parents are walked once and not for every span.

    Args:
        records: The spans.
        parent: Gives the span right around one.
        wanted: The spans to find, each given by its ``id``.
    """

    def __init__(
        self,
        records: Sequence[SpanRecord],
        parent: Callable[[SpanRecord], SpanRecord | None],
        wanted: Container[int],
    ) -> None:
        self._nearest: dict[int, SpanRecord | None] = {}
        for record in records:
            path: dict[int, SpanRecord] = {}
            current, found = record, None
            while id(current) not in path:  # a damaged file may hold a circle
                if id(current) in self._nearest:
                    found = self._nearest[id(current)]
                    break
                path[id(current)] = current
                above = parent(current)
                if above is None or id(above) in wanted:
                    found = above
                    break
                current = above
            self._nearest.update(dict.fromkeys(path, found))

    def around(self, record: SpanRecord) -> Iterator[SpanRecord]:
        """Those around ``record``, innermost first."""
        seen = {id(record)}
        found = self._nearest[id(record)]
        while found is not None and id(found) not in seen:
            yield found
            seen.add(id(found))
            found = self._nearest[id(found)]


class SpanForest:
    """Parents and children of the spans at hand."""

    def __init__(self, records: list[SpanRecord]) -> None:
        self.records = records
        self._by_id = {(record.trace_id, record.span_id): record for record in records}
        self._with_children = {(record.trace_id, record.parent_id) for record in records}

    def parent(self, record: SpanRecord) -> SpanRecord | None:
        return self._by_id.get((record.trace_id, record.parent_id)) if record.parent_id else None

    def above(self, wanted: Container[int]) -> SpansAbove:
        """For every span those around it that are ``wanted``, each given by its ``id``."""
        return SpansAbove(self.records, self.parent, wanted)

    def is_leaf(self, record: SpanRecord) -> bool:
        return (record.trace_id, record.span_id) not in self._with_children


class SpanTree:
    """The spans of one run.

    Args:
        records: At least one span, in any order; a parent that is missing makes its children top-level.
    """

    def __init__(self, records: Sequence[SpanRecord]) -> None:
        self.records = sorted(records, key=lambda record: (record.start_ns, record.end_ns, record.span_id))
        self._by_id = {record.span_id: record for record in self.records}
        self._of_operations: dict[tuple[str, ...], list[SpanRecord]] = {}
        self._turns = SpansAbove(self.records, self._parent, set(map(id, self.of_operation(semconv.OP_INVOKE_AGENT))))
        self.root = self._find_root()

    @property
    def start_ns(self) -> int:
        """Time when the run began, in nanoseconds since the epoch."""
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
        parent = self._parent(record)
        while parent is not None and parent.span_id not in seen:
            yield parent
            seen.add(parent.span_id)
            parent = self._parent(parent)

    def agent_of(self, record: SpanRecord) -> SpanRecord | None:
        """The innermost agent turn around ``record``."""
        return next(self._turns.around(record), None)

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

    def _parent(self, record: SpanRecord) -> SpanRecord | None:
        return self._by_id.get(record.parent_id) if record.parent_id else None

    def _find_root(self) -> SpanRecord:
        for record in self.records:
            if record.operation == semconv.OP_INVOKE_WORKFLOW and not any(
                outer.operation == semconv.OP_INVOKE_WORKFLOW for outer in self.ancestors(record)
            ):
                return record
        return next((r for r in self.records if r.parent_id not in self._by_id), self.records[0])


def _system_prompt(chat: SpanRecord) -> str:
    instructions = decode_json(chat.attributes.get(semconv.SYSTEM_INSTRUCTIONS))
    if isinstance(instructions, list):
        return message_text({"parts": instructions})
    if instructions:
        return to_text(instructions)
    system = [m for m in messages_in(chat.attributes, semconv.INPUT_MESSAGES) if m.get("role") == "system"]
    return message_text(system[0]) if system else ""
