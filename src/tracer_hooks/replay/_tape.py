"""Tape of a run: what its models and tools were asked and answered, read from its spans; comparable times."""

from __future__ import annotations

import builtins
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Self

from pydantic import Field, model_validator

from tracer_hooks import semconv
from tracer_hooks._reading import parse_json
from tracer_hooks.config import ContentCapture
from tracer_hooks.errors import RecordedFailureError, ReplayError
from tracer_hooks.frameworks import ToolReply
from tracer_hooks.schema import SCHEMA_VERSION, Json, Record, Step, Text, Trajectory, Usage, to_json_value
from tracer_hooks.telemetry import (
    ChatInvocation,
    ChatReply,
    Invocation,
    Message,
    RequestedTool,
    RunInvocation,
    ToolInvocation,
    class_name,
    message_text,
)


class TapedToolRequest(Record):
    """A tool call that a taped reply asks for."""

    name: Text
    """The tool's name."""
    arguments: Json = None
    """Decoded JSON, or the model's raw text when that is not JSON."""
    id: Text | None = None
    """The model's id of the call."""


class TapedModelCall(Record):
    """One model call: what was asked, and what came."""

    agent: Text
    """Who asked."""
    step: int = Field(ge=0)
    """The step that it belongs to."""
    digest: str
    """:func:`model_digest` of agent and messages."""
    messages: tuple[int, ...] = ()
    """What the model was shown, as positions in :attr:`Tape.messages`."""
    content: Text = ""
    """The text of the reply."""
    chunks: tuple[Text, ...] = ()
    """What the model wrote, as it was streamed; empty when it came in one piece and :attr:`content` is all of it."""
    tool_calls: tuple[TapedToolRequest, ...] = ()
    """The tools that the reply calls."""
    usage: Usage | None = None
    """Tokens, when the provider reported them."""
    finish_reason: Text | None = None
    """Why the reply ended."""
    model: Text | None = None
    """The model that answered, when the provider says."""
    response_id: Text | None = None
    """The provider's id of the reply."""
    latency_s: float = 0.0
    """How long the call took, in seconds."""
    error: Text | None = None
    """Type and text of the error when the call failed; there is no reply then."""

    def reply(self) -> ChatReply:
        """The reply as adapters take it."""
        if self.error is not None:
            raise recorded_failure(self.error)
        return ChatReply(
            content=self.content,
            chunks=self.chunks,
            tool_calls=tuple(RequestedTool(name=c.name, arguments=c.arguments, id=c.id) for c in self.tool_calls),
            usage=self.usage,
            finish_reason=self.finish_reason,
            model=self.model,
            response_id=self.response_id,
        )


class TapedToolCall(Record):
    """One tool call: what was asked, and what came."""

    agent: Text
    """On whose behalf it was made."""
    name: Text
    """The tool's name."""
    step: int = Field(ge=0)
    """The step that it belongs to."""
    digest: str
    """:func:`tool_digest` of name and arguments."""
    arguments: Json = None
    """The arguments."""
    content: Text = ""
    """The result as the agent saw it, or the error's text."""
    is_error: bool = False
    """Whether the tool failed."""
    value: Json = None
    """What the tool returned, where the caller is plain Python and it is plain data other than text."""
    is_none: bool = False
    """Whether a tool in plain Python returned None."""
    error: Text | None = None
    """Type and text of what the tool raised, where its caller made of that what the agent saw."""
    is_routing: bool = False
    """Whether it hands control to another agent, or agents acted inside it: a replay runs such a call anew, since its
    effect is on the run itself; what the agents in it ask for is on the tape."""
    latency_s: float = 0.0
    """How long the call took, in seconds."""

    def reply(self) -> ToolReply:
        """The reply as adapters take it."""
        if self.error is not None:
            raise recorded_failure(self.error)
        value = ToolInvocation.NONE if self.is_none else self.value
        return ToolReply(content=self.content, is_error=self.is_error, value=value)


class Tape(Record):
    """Every model and tool reply of one run.

    Conversations grow by a message or two with every call, so each message is kept once and calls refer to it.
    """

    schema_version: int = SCHEMA_VERSION
    """Version of the record format."""
    run_id: Text
    """The run that was recorded."""
    messages: tuple[dict[str, Json], ...] = ()
    """Every message that a model was shown, each once."""
    model_calls: tuple[TapedModelCall, ...] = ()
    """Model calls in the order in which they began."""
    tool_calls: tuple[TapedToolCall, ...] = ()
    """Tool calls in the order in which they began."""

    @model_validator(mode="after")
    def _messages_are_there(self) -> Self:
        count = len(self.messages)
        for number, call in enumerate(self.model_calls):
            if any(not 0 <= position < count for position in call.messages):
                raise ValueError(f"model_calls[{number}] refers to a message that is not among the {count} on the tape")
        return self

    def messages_of(self, call: TapedModelCall) -> list[Message]:
        """Return what the model was shown in ``call``."""
        return [dict(self.messages[position]) for position in call.messages]

    def at_step(self, step: int) -> tuple[TapedModelCall, ...]:
        """The model calls of one step; more than one where a failed call was attempted again."""
        return tuple(call for call in self.model_calls if call.step == step)


