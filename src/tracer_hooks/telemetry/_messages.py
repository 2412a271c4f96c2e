"""Chat messages in the shape of the GenAI conventions: ``{"role", "name"?, "parts": [...]}``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracer_hooks.schema import Usage, to_text

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
    """What a model answered."""

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
    """What a model said earlier, with the tools it called."""
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
