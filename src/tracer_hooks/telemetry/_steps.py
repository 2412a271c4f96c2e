"""Steps from spans: the spans that make up each step, and what its agent had received, with the step it came from.

Our own spans say their step by its index. For spans of other instrumentations: a model call begins a step; a tool call
belongs to the model call that asked for it (by call id, else the last one of the same turn before it); an agent's turn
without model calls is a step of its own.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tracer_hooks import semconv
from tracer_hooks._lazy import cached_property
from tracer_hooks.schema import Step, StepInput, StepKind, ToolCall, Usage, to_json_value, to_text
from tracer_hooks.telemetry._records import (
    CHAT_OPERATIONS,
    EXCEPTION_EVENTS,
    USAGE_KEYS,
    Message,
    SpanRecord,
    SpanStatus,
    SpanTree,
    decode_json,
    first_filled,
    message_text,
    messages_in,
    parts_of,
)

TRANSFER_NAME = re.compile(r"^(?:transfer|hand_?off)_to_(.+)$")
"""Name of a tool that passes control to an agent."""
_SERVER_CALL, _SERVER_ANSWER = "server_tool_call", "server_tool_call_response"
"""Parts of a reply, and the keys of what they hold."""
COMPACTED = "[Earlier messages were compacted]"
"""What an agent's input says where a summary, or nothing that can be read, stands in place of earlier messages."""


@dataclass(slots=True)
class ActSpans:
    """The spans of one step, gathered before the step is built."""

    agent: str
    start_ns: int
    index: int | None = None
    chats: list[SpanRecord] = field(default_factory=list)
    tools: list[SpanRecord] = field(default_factory=list)
    turn: SpanRecord | None = None
    """The agent's turn, when it is itself the step, since it held no model call."""
    outer_turn: SpanRecord | None = None
    """The turn around the model and tool calls."""
    recipient: str | None = None
    caller: str | None = None
    """The agent that called this one, where a turn says so."""
    answer: str = ""
    """What its turn gave back, where the agent answered by a tool and not in words of its reply."""

    @property
    def reply(self) -> Message:
        """The model's last reply; empty without one."""
        last = self.chats[-1] if self.chats else self.turn
        messages = messages_in(last.attributes, semconv.OUTPUT_MESSAGES) if last is not None else []
        return messages[-1] if messages else {}

    @property
    def seen(self) -> list[Message]:
        """The messages that the agent was shown."""
        source = self.chats[0] if self.chats else self.turn
        messages = messages_in(source.attributes, semconv.INPUT_MESSAGES) if source is not None else []
        if not messages and self.outer_turn is not None:
            messages = messages_in(self.outer_turn.attributes, semconv.INPUT_MESSAGES)
            return messages[: _request_of(self.tools[0], messages)] if self.tools else messages
        return messages

    @property
    def spans(self) -> list[SpanRecord]:
        """Every span of the step."""
        return [*self.chats, *self.tools, *([self.turn] if self.turn is not None else [])]

    def is_empty(self) -> bool:
        """Tell whether it was broken off before anything came of it."""
        last = self.chats[-1] if self.chats else None
        return (
            last is not None
            and semconv.ABANDONED in last.attributes
            and not message_text(self.reply)
            and not self.tools
        )


def collect_acts(tree: SpanTree, *, default_agent: str) -> list[ActSpans]:
    """The acts of a run, in the order of their step indices, or of time where spans carry none."""
    acts = _ActCollector(tree, default_agent)
    for chat in tree.of_operation(*CHAT_OPERATIONS):
        acts.add_chat(chat)
    for tool in tree.of_operation(semconv.OP_EXECUTE_TOOL):
        acts.add_tool(tool)
    for turn in tree.of_operation(semconv.OP_INVOKE_AGENT):
        acts.add_turn(turn)
    for turn in tree.of_operation(semconv.OP_INVOKE_AGENT):
        acts.pass_control(turn)
    return acts.ordered()


