"""Making the tape of a run from what telemetry has seen of it, so that recording costs the run nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.config import ContentCapture
from tracer_hooks.errors import ReplayError
from tracer_hooks.replay._tape import (
    Tape,
    TapedModelCall,
    TapedToolCall,
    TapedToolRequest,
    decoded,
    message_digest,
    request_digest,
    tool_digest,
)
from tracer_hooks.schema import to_json_value
from tracer_hooks.telemetry import ChatInvocation, ChatReply, Invocation, Message, RunInvocation, ToolInvocation


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
        """Where each message is kept."""
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
    """Whether it ended with a reply or an error; what was broken off gave nothing that could be replayed."""
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
        error=None if chat.error is None else _error(chat.error),
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
        error=None if raised is None else _error(raised),
        is_routing=is_around_agents or semconv.TRANSFER_TARGET in attributes,
        latency_s=_seconds(tool),
    )


def _error(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _seconds(invocation: Invocation) -> float:
    return max(0, invocation.end_ns - invocation.start_ns) / 1e9
