"""The intervene seam of plain Python teams: inside the recorded operation, around the user's function."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import typing
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.adapters._intervention import (
    ModelRequest,
    ToolReply,
    ToolRequest,
    after_model,
    after_tool,
    before_model,
    before_tool,
    changed_texts,
)
from tracer_hooks.adapters.plain._answer import answer_text
from tracer_hooks.schema import to_json_value
from tracer_hooks.telemetry import (
    ChatInvocation,
    ChatReply,
    Message,
    ToolInvocation,
    current_invocation,
)


def intervened_tool(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """``function`` with the run's intervention asked before and after; generators are passed through."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return function

    def ask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[ToolRequest, Any] | None:
        current = current_invocation()
        if not isinstance(current, ToolInvocation) or current.run.intervention is None:
            return None
        arguments = inspect.signature(function).bind_partial(*args, **kwargs).arguments
        plain = {key: to_json_value(value) for key, value in arguments.items() if key not in ("self", "cls")}
        request = ToolRequest(agent=_agent(current), name=name, arguments=plain, step=current.step)
        return request, before_tool(current.run, request)

    def change(args: tuple[Any, ...], kwargs: dict[str, Any], answer: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if not isinstance(answer, ToolRequest) or not isinstance(answer.arguments, Mapping):
            return args, kwargs
        bound = inspect.signature(function).bind_partial(*args, **kwargs)
        bound.arguments.update(answer.arguments)
        if (current := current_invocation()) is not None:
            current.set(semconv.TOOL_CALL_ARGUMENTS, answer.arguments)
        return bound.args, bound.kwargs

    def settle(request: ToolRequest, value: Any) -> Any:
        run = getattr(current_invocation(), "run", None)
        if run is None:
            return value
        reply = ToolReply(content=answer_text(value))
        changed = after_tool(run, request, reply)
        return value if changed is reply else changed.content

    return _seamed(
        function, ask, change, settle, lambda answer: isinstance(answer, ToolReply), lambda reply: reply.content
    )


def intervened_model(
    function: Callable[..., Any],
    name: str,
    *,
    to_messages: Callable[[Any], list[Message]],
    to_reply: Callable[[Any], ChatReply],
) -> Callable[..., Any]:
    """The same for the function that calls a model; a supplied reply reaches the caller in the shape of a real one."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return function

    def prompt_name() -> str:
        return next(p for p in inspect.signature(function).parameters if p not in ("self", "cls"))

    def ask(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[ModelRequest, Any] | None:
        current = current_invocation()
        if not isinstance(current, ChatInvocation) or current.run.intervention is None:
            return None
        prompt = inspect.signature(function).bind_partial(*args, **kwargs).arguments.get(prompt_name(), "")
        request = ModelRequest(
            agent=_agent(current),
            model=name,
            messages=tuple(to_messages(prompt)),
            tools=current.agent.spec.tools,
            step=current.step,
        )
        return request, before_model(current.run, request)

    def change(args: tuple[Any, ...], kwargs: dict[str, Any], answer: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        bound = inspect.signature(function).bind_partial(*args, **kwargs)
        prompt = bound.arguments.get(prompt_name(), "")
        if not isinstance(answer, ModelRequest):
            return args, kwargs
        texts = changed_texts(to_messages(prompt), answer.messages)
        bound.arguments[prompt_name()] = _with_texts(prompt, texts)
        return bound.args, bound.kwargs

    def settle(request: ModelRequest, value: Any) -> Any:
        run = getattr(current_invocation(), "run", None)
        if run is None:
            return value
        reply = to_reply(value)
        changed = after_model(run, request, reply)
        return value if changed is reply else _as_native(changed, value)

    shape = _Shape(function)
    learning = shape.learning(function)
    return _seamed(learning, ask, change, settle, lambda answer: isinstance(answer, ChatReply), shape.of)


def _seamed(
    function: Callable[..., Any],
    ask: Callable[..., Any],
    change: Callable[..., Any],
    settle: Callable[..., Any],
    is_reply: Callable[[Any], bool],
    supplied: Callable[[Any], Any],
) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        asked = ask(args, kwargs)
        if asked is None:
            return function(*args, **kwargs)
        request, answer = asked
        if is_reply(answer):
            return settle(request, supplied(answer))
        args, kwargs = change(args, kwargs, answer)
        return settle(request, function(*args, **kwargs))

    @functools.wraps(function)
    async def acall(*args: Any, **kwargs: Any) -> Any:
        asked = ask(args, kwargs)
        if asked is None:
            return await function(*args, **kwargs)
        request, answer = asked
        if is_reply(answer):
            return settle(request, supplied(answer))
        args, kwargs = change(args, kwargs, answer)
        return settle(request, await function(*args, **kwargs))

    return acall if inspect.iscoroutinefunction(function) else call


def _agent(invocation: ChatInvocation | ToolInvocation) -> str:
    return str(invocation.attributes.get(semconv.AGENT_NAME, ""))


def _with_texts(prompt: Any, texts: dict[int, str]) -> Any:
    if isinstance(prompt, (list, tuple)):
        items = [
            ({**item, "content": texts[i]} if isinstance(item, Mapping) else texts[i]) if i in texts else item
            for i, item in enumerate(prompt)
        ]
        return items
    return texts.get(0, prompt)


def _as_native(reply: ChatReply, before: Any) -> Any:
    """A changed reply in the shape that the function returned before the change."""
    if isinstance(before, ChatReply):
        return replace(before, content=reply.content, tool_calls=reply.tool_calls)
    if isinstance(before, Mapping) and ("content" in before or "tool_calls" in before):
        return {**before, **_assistant_message(reply)}
    return reply.content


class _Shape:
    """In what shape a function gives a reply: as its return annotation says, or as it did at its last call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._like: Any = ""
        with contextlib.suppress(Exception):  # an annotation may name what exists only for type checkers
            hint = typing.get_type_hints(function).get("return", str)
            kind = typing.get_origin(hint) or hint
            self._like = ChatReply() if kind is ChatReply else {"content": ""} if issubclass(kind, Mapping) else ""

    def learning(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, from whose replies the shape is learnt."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            value = function(*args, **kwargs)
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
        return reply if isinstance(self._like, ChatReply) else _as_native(reply, self._like)


def _assistant_message(reply: ChatReply) -> dict[str, Any]:
    """OpenAI's form, in which the arguments of a call are JSON text."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call.arguments)}}
        for call in reply.tool_calls
    ]
    return {"role": "assistant", "content": reply.content, "tool_calls": calls}


def _arguments(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(to_json_value(value), ensure_ascii=False)