class _ActCollector:
    def __init__(self, tree: SpanTree, default_agent: str) -> None:
        self._tree = tree
        self._default_agent = default_agent
        self._all: list[ActSpans] = []
        self._inside: dict[int, list[ActSpans]] = defaultdict(list)
        """The acts right inside each turn, those outside of every turn under None."""
        self._chats: dict[int, list[ActSpans]] = defaultdict(list)
        """Of them those that begin with a model call, in order of time."""
        self._own: dict[int, ActSpans] = {}
        """The act that a turn itself is."""
        self._by_index: dict[int | None, ActSpans] = {}
        self._by_call: dict[str, ActSpans] = {}

    def add_chat(self, chat: SpanRecord) -> None:
        act = self._act(chat)
        if not act.chats:
            self._chats[id(act.outer_turn)].append(act)
        act.chats.append(chat)
        act.recipient = _recipient(chat) or act.recipient
        for part in parts_of(act.reply):
            if part.get("type") == "tool_call" and part.get("id"):
                self._by_call[str(part["id"])] = act

    def add_tool(self, tool: SpanRecord) -> None:
        act = self._by_index.get(_index(tool)) or self._asking_act(tool) or self._act(tool)
        act.tools.append(tool)
        act.recipient = _recipient(tool) or act.recipient

    def add_turn(self, turn: SpanRecord) -> None:
        index = _index(turn)
        if index is None:
            inside = self._inside[id(turn)]
            output = message_text((messages_in(turn.attributes, semconv.OUTPUT_MESSAGES) or [{}])[-1])
            spoke = any(act.chats for act in inside) or id(turn) in self._with_inner_turn
            if semconv.RUN_ID not in turn.attributes and spoke and inside:
                _answer_by_tool(max(inside, key=lambda act: act.start_ns), output)
            if semconv.RUN_ID in turn.attributes or spoke or (inside and not output):
                return
            if not output and turn.status is not SpanStatus.ERROR:
                return
        act = self._act(turn, start_ns=turn.end_ns)
        act.turn = turn
        self._own[id(turn)] = act

    def pass_control(self, turn: SpanRecord) -> None:
        recipient = turn.attributes.get(semconv.STEP_RECIPIENT)
        own = self._own.get(id(turn))
        acts = [*self._inside[id(turn)], *([own] if own is not None and own.turn is turn else [])]
        if recipient and acts:
            last = max(acts, key=lambda act: (act.index if act.index is not None else -1, act.start_ns))
            last.recipient = last.recipient or to_text(recipient)
        caller = _calling_agent(turn)
        before = [act for act in self._all if act.agent == caller and act.start_ns <= turn.start_ns] if caller else []
        if before:
            last = max(before, key=lambda act: act.start_ns)
            last.recipient = last.recipient or self._tree.agent_name(turn, "") or None

    def ordered(self) -> list[ActSpans]:
        kept = [act for act in self._all if not act.is_empty()]
        if all(act.index is not None for act in kept):
            return sorted(kept, key=lambda act: act.index or 0)
        return sorted(kept, key=lambda act: act.start_ns)

    def _act(self, record: SpanRecord, *, start_ns: int | None = None) -> ActSpans:
        known = self._by_index.get(_index(record))
        if known is not None:
            return known
        outer = self._tree.agent_of(record)
        act = ActSpans(
            agent=self._tree.agent_name(record, self._default_agent),
            start_ns=record.start_ns if start_ns is None else start_ns,
            index=_index(record),
            outer_turn=outer,
        )
        act.caller = self._caller_of(act.agent, record, outer)
        self._all.append(act)
        self._inside[id(outer)].append(act)
        if act.index is not None:
            self._by_index[act.index] = act
        return act

    def _caller_of(self, agent: str, act: SpanRecord, turn: SpanRecord | None) -> str | None:
        """The caller by the agent's turn, or by the turn of its around that: its process may have one, too."""
        around = self._tree.agent_of(turn) if turn is not None else None
        found = ((span, _calling_agent(span)) for span in (act, turn, around) if span is not None)
        return next((caller for span, caller in found if caller and self._tree.agent_name(span, "") == agent), None)

    def _asking_act(self, tool: SpanRecord) -> ActSpans | None:
        if _index(tool) is not None:
            return None
        call_id = tool.attributes.get(semconv.TOOL_CALL_ID)
        if call_id and str(call_id) in self._by_call:
            return self._by_call[str(call_id)]
        chats = self._chats[id(self._tree.agent_of(tool))]
        before = bisect_right(chats, tool.start_ns, key=lambda act: act.start_ns)
        if not before:
            return None
        return chats[bisect_left(chats, chats[before - 1].start_ns, key=lambda act: act.start_ns)]

    @cached_property
    def _with_inner_turn(self) -> set[int]:
        inner = self._tree.of_operation(semconv.OP_INVOKE_AGENT)
        return {id(self._tree.agent_of(other)) for other in inner}