def model_digest(agent: str, messages: Sequence[Message]) -> str:
    """A hash of who asks and what it shows the model; equal requests have equal digests in every process."""
    return request_digest(agent, map(message_digest, messages))


def request_digest(agent: str, messages: Iterable[str]) -> str:
    """:func:`model_digest` from the digests of the messages."""
    return _digest([agent, *messages])


def message_digest(message: Message) -> str:
    """A hash of one message."""
    text = _encoded(message)
    return _hashed(_encoded(timeless(message)) if _DATED in text else text)


# CrewAI 1.15 ends an agent's prompt with this line where ``inject_date`` is set; the same tape fits tomorrow.
_DATED = "Current Date: "
_DATE = re.compile(rf"^{_DATED}.*$", re.MULTILINE)


def timeless(message: Message) -> Message:
    """``message`` without what is another at another time."""
    if _DATED not in message_text(message):
        return message
    parts = [
        {**part, "content": _DATE.sub("Current Date:", part["content"])}
        if isinstance(part.get("content"), str)
        else part
        for part in message.get("parts") or ()
    ]
    return {**message, "parts": parts}


def tool_digest(name: str, arguments: Any) -> str:
    """A hash of a tool and its arguments; arguments that are JSON text count as what they say."""
    return _digest([name, decoded(arguments)])


def recorded_failure(error: str) -> RecordedFailureError:
    """A recorded error, to be raised again.

    Frameworks show an error's type and text to agents and callers, and some handle errors by their type. So it has the
    recorded text and a class with the recorded name, which is also an error of Python's own where there is such a one.
    The classes of client libraries cannot be made again: code that waits for one of them does not see this as one.

    Args:
        error: Type and text, ``"TimeoutError: no answer"`` or ``"httpx.ConnectError: no answer"``.
    """
    kind, _, text = error.partition(": ")
    module, _, name = kind.replace("\x00", "").rpartition(".")  # which no class can have in its name
    known = None if module else getattr(builtins, name, None)
    bases: tuple[type, ...] = (RecordedFailureError,)
    if isinstance(known, type) and issubclass(known, Exception) and not issubclass(known, _ENDS_LOOPS):
        bases = (RecordedFailureError, known) if known is not Exception else bases
    members = {"__str__": lambda _: text, "__module__": module or "builtins"}
    try:
        failure: RecordedFailureError = type(name, bases, members)(text)
    except TypeError:  # it wants other arguments than a text
        failure = type(name, (RecordedFailureError,), members)(text)
    return failure


_ENDS_LOOPS = (StopIteration, StopAsyncIteration)


def decoded(arguments: Any) -> Any:
    """Arguments as plain data: models write them as JSON text, frameworks pass them on as either."""
    if isinstance(arguments, str):
        try:
            return parse_json(arguments)
        except ValueError:
            return arguments
    return arguments


_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=True, allow_nan=False).encode


def _digest(parts: Sequence[Any]) -> str:
    return _hashed(_encoded(parts))


def _encoded(value: Any) -> str:
    try:
        return _encode(value)  # nearly always plain data already, and converting it takes three times as long
    except (TypeError, ValueError):
        return _encode(to_json_value(value))


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def tape_of(run: RunInvocation) -> Tape:
    """The tape of a run that has ended.

    Raises:
        ReplayError: The record of the run holds no content, or redacted content, which cannot be replayed.
    """
    if run.capture.config.record is not ContentCapture.FULL:
        raise ReplayError(
            f"the run {run.run_id!r} was recorded with content {run.capture.config.record.value!r}, expected 'full'. "
            "Run it again with TRACER_HOOKS_RECORD=full"
        )
    invocations = sorted(run.invocations, key=lambda invocation: invocation.start_ns)
    messages = _Messages()
    chats = [chat for chat in invocations if isinstance(chat, ChatInvocation) and _is_complete(chat)]
    tools = [tool for tool in invocations if isinstance(tool, ToolInvocation) and _is_complete(tool)]
    around_agents = _around(chats)
    return Tape(
        run_id=run.run_id,
        model_calls=tuple(_model_call(chat, messages) for chat in chats),
        tool_calls=tuple(_tool_call(tool, id(tool) in around_agents) for tool in tools),
        messages=tuple(messages.kept),
    )


