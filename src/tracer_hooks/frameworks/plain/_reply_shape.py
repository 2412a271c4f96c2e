"""In what shape the function that calls a model gives its replies."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import typing
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tracer_hooks.frameworks.plain._answer import answer_key
from tracer_hooks.schema import to_json_value
from tracer_hooks.telemetry import ChatReply


def in_shape_of(reply: ChatReply, before: Any) -> Any:
    """A changed reply in the shape that the function returned before the change."""
    if isinstance(before, ChatReply):
        return replace(before, content=reply.content, tool_calls=reply.tool_calls)
    if isinstance(before, Mapping) and ("content" in before or "tool_calls" in before):
        return {**before, **_assistant_message(reply)}
    if isinstance(before, Mapping) and (key := answer_key(before)) is not None:
        return {**before, key: reply.content}
    return _as_object(reply, type(before)) or reply.content


class ReplyShape:
    """In what shape a function gives a reply: as its return annotation says, or as it did at its last call.

    Text, a mapping in the shape of OpenAI's assistant message (with ``usage``, ``finish_reason`` and ``model`` where
    they are known), a ``ChatReply``, or a pydantic class in the shape of OpenAI's completion or message. A function
    without annotation that has not been called in this process gives text, or where the reply calls tools, a mapping.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._kind: type = object
        with contextlib.suppress(Exception):  # an annotation may name what exists only for type checkers
            hint = typing.get_type_hints(function).get("return", object)
            kind = typing.get_origin(hint) or hint
            self._kind = kind if isinstance(kind, type) else object

    def learning(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, from whose replies the shape is learnt; streams have none."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            return function

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            value = function(*args, **kwargs)
            if not inspect.iscoroutine(value):
                self.learn(value)
            return value

        @functools.wraps(function)
        async def acall(*args: Any, **kwargs: Any) -> Any:
            value = await function(*args, **kwargs)
            self.learn(value)
            return value

        return acall if inspect.iscoroutinefunction(function) else call

    def learn(self, value: Any) -> None:
        """Note a reply that the function really gave, without keeping it."""
        self._kind = type(value)

    def of(self, reply: ChatReply) -> Any:
        """A supplied reply in that shape."""
        if issubclass(self._kind, ChatReply):
            return reply
        if issubclass(self._kind, Mapping) or (self._kind is object and reply.tool_calls):
            return {**_assistant_message(reply), **_about(reply)}
        return _as_object(reply, self._kind) or reply.content


def _as_object(reply: ChatReply, kind: type) -> Any:
    """A reply as an object of a client's class; None where that is not in the shape of OpenAI's."""
    fields, validate = getattr(kind, "model_fields", None), getattr(kind, "model_validate", None)
    if not isinstance(fields, Mapping) or not callable(validate):
        return None
    message = _assistant_message(reply)
    message["tool_calls"] = message["tool_calls"] or None
    try:
        if "choices" in fields:
            return validate(_completion(reply, message))
        return validate(message) if "content" in fields else None
    except ValueError:  # it wants more than there is
        return None


def _completion(reply: ChatReply, message: Mapping[str, Any]) -> dict[str, Any]:
    reason = reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")
    choice = {"index": 0, "finish_reason": reason, "logprobs": None, "message": message}
    head = {"id": reply.response_id or "chatcmpl-supplied", "object": "chat.completion", "created": 0}
    return {**head, "model": reply.model or "", "choices": [choice], "usage": _about(reply).get("usage")}


def _assistant_message(reply: ChatReply) -> dict[str, Any]:
    """OpenAI's form, in which the arguments of a call are JSON text."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call.arguments)}}
        for call in reply.tool_calls
    ]
    return {"role": "assistant", "content": reply.content, "tool_calls": calls}


def _about(reply: ChatReply) -> dict[str, Any]:
    """What a provider says of a reply beside the message."""
    usage = reply.usage
    counts = None
    if usage is not None:
        read, written = usage.input_tokens, usage.output_tokens
        counts = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    told = {"usage": counts, "finish_reason": reply.finish_reason, "model": reply.model}
    return {key: value for key, value in told.items() if value is not None}


def _arguments(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(to_json_value(value), ensure_ascii=False)