def _answer_by_tool(act: ActSpans, output: str) -> None:
    """Let the last act of a turn say what the turn gave back, if its tool gave that, or was given it.

    smolagents' agents answer by a tool that gives the answer back; Pydantic AI's by one that is never carried out.
    """
    results = {to_text(tool.attributes.get(semconv.TOOL_CALL_RESULT) or "").strip() for tool in act.tools}
    asked = [part for part in parts_of(act.reply) if part.get("type") == "tool_call"]
    told = output.strip() in results or any(_is_given(part.get("arguments"), output) for part in asked)
    if told and output.strip() and not message_text(act.reply):
        act.answer = output


def _is_given(arguments: Any, output: str) -> bool:
    """Tell whether the arguments of a tool are ``output``, or hold it as one of them."""
    given, told = decode_json(arguments), decode_json(output)
    values = given.values() if isinstance(given, Mapping) else ()
    return given == told or any(value == told or to_text(value) == output for value in values)


def _request_of(tool: SpanRecord, messages: Sequence[Message]) -> int:
    """Place in a conversation where the tool was asked for; its end if nowhere."""
    for place, message in enumerate(messages):
        for part in parts_of(message):
            same_name = part.get("name") == tool.attributes.get(semconv.TOOL_NAME)
            if part.get("type") == "tool_call" and same_name and _has_arguments(tool, part):
                return place
    return len(messages)


def to_step(act: ActSpans, index: int, inputs: tuple[StepInput, ...]) -> Step:
    """Build the step of an act, in which the agent received ``inputs``."""
    reply, spans = act.reply, act.spans
    calls = tool_calls(reply, act.tools)
    if act.answer:  # a call that no tool carried out is the answer's form
        carried_out = {tool.attributes.get(semconv.TOOL_NAME) for tool in act.tools}
        calls = tuple(c for c in calls if c.name in carried_out or not _is_given(c.arguments, act.answer))
    decisive = act.chats[-1] if act.chats else act.turn
    failed = _error_of(decisive)
    kind = decisive.attributes.get(semconv.ERROR_TYPE) if decisive is not None and failed is not None else None
    recipient = act.recipient or next(filter(None, map(_transfer_target, calls)), _next_speaker(reply))
    return Step(
        index=index,
        agent=act.agent,
        kind=_step_kind(failed, recipient, calls),
        content=message_text(reply) or act.answer,
        inputs=inputs,
        tool_calls=calls,
        recipient=recipient,
        model=_model(act.chats),
        usage=_usage(act.chats),
        started_at=_time(min(span.start_ns for span in spans)),
        ended_at=_time(max(span.end_ns for span in spans)),
        error=failed,
        error_type=None if kind is None else to_text(kind),
        attempts=max(1, len(act.chats)),
        span_id=(act.chats[-1] if act.chats else spans[0]).span_id,
    )


