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

from tracer_hooks.adapters.plain._answer import answer_key
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
    return reply.content


class ReplyShape:
    """In what shape a function gives a reply: as its return annotation says, or as it did at its last call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._like: Any = ""
        with contextlib.suppress(Exception):  # an annotation may name what exists only for type checkers
            hint = typing.get_type_hints(function).get("return", str)
            kind = typing.get_origin(hint) or hint
            self._like = ChatReply() if kind is ChatReply else {"content": ""} if issubclass(kind, Mapping) else ""

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
        if isinstance(value, ChatReply):
            self._like = ChatReply()
        else:
            self._like = {"content": ""} if isinstance(value, Mapping) else ""

    def of(self, reply: ChatReply) -> Any:
        """A supplied reply in that shape."""
        return reply if isinstance(self._like, ChatReply) else in_shape_of(reply, self._like)


def _assistant_message(reply: ChatReply) -> dict[str, Any]:
    """OpenAI's form, in which the arguments of a call are JSON text."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call.arguments)}}
        for call in reply.tool_calls
    ]
    return {"role": "assistant", "content": reply.content, "tool_calls": calls}


def _arguments(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(to_json_value(value), ensure_ascii=False)
