"""OpenAI's Chat Completions format: a scripted reply as a body or as the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tracer_hooks.testing._scripted_replies import Reply, ToolCallReply, split_evenly
from tracer_hooks.testing._scripted_request import ScriptedRequest, count_tokens

CREATED = 1_700_000_000
"""Creation time in every answer, Unix seconds: fixed, so that equal runs give equal bytes."""

DONE = b"data: [DONE]\n\n"
"""Last event of a Chat Completions stream."""

_ERROR_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}


@dataclass(frozen=True)
class WireReply:
    """A reply with all that its encoding needs."""

    reply: Reply
    """The scripted reply."""

    request: ScriptedRequest
    """The request that it answers."""

    key: str
    """Stem of all ids in the answer."""

    @property
    def model(self) -> str:
        """Model name in the answer."""
        return self.reply.model or self.request.model

    @property
    def usage(self) -> tuple[int, int]:
        """Input and output tokens."""
        if self.reply.usage is not None:
            return self.reply.usage
        calls = "".join(call.name + call.arguments_json for call in self.reply.tool_calls)
        return self.request.input_tokens(), count_tokens((self.reply.text or "") + calls)

    def call_id(self, position: int) -> str:
        """Id of the tool call at `position`, 0-based."""
        return self.reply.tool_calls[position].id or f"call_{self.key}-{position + 1}"

    def argument_pieces(self, call: ToolCallReply) -> list[str]:
        """Arguments of `call` as they are streamed: two pieces, or as many as the reply asks for."""
        count = self.reply.chunks if isinstance(self.reply.chunks, int) else 2
        return split_evenly(call.arguments_json, count)


def completion_body(wire: WireReply) -> dict[str, Any]:
    """Give the body of an answer that is not streamed."""
    message: dict[str, Any] = {"role": "assistant", "content": wire.reply.content, "refusal": None}
    if wire.reply.tool_calls:
        message["tool_calls"] = [_tool_call(wire, i, call) for i, call in enumerate(wire.reply.tool_calls)]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": wire.reply.reason}
    return {**_head(wire, "chat.completion"), "choices": [choice], "usage": _usage(wire)}


def completion_events(wire: WireReply) -> Iterator[bytes]:
    """Give the events of a streamed answer; with usage as the last one if the request includes it."""
    include_usage = bool((wire.request.raw.get("stream_options") or {}).get("include_usage"))
    deltas: list[tuple[dict[str, Any], str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [({"content": piece}, None) for piece in wire.reply.pieces()]
    for i, call in enumerate(wire.reply.tool_calls):
        deltas += [({"tool_calls": [delta]}, None) for delta in _tool_call_deltas(wire, i, call)]
    deltas.append(({}, wire.reply.reason))
    head = _head(wire, "chat.completion.chunk")
    # OpenAI sends "usage": null with every chunk before the last, but only when usage was asked for.
    pending = {"usage": None} if include_usage else {}
    for delta, reason in deltas:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        yield event({**head, "choices": [choice], **pending})
    if include_usage:
        yield event({**head, "choices": [], "usage": _usage(wire)})
    yield DONE


def error_body(status: int, message: str, *, type: str | None = None, code: str | None = None) -> dict[str, Any]:
    """Give the body of an HTTP error; `type` defaults to OpenAI's name for `status`."""
    default = "server_error" if status >= 500 else "invalid_request_error"
    kind = type or _ERROR_TYPES.get(status, default)
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def event(data: Mapping[str, Any], *, name: str | None = None) -> bytes:
    """Give one server-sent event, named as in the Responses API if `name` is given."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _head(wire: WireReply, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{wire.key}",
        "object": kind,
        "created": CREATED,
        "model": wire.model,
        "system_fingerprint": "fp_scripted",
    }


def _usage(wire: WireReply) -> dict[str, Any]:
    taken, given = wire.usage
    return {
        "prompt_tokens": taken,
        "completion_tokens": given,
        "total_tokens": taken + given,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _tool_call(wire: WireReply, position: int, call: ToolCallReply) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments_json}
    return {"id": wire.call_id(position), "type": "function", "function": function}


def _tool_call_deltas(wire: WireReply, position: int, call: ToolCallReply) -> Iterator[dict[str, Any]]:
    first = _tool_call(wire, position, call)
    first["function"]["arguments"] = ""
    yield {"index": position, **first}
    for piece in wire.argument_pieces(call):
        yield {"index": position, "function": {"arguments": piece}}