def tool_calls(reply: Message, tools: Sequence[SpanRecord]) -> tuple[ToolCall, ...]:
    """The calls that a reply asked for, joined with the spans of their execution; then calls that no reply shows."""
    left = list(tools)
    calls = []
    for part in parts_of(reply):
        if part.get("type") == "tool_call":
            spans = _take_spans_of(left, part)
            calls.append(_tool_call(part, spans))
            if not spans:  # a hand-off's own span tells to whom, and not by which of the agent's tools
                left = [span for span in left if not _only_hands_off(span)]
        elif part.get("type") == _SERVER_CALL:
            calls.append(_server_call(part, reply))
    while left:
        first = left[0]
        same = [span for span in left if _same_call(first, span)]
        left = [span for span in left if span not in same]
        calls.append(_tool_call({}, same))
    return tuple(calls)


def _only_hands_off(span: SpanRecord) -> bool:
    of_calls = (semconv.TOOL_CALL_ID, semconv.TOOL_CALL_ARGUMENTS)
    return semconv.TRANSFER_TARGET in span.attributes and not any(key in span.attributes for key in of_calls)


def _take_spans_of(left: list[SpanRecord], part: Mapping[str, Any]) -> list[SpanRecord]:
    """Remove from ``left``, and give, the spans that executed the requested call: all its attempts."""
    by_id = [s for s in left if part.get("id") and s.attributes.get(semconv.TOOL_CALL_ID) == part["id"]]
    found = by_id
    if not found:
        named = [s for s in left if s.attributes.get(semconv.TOOL_NAME) == part.get("name")]
        # Calls that one reply asks for run side by side, so the first span need not be the first request's.
        first = next((s for s in named if _has_arguments(s, part)), named[0] if named else None)
        found = [s for s in named if first is not None and _same_call(first, s)]
    for span in found:
        left.remove(span)
    return found


def _has_arguments(span: SpanRecord, part: Mapping[str, Any]) -> bool:
    used = decode_json(span.attributes.get(semconv.TOOL_CALL_ARGUMENTS))
    return to_json_value(used) == to_json_value(decode_json(part.get("arguments")))


def _same_call(first: SpanRecord, other: SpanRecord) -> bool:
    # As JSON: the user's own objects (arrays, for one) need not compare to a bool.
    keys = (semconv.TOOL_CALL_ID, semconv.TOOL_NAME, semconv.TOOL_CALL_ARGUMENTS)
    return first is other or all(
        to_json_value(first.attributes.get(key)) == to_json_value(other.attributes.get(key)) for key in keys
    )


def _tool_call(part: Mapping[str, Any], spans: Sequence[SpanRecord]) -> ToolCall:
    last = spans[-1] if spans else None
    attributes = last.attributes if last is not None else {}
    arguments = attributes.get(semconv.TOOL_CALL_ARGUMENTS, part.get("arguments"))
    result = attributes.get(semconv.TOOL_CALL_RESULT)
    return ToolCall(
        name=to_text(attributes.get(semconv.TOOL_NAME) or part.get("name") or "unknown"),
        arguments=to_json_value(decode_json(arguments)),
        result=None if result is None else _as_text(result),
        error=_error_of(last),
        call_id=attributes.get(semconv.TOOL_CALL_ID) or part.get("id"),
        # Each instrumentation counts for itself.
        attempts=max(Counter(span.scope for span in spans).values(), default=1),
    )


def _server_call(part: Mapping[str, Any], reply: Message) -> ToolCall:
    """A call that the provider itself carried out; its result stands in the same reply."""
    answers = [other for other in parts_of(reply) if other.get("type") == _SERVER_ANSWER]
    result = next((other.get(_SERVER_ANSWER) for other in answers if other.get("id") == part.get("id")), None)
    return ToolCall(
        name=to_text(part.get("name") or "unknown"),
        arguments=to_json_value(decode_json(part.get(_SERVER_CALL))),
        result=None if result is None else _as_text(result),
        call_id=part.get("id"),
    )


def _as_text(value: object) -> str:
    return to_text(value) if isinstance(value, str) else json.dumps(to_json_value(value), ensure_ascii=False)