class _Messages:
    """Messages, each kept, and hashed, once: a conversation is shown again with every call."""

    def __init__(self) -> None:
        self.kept: list[dict[str, Any]] = []
        self._places: dict[str, int] = {}
        self._hashed: dict[int, tuple[Message, str]] = {}

    def digests(self, messages: Iterable[Message]) -> list[str]:
        """The digest of each message."""
        return [self._digest(message) for message in messages]

    def places(self, messages: Iterable[Message]) -> tuple[int, ...]:
        """Return where each message is kept."""
        return tuple(self._place(message) for message in messages)

    def _digest(self, message: Message) -> str:
        known = self._hashed.get(id(message))
        if known is None or known[0] is not message:  # held on to, since ids are given out again
            known = self._hashed[id(message)] = (message, message_digest(message))
        return known[1]

    def _place(self, message: Message) -> int:
        key = self._digest(message)
        if key not in self._places:
            self._places[key] = len(self.kept)
            plain = to_json_value(message)
            self.kept.append(plain if isinstance(plain, dict) else {"content": plain})
        return self._places[key]


def _is_complete(invocation: Invocation) -> bool:
    """Tell whether it ended with a reply or an error; what was broken off gave nothing that could be replayed."""
    return invocation.ended and semconv.ABANDONED not in invocation.attributes


def _around(chats: Iterable[ChatInvocation]) -> set[int]:
    """The ids of every operation that a model call was made in."""
    found: set[int] = set()
    for chat in chats:
        outer = chat.parent
        while outer is not None:
            found.add(id(outer))
            outer = outer.parent
    return found


def _model_call(chat: ChatInvocation, messages: _Messages) -> TapedModelCall:
    agent = str(chat.attributes.get(semconv.AGENT_NAME, ""))
    shown = chat.attributes.get(semconv.INPUT_MESSAGES) or []
    reply = chat.reply or ChatReply()
    return TapedModelCall(
        agent=agent,
        step=chat.step,
        digest=request_digest(agent, messages.digests(shown)),
        messages=messages.places(shown),
        content=reply.content,
        chunks=chat.chunks if chat.reply is not None else (),
        tool_calls=tuple(
            TapedToolRequest(name=c.name, arguments=to_json_value(c.arguments), id=c.id) for c in reply.tool_calls
        ),
        usage=reply.usage,
        finish_reason=reply.finish_reason,
        model=reply.model,
        response_id=reply.response_id,
        latency_s=_seconds(chat),
        error=None if chat.error is None else f"{chat.attributes[semconv.ERROR_TYPE]}: {chat.error}",
    )


def _tool_call(tool: ToolInvocation, is_around_agents: bool) -> TapedToolCall:
    attributes = tool.attributes
    arguments = to_json_value(decoded(attributes.get(semconv.TOOL_CALL_ARGUMENTS)))
    shown = attributes.get(semconv.TOOL_CALL_RESULT)
    raised = tool.error if shown is None else None  # where it is known what the agent saw, that is what counts
    return TapedToolCall(
        agent=str(attributes.get(semconv.AGENT_NAME, "")),
        name=tool.name,
        step=tool.step,
        digest=tool_digest(tool.name, arguments),
        arguments=arguments,
        content=str(raised) if raised is not None else shown or "",
        is_error=tool.error is not None or semconv.ERROR_TYPE in attributes,
        value=None if tool.value is ToolInvocation.NONE else to_json_value(tool.value),
        is_none=tool.value is ToolInvocation.NONE,
        error=None if raised is None else f"{class_name(type(raised))}: {raised}",
        is_routing=is_around_agents or semconv.TRANSFER_TARGET in attributes,
        latency_s=_seconds(tool),
    )


def _seconds(invocation: Invocation) -> float:
    return max(0, invocation.end_ns - invocation.start_ns) / 1e9


def retimed(trajectory: Trajectory, recorded: Trajectory, until: int) -> Trajectory:
    """``trajectory`` with the durations and pauses of ``recorded`` in the steps before ``until``.

    A reply from a tape takes no time. In a data set that would tell where a fault was put in, and in a diagnosis it
    would look like a step that did nothing.
    """
    steps: list[Step] = []
    clock: datetime | None = None
    for step in trajectory.steps:
        if step.started_at is None or step.ended_at is None:
            steps.append(step)
            continue
        like = recorded.steps[step.index] if step.index < min(until, len(recorded.steps)) else step
        source = recorded if like is not step else trajectory
        start = clock + _pause(source, step.index) if clock is not None else step.started_at
        clock = start + _duration(like)
        steps.append(step.model_copy(update={"started_at": start, "ended_at": clock}))
    return trajectory.model_copy(update={"steps": tuple(steps)})


def _duration(step: Step) -> timedelta:
    if step.started_at is None or step.ended_at is None:
        return timedelta()
    return step.ended_at - step.started_at


def _pause(run: Trajectory, index: int) -> timedelta:
    """From the end of the step before to the beginning of this one; negative where branches overlap."""
    before, start = run.steps[index - 1].ended_at, run.steps[index].started_at
    return start - before if before is not None and start is not None else timedelta()
