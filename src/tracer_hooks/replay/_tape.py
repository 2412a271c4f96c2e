"""The tape of a run: every model and tool reply of it, in the order in which they were asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from tracer_hooks.adapters import ToolReply
from tracer_hooks.schema import SCHEMA_VERSION, Json, Record, Text, Usage, to_json_value
from tracer_hooks.telemetry import ChatReply, Message, RequestedTool


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
    """The text as it was streamed; empty when it came in one piece."""
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
    is_routing: bool = False
    """Whether it hands control to another agent, or agents acted inside it: a replay runs such a call anew, since its
    effect is on the run itself; what the agents in it ask for is on the tape."""
    latency_s: float = 0.0
    """How long the call took, in seconds."""

    def reply(self) -> ToolReply:
        """The reply as adapters take it."""
        return ToolReply(content=self.content, is_error=self.is_error, value=self.value)


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

    def messages_of(self, call: TapedModelCall) -> list[Message]:
        """What the model was shown in ``call``."""
        return [dict(self.messages[position]) for position in call.messages]

    def at_step(self, step: int) -> tuple[TapedModelCall, ...]:
        """The model calls of one step; more than one where a failed call was attempted again."""
        return tuple(call for call in self.model_calls if call.step == step)


def model_digest(agent: str, messages: Sequence[Message]) -> str:
    """A hash of who asks and what it shows the model; equal requests have equal digests in every process."""
    return _digest([agent, *messages])


def tool_digest(name: str, arguments: Any) -> str:
    """A hash of a tool and its arguments; arguments that are JSON text count as what they say."""
    return _digest([name, decoded(arguments)])


def decoded(arguments: Any) -> Any:
    """Arguments as plain data: models write them as JSON text, frameworks pass them on as either."""
    if isinstance(arguments, str):
        try:
            return json.loads(arguments)
        except ValueError:
            return arguments
    return arguments


def _digest(parts: Sequence[Any]) -> str:
    text = json.dumps([to_json_value(part) for part in parts], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