def _transfer_target(call: ToolCall) -> str | None:
    """The agent that a tool hands over to: by an argument, as with Google's ADK and Strands, or by the tool's name."""
    match = TRANSFER_NAME.match(call.name)
    named = call.arguments.get("agent_name") if isinstance(call.arguments, Mapping) else None
    return to_text(named or match[1]) if match is not None else None


def _next_speaker(reply: Message) -> str | None:
    """The agent that a manager chose to speak next in a reply of JSON, as those of Microsoft's Agent Framework do."""
    chosen = decode_json(message_text(reply))
    fields = chosen if isinstance(chosen, Mapping) else {}
    values = {key: value.get("answer") if isinstance(value, Mapping) else value for key, value in fields.items()}
    speaker, is_over = values.get("next_speaker"), values.get("terminate") or values.get("is_request_satisfied")
    return to_text(speaker) if isinstance(speaker, str) and speaker and not is_over else None


def _step_kind(failed: str | None, recipient: str | None, calls: Sequence[ToolCall]) -> StepKind:
    if failed is not None:
        return StepKind.ERROR
    if recipient is not None:
        return StepKind.HANDOFF
    return StepKind.TOOL_CALL if calls else StepKind.MESSAGE


def _error_of(record: SpanRecord | None) -> str | None:
    """Error that a span which failed gives; None for others."""
    if record is None or record.status is not SpanStatus.ERROR:
        return None
    for event in () if record.status_message else reversed(record.events):
        if event.name in EXCEPTION_EVENTS and event.attributes.get(semconv.EXCEPTION_MESSAGE):
            return to_text(event.attributes[semconv.EXCEPTION_MESSAGE])
    return record.status_message or to_text(record.attributes.get(semconv.ERROR_TYPE) or "failed")


def _calling_agent(turn: SpanRecord) -> str | None:
    name = turn.attributes.get(semconv.CALLER_NAME)
    return to_text(name) if name and turn.attributes.get(semconv.CALLER_TYPE) == "agent" else None


def _recipient(record: SpanRecord) -> str | None:
    value = first_filled(record.attributes, semconv.STEP_RECIPIENT, semconv.TRANSFER_TARGET)
    return to_text(value) if value else None


def _index(record: SpanRecord) -> int | None:
    value: Any = record.attributes.get(semconv.STEP_INDEX)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _model(chats: Sequence[SpanRecord]) -> str | None:
    names = (first_filled(chat.attributes, semconv.RESPONSE_MODEL, semconv.REQUEST_MODEL) for chat in reversed(chats))
    return next((to_text(name) for name in names if name), None)


def _usage(chats: Iterable[SpanRecord]) -> Usage | None:
    known = [usage for usage in map(_tokens, chats) if usage is not None]
    return sum(known, Usage()) if known else None


def _tokens(chat: SpanRecord) -> Usage | None:
    found = {name: chat.attributes[key] for name, key in USAGE_KEYS.items() if chat.attributes.get(key) is not None}
    is_known = "input_tokens" in found or "output_tokens" in found
    return Usage(**{name: _count(value) for name, value in found.items()}) if is_known else None


def _count(value: Any) -> int:
    """A token count; what another instrumentation wrote in its place counts as none."""
    try:
        return max(0, int(value or 0))
    except (TypeError, ValueError, OverflowError):
        return 0


