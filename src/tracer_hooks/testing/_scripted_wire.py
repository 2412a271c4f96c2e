"""Wire format of the scripted model: chat completions and responses, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tracer_hooks.testing._scripted_rules import Reply, ScriptedRequest, ToolCallReply, count_tokens, split_evenly

CREATED = 1_700_000_000
"""Creation time in every answer, Unix seconds: fixed, so that equal runs give equal bytes."""
DONE = b"data: [DONE]\n\n"
"""Last event of a Chat Completions stream."""
_ERROR_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


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

    @property
    def final_status(self) -> str:
        """Status of a finished answer of the Responses API."""
        return "incomplete" if self.reply.reason in _INCOMPLETE else "completed"

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


_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def response_body(wire: WireReply) -> dict[str, Any]:
    """Give the body of an answer that is not streamed."""
    items = [_message(wire)] if wire.reply.content is not None else []
    items += [_function_call(wire, i, call) for i, call in enumerate(wire.reply.tool_calls)]
    return _response(wire, wire.final_status, items)


def response_events(wire: WireReply) -> Iterator[bytes]:
    """Give the events of a streamed answer, numbered from 0."""
    for number, (name, data) in enumerate(_events(wire)):
        yield event({"type": name, "sequence_number": number, **data}, name=name)


def _events(wire: WireReply) -> Iterator[tuple[str, dict[str, Any]]]:
    started = _response(wire, "in_progress", [])
    yield "response.created", {"response": started}
    yield "response.in_progress", {"response": started}
    first_call = 0
    if wire.reply.content is not None:
        yield from _message_events(wire)
        first_call = 1
    for i, call in enumerate(wire.reply.tool_calls):
        yield from _call_events(wire, i, call, output_index=first_call + i)
    final = response_body(wire)
    yield f"response.{final['status']}", {"response": final}


def _message_events(wire: WireReply) -> Iterator[tuple[str, dict[str, Any]]]:
    done = _message(wire)
    place = {"item_id": done["id"], "output_index": 0, "content_index": 0}
    part: dict[str, Any] = done["content"][0]
    opened = {**done, "status": "in_progress", "content": []}
    yield "response.output_item.added", {"output_index": 0, "item": opened}
    yield "response.content_part.added", {**place, "part": {**part, "text": ""}}
    for piece in wire.reply.pieces():
        yield "response.output_text.delta", {**place, "delta": piece, "logprobs": []}
    yield "response.output_text.done", {**place, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**place, "part": part}
    yield "response.output_item.done", {"output_index": 0, "item": done}


def _call_events(
    wire: WireReply, position: int, call: ToolCallReply, *, output_index: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    done = _function_call(wire, position, call)
    place = {"item_id": done["id"], "output_index": output_index}
    opened = {**done, "status": "in_progress", "arguments": ""}
    yield "response.output_item.added", {"output_index": output_index, "item": opened}
    for piece in wire.argument_pieces(call):
        yield "response.function_call_arguments.delta", {**place, "delta": piece}
    whole = {"name": call.name, "arguments": call.arguments_json}
    yield "response.function_call_arguments.done", {**place, **whole}
    yield "response.output_item.done", {"output_index": output_index, "item": done}


def _message(wire: WireReply) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "output_text", "text": wire.reply.content, "annotations": [], "logprobs": []}
    return {
        "type": "message",
        "id": f"msg_{wire.key}",
        "status": wire.final_status,
        "role": "assistant",
        "content": [part],
    }


def _function_call(wire: WireReply, position: int, call: ToolCallReply) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{wire.key}-{position + 1}",
        "call_id": wire.call_id(position),
        "name": call.name,
        "arguments": call.arguments_json,
        "status": "completed",
    }


def _response(wire: WireReply, status: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    raw = wire.request.raw
    why = {"reason": _INCOMPLETE[wire.reply.reason]} if status == "incomplete" else None
    return {
        "id": f"resp_{wire.key}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": None,
        "incomplete_details": why,
        "instructions": raw.get("instructions"),
        "metadata": raw.get("metadata") or {},
        "model": wire.model,
        "output": items,
        "parallel_tool_calls": raw.get("parallel_tool_calls", True),
        "previous_response_id": raw.get("previous_response_id"),
        "temperature": raw.get("temperature"),
        "text": raw.get("text") or {"format": {"type": "text"}},
        "tool_choice": raw.get("tool_choice", "auto"),
        "tools": raw.get("tools") or [],
        "top_p": raw.get("top_p"),
        "usage": None if status == "in_progress" else _responses_usage(wire),
    }


def _responses_usage(wire: WireReply) -> dict[str, Any]:
    taken, given = wire.usage
    return {
        "input_tokens": taken,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": given,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": taken + given,
    }
