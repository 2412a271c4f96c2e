"""OpenAI's Responses format: a scripted reply, text and function calls, as a body or as a stream of events.

The server keeps no conversation: with `previous_response_id` a script sees only the input that was sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracer_hooks.testing._scripted_replies import ToolCallReply
from tracer_hooks.testing._scripted_wire import CREATED, WireReply, event

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def response_body(wire: WireReply) -> dict[str, Any]:
    """Give the body of an answer that is not streamed."""
    items = [_message(wire)] if _has_message(wire) else []
    items += [_function_call(wire, i, call) for i, call in enumerate(wire.reply.tool_calls)]
    return _response(wire, _final_status(wire), items)


def response_events(wire: WireReply) -> Iterator[bytes]:
    """Give the events of a streamed answer, numbered from 0."""
    for number, (name, data) in enumerate(_events(wire)):
        yield event({"type": name, "sequence_number": number, **data}, name=name)


def _events(wire: WireReply) -> Iterator[tuple[str, dict[str, Any]]]:
    started = _response(wire, "in_progress", [])
    yield "response.created", {"response": started}
    yield "response.in_progress", {"response": started}
    first_call = 0
    if _has_message(wire):
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


def _has_message(wire: WireReply) -> bool:
    return wire.reply.content is not None


def _message(wire: WireReply) -> dict[str, Any]:
    part: dict[str, Any] = {
        "type": "output_text",
        "text": wire.reply.content,
        "annotations": [],
        "logprobs": [],
    }
    return {
        "type": "message",
        "id": f"msg_{wire.key}",
        "status": _final_status(wire),
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


def _final_status(wire: WireReply) -> str:
    return "incomplete" if wire.reply.reason in _INCOMPLETE else "completed"


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
        "usage": None if status == "in_progress" else _usage(wire),
    }


def _usage(wire: WireReply) -> dict[str, Any]:
    taken, given = wire.usage
    return {
        "input_tokens": taken,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": given,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": taken + given,
    }