def _time(ns: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(ns / 1e9, UTC) if ns > 0 else None
    except (ValueError, OverflowError, OSError):  # beyond the year 9999
        return None


_MIN_EMBEDDED_TEXT = 12
"""Shorter texts occur inside others by chance; they count when they are a line of their own."""


def link_inputs(acts: Sequence[ActSpans]) -> tuple[Step, ...]:
    """Build the steps of a run, each with the inputs that are new since its agent's previous step."""
    steps: list[Step] = []
    shown: dict[str, list[Message]] = {}
    names = {_tool_word(act.agent): act.agent for act in acts}
    for index, act in enumerate(acts):
        messages = act.seen
        new = _new_messages(messages, shown.get(act.agent, []))
        if messages:
            shown[act.agent] = messages
        step = to_step(act, index, _inputs(act, new, steps))
        if act.recipient is None and step.recipient is not None:  # as the name of the tool has it
            step = step.model_copy(update={"recipient": names.get(_tool_word(step.recipient), step.recipient)})
        steps.append(_with_results(step, acts[index + 1 :]))
    return tuple(steps)


def _tool_word(agent: str) -> str:
    """An agent's name as it stands in the name of a tool that hands off to it: ``Stock Clerk`` is ``stock_clerk``."""
    return re.sub(r"\W", "_", agent).lower()


def _new_messages(messages: list[Message], before: list[Message]) -> list[Message]:
    common = 0
    for old, new in zip(before, messages, strict=False):
        if old is not new and old != new:
            break
        common += 1
    # A conversation that shares nothing with the agent's last one is a new one.
    return messages[common:]


def _inputs(act: ActSpans, messages: Sequence[Message], steps: Sequence[Step]) -> tuple[StepInput, ...]:
    inputs: list[StepInput] = []
    for message in messages:
        role = message.get("role")
        text = message_text(message)
        for part in parts_of(message):
            if part.get("type") == "compaction":
                summary = to_text(part.get("content") or "")
                inputs.append(StepInput(source=act.agent, text=f"{COMPACTED} {summary}".rstrip()))
        if role == "system" or not text:
            continue
        if role == "tool":
            own = _step_of_result(message, act.agent, steps)
            inputs.append(StepInput(source=own.agent if own else "tool", step=own.index if own else None, text=text))
            continue
        found = _sources(text, steps)
        if role == "assistant" and (not found or all(step.agent == act.agent for step in found)):
            continue  # the agent's own words, shown to it again
        inputs += [StepInput(source=step.agent, step=step.index, text=step.content or text) for step in found]
        if not (len(found) == 1 and text.strip() in _texts_of(found[0])):
            inputs.append(StepInput(source=to_text(message.get("name") or act.caller or "user"), text=text))
    return tuple(inputs)


def _texts_of(step: Step) -> set[str]:
    return {step.content.strip(), *(call.result.strip() for call in step.tool_calls if call.result is not None)}


def _sources(text: str, steps: Sequence[Step]) -> list[Step]:
    """The steps whose text a message is, or contains."""
    stripped = text.strip()
    for step in reversed(steps):
        if step.content.strip() == stripped:
            return [step]
    # A team may show a tool's result to the others as its caller's message, as AutoGen's hand-offs do.
    for step in reversed(steps):
        if any(call.result is not None and call.result.strip() == stripped for call in step.tool_calls):
            return [step]
    lines = {line.strip() for line in text.splitlines()}
    found: dict[str, Step] = {}
    for step in steps:
        content = step.content.strip()
        if (len(content) >= _MIN_EMBEDDED_TEXT and content in text) or (content and content in lines):
            found[content] = step
    return list(found.values())


def _step_of_result(message: Message, agent: str, steps: Sequence[Step]) -> Step | None:
    ids = {part["id"] for part in parts_of(message) if isinstance(part.get("id"), str)}
    for step in reversed(steps):
        if any(call.call_id in ids for call in step.tool_calls if call.call_id):
            return step
    return next((step for step in reversed(steps) if step.agent == agent and step.tool_calls), None)


def _with_results(step: Step, later: Sequence[ActSpans]) -> Step:
    """Fill in results that only the next model call shows: traces without tool spans, calls refused before they ran."""
    missing = {c.call_id for c in step.tool_calls if c.call_id and c.result is None and c.error is None}
    if not missing:
        return step
    results: dict[str, str] = {}
    for act in later:
        for message in act.seen:
            for part in parts_of(message):
                call = part.get("id")
                if isinstance(call, str) and call in missing and part.get("response") is not None:
                    results.setdefault(call, to_text(part["response"]))
        if results.keys() >= missing:
            break
    calls = [
        c.model_copy(update={"result": results[c.call_id]}) if c.call_id in results and c.result is None else c
        for c in step.tool_calls
    ]
    return step.model_copy(update={"tool_calls": tuple(calls)})
