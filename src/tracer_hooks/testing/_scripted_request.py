"""A request as a `ScriptedLLM` saw it, in one form for both of OpenAI's APIs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

AGENT_HEADER = "x-scripted-agent"
"""Request header by which a client can say which agent it works for (see `ScriptedRequest.is_from`)."""

_KEPT_HEADERS = frozenset(
    {
        "accept",
        "baggage",
        "content-type",
        "traceparent",
        "tracestate",
        "user-agent",
        "x-stainless-retry-count",
    }
)
_SYSTEM_ROLES = ("system", "developer")


class MalformedRequestError(ValueError):
    """The client sent a body that is no request of the API; it becomes an HTTP 400."""


@dataclass(frozen=True)
class ScriptedRequest:
    """One model request that reached a `ScriptedLLM`.

    A request to the Responses API is given in the form of chat messages too; `raw` has what was really sent.
    """

    index: int
    """Number of the request, 0-based, in order of arrival."""

    endpoint: str
    """`chat/completions` or `responses`."""

    messages: tuple[Mapping[str, Any], ...]
    """Messages in chat form, oldest first."""

    model: str
    """Model name that was asked for; empty when none was."""

    stream: bool
    """Whether the client asked for a stream."""

    tools: tuple[str, ...]
    """Names of the tools that were offered."""

    raw: Mapping[str, Any]
    """The JSON body as sent."""

    headers: Mapping[str, str]
    """Trace context, user agent and `x-scripted-*` headers, in lower case; never the API key."""

    @property
    def system(self) -> str:
        """Text of the system and developer messages."""
        return "\n".join(text_of(m) for m in self.messages if m.get("role") in _SYSTEM_ROLES)

    @property
    def last(self) -> str:
        """Text of the last message."""
        return text_of(self.messages[-1])

    @property
    def text(self) -> str:
        """Text of all messages, one a line, with the names and arguments of tool calls."""
        return "\n".join(part for m in self.messages for part in (text_of(m), _calls_of(m)) if part)

    @property
    def tool_results(self) -> tuple[str, ...]:
        """Texts of the tool results that came since the model's last reply.

        CrewAI 1.15 adds a user message after them, so they need not be the last messages.
        """
        results: list[str] = []
        for message in reversed(self.messages):
            if message.get("role") == "assistant":
                break
            if message.get("role") == "tool":
                results.append(text_of(message))
        return tuple(reversed(results))

    def is_from(self, agent: str) -> bool:
        """Tell whether the request is `agent`'s, in any case.

        The header `x-scripted-agent` decides where the client sends one (`default_headers=` of OpenAI's
        clients). Without it the system text must begin with the name, alone or after "You are" ("You are the
        Planner.", "Planner: ...").
        """
        declared = self.headers.get(AGENT_HEADER)
        if declared is not None:
            return declared.casefold() == agent.casefold()
        opening = r"\W*(?:(?:you are|your name is|act as)\b\W*)?(?:(?:the|an?)\b\W*)?"
        return re.match(rf"{opening}{re.escape(agent)}(?!\w)", self.system, re.IGNORECASE) is not None

    def input_tokens(self) -> int:
        """Give the tokens of the request where the script does not say, as `count_tokens` counts."""
        return count_tokens(self.text)


def count_tokens(text: str) -> int:
    """Give the stand-in token count of `text`: a quarter of its characters, rounded up, at least 1."""
    return max(1, -(-len(text) // 4))


def text_of(message: Mapping[str, Any]) -> str:
    """Give the text of a message whose content is text, a list of parts, or absent."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [p.get("text") or p.get("refusal") or "" if isinstance(p, dict) else p for p in parts]
    return "\n".join(t for t in texts if isinstance(t, str) and t)


def read_request(index: int, endpoint: str, raw: Any, headers: Mapping[str, str]) -> ScriptedRequest:
    """Give the request in `raw`, the decoded JSON body sent to `endpoint`.

    Raises:
        MalformedRequestError: The body is no JSON object, or holds no messages.
    """
    if not isinstance(raw, dict):
        raise MalformedRequestError("The body is not a JSON object.")
    field = "messages" if endpoint == "chat/completions" else "input"
    messages = _chat_messages(raw.get("messages")) if field == "messages" else _input_messages(raw)
    if not messages:
        raise MalformedRequestError(f"Missing required parameter: {field!r}, a list of messages.")
    kept = {k.lower(): v for k, v in headers.items() if _is_kept(k.lower())}
    return ScriptedRequest(
        index=index,
        endpoint=endpoint,
        messages=tuple(messages),
        model=str(raw.get("model") or ""),
        stream=bool(raw.get("stream")),
        tools=tuple(_tool_names(raw.get("tools"))),
        raw=raw,
        headers=kept,
    )


def _is_kept(header: str) -> bool:
    return header in _KEPT_HEADERS or header.startswith("x-scripted-")


def _chat_messages(value: Any) -> list[dict[str, Any]]:
    messages = value if isinstance(value, list) else []
    if not all(isinstance(m, dict) for m in messages):
        raise MalformedRequestError("Invalid 'messages': expected a list of objects.")
    return messages


def _input_messages(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give the Responses API's `instructions` and `input` as chat messages."""
    value = raw.get("input")
    items = [{"role": "user", "content": value}] if isinstance(value, str) else _chat_messages(value)
    messages = [_input_message(item) for item in items]
    if raw.get("instructions") and messages:
        messages.insert(0, {"role": "system", "content": raw["instructions"]})
    return messages


def _input_message(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type") == "function_call_output":
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}
    if item.get("type") == "function_call":
        function = {"name": item.get("name"), "arguments": item.get("arguments")}
        call = {"id": item.get("call_id"), "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    return item


def _tool_names(tools: Any) -> list[str]:
    # Chat Completions nests the name under "function", the Responses API does not.
    listed = [t for t in tools if isinstance(t, dict)] if isinstance(tools, list) else []
    return [str((t.get("function") or t).get("name") or t.get("type")) for t in listed]


def _calls_of(message: Mapping[str, Any]) -> str:
    calls = message.get("tool_calls") or []
    functions = [c.get("function") or {} for c in calls if isinstance(c, dict)]
    return "\n".join(f"{f.get('name')}({f.get('arguments')})" for f in functions)
