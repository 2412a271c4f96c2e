"""Intervene seam at the models and tools of plain Python teams; supplied replies have the shape of real ones."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import json
import typing
from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.frameworks._intervention import (
    ModelRequest,
    ToolReply,
    ToolRequest,
    after_model,
    after_stream,
    after_tool,
    before_model,
    before_tool,
    changed_texts,
    may_change_replies,
)
from tracer_hooks.frameworks.plain._calls import (
    Arguments,
    Seam,
    agent_of,
    answer_key,
    answer_text,
    ask_before,
    guarded_seam,
    join_items,
    with_seam,
)
from tracer_hooks.schema import to_json_value, to_text
from tracer_hooks.telemetry import (
    AsyncSteps,
    ChatInvocation,
    ChatReply,
    Invocation,
    Message,
    RunInvocation,
    ToolInvocation,
    current_invocation,
    drive,
)


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

    def learn(self, value: Any) -> None:
        """Note a reply that the function really gave, without keeping it."""
        self._kind = type(value)

    def of(self, reply: ChatReply) -> Any:
        """A supplied reply in that shape."""
        if issubclass(self._kind, ChatReply):
            return reply
        if issubclass(self._kind, Mapping) or (self._kind is object and reply.tool_calls):
            return {**_assistant_message(reply), **_reply_details(reply)}
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
    return {**head, "model": reply.model or "", "choices": [choice], "usage": _reply_details(reply).get("usage")}


def _assistant_message(reply: ChatReply) -> dict[str, Any]:
    """OpenAI's form, in which the arguments of a call are JSON text."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call.arguments)}}
        for call in reply.tool_calls
    ]
    return {"role": "assistant", "content": reply.content, "tool_calls": calls}


def _reply_details(reply: ChatReply) -> dict[str, Any]:
    """Details that a provider gives of a reply beside the message."""
    usage = reply.usage
    counts = None
    if usage is not None:
        read, written = usage.input_tokens, usage.output_tokens
        counts = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    details = {"usage": counts, "finish_reason": reply.finish_reason, "model": reply.model}
    return {key: value for key, value in details.items() if value is not None}


def _arguments(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(to_json_value(value), ensure_ascii=False)


def with_stream_seam(function: Callable[..., Any], seam: ModelSeam) -> Callable[..., Any]:
    """:func:`with_seam`, also for generators.

    While something intervenes that may change replies, the items of a live call are held back until it is known whether
    they stay.
    """
    if inspect.isasyncgenfunction(function):
        return _around_async_generator(function, seam)
    if inspect.isgeneratorfunction(function):
        return _around_generator(function, seam)
    return with_seam(function, seam)


def _around_generator(function: Callable[..., Any], seam: ModelSeam) -> Callable[..., Any]:
    @functools.wraps(function)
    def stream(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        request, reply, (args, kwargs) = ask_before(seam, args, kwargs)
        if request is None:
            return (yield from function(*args, **kwargs))
        if reply is not None:
            yield from seam.pieces(reply)
            return None
        items: list[Any] = []
        source, call = function(*args, **kwargs), guarded_seam(seam.streaming, None)
        if call is None:
            returned = _collect(source, items)
            yield from _after_stream(seam, request, items)
        else:
            returned = yield from drive(source, call, on_item=items.append, fails=False)
            guarded_seam(lambda: seam.streamed(request, join_items(items)), None)
        return returned

    return stream


def _around_async_generator(function: Callable[..., Any], seam: ModelSeam) -> Callable[..., Any]:
    @functools.wraps(function)
    async def stream(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        request, reply, (args, kwargs) = ask_before(seam, args, kwargs)
        if request is None:
            async with aclosing(function(*args, **kwargs)) as bare:
                async for item in bare:
                    yield item
            return
        if reply is not None:
            for piece in seam.pieces(reply):
                yield piece
            return
        items: list[Any] = []
        call = guarded_seam(seam.streaming, None)
        if call is None:
            items += [item async for item in function(*args, **kwargs)]
            for item in _after_stream(seam, request, items):
                yield item
            return
        steps = AsyncSteps(function(*args, **kwargs), call, items.append)
        try:
            async for item in steps:
                yield item
        finally:
            await steps.aclose()
        guarded_seam(lambda: seam.streamed(request, join_items(items)), None)

    return stream


def _collect(source: Generator[Any, Any, Any], items: list[Any]) -> Any:
    """Take all items; gives what ``source`` returns."""
    while True:
        try:
            items.append(next(source))
        except StopIteration as stop:
            return stop.value


def _after_stream(seam: ModelSeam, request: Any, items: list[Any]) -> Sequence[Any]:
    reply = guarded_seam(lambda: seam.returned(request, join_items(items)), None)
    return items if reply is None else seam.pieces(reply)


class ModelSeam(Seam[ModelRequest, ChatReply]):
    """Around the function, or generator of text, that calls a model; a supplied reply has the shape of a real one."""

    reply_type = ChatReply

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        *,
        to_messages: Callable[[Any], list[Message]],
        to_reply: Callable[[Any], ChatReply],
    ) -> None:
        super().__init__(function, name)
        self._to_messages = to_messages
        self._to_reply = to_reply
        self.shape = ReplyShape(function)

    def ask(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[ModelRequest, ModelRequest | ChatReply | None] | None:
        current = current_invocation()
        if not isinstance(current, ChatInvocation) or current.run.intervention is None:
            return None
        request = ModelRequest(
            agent=agent_of(current),
            model=self.name,
            messages=tuple(self._to_messages(self._prompt(self.bound(args, kwargs)))),
            tools=current.agent.spec.tools,
            step=current.step,
        )
        return request, before_model(current.run, request)

    def change(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], request: ModelRequest, changed: ModelRequest
    ) -> Arguments:
        bound = self.bound(args, kwargs)
        texts = changed_texts(request.messages, changed.messages)
        bound.arguments[self._prompt_name()] = _with_texts(self._prompt(bound), texts)
        if not changed.covert and (current := current_invocation()) is not None:
            current.set(semconv.INPUT_MESSAGES, list(changed.messages))
        return bound.args, bound.kwargs

    def ask_after(self, run: RunInvocation, request: ModelRequest, reply: ChatReply) -> ChatReply:
        return after_model(run, request, reply)

    def returned(self, request: ModelRequest, value: Any) -> ChatReply | None:
        return self.replacement(request, self._to_reply(value))

    def learn(self, value: Any) -> None:
        self.shape.learn(value)

    def give(self, reply: ChatReply, value: Any) -> Any:
        return self.shape.of(reply) if value is None else in_shape_of(reply, value)

    def pieces(self, reply: ChatReply) -> Sequence[str]:
        """Items that the caller gets for a reply in place of the function's."""
        return reply.chunks if "".join(reply.chunks) == reply.content else (reply.content,)

    def streaming(self) -> Invocation | None:
        """The call in progress whose items may be handed out as they come; None where its reply may yet be changed."""
        current = current_invocation()
        return None if current is None or may_change_replies(current.run) else current

    def streamed(self, request: ModelRequest, value: Any) -> None:
        """Show the intervention what was handed out as it came."""
        current = current_invocation()
        if current is not None:
            after_stream(current.run, request, self._to_reply(value))

    def _prompt(self, bound: inspect.BoundArguments) -> Any:
        return bound.arguments.get(self._prompt_name(), "")

    def _prompt_name(self) -> str:
        return next((name for name in inspect.signature(self.function).parameters if name not in ("self", "cls")), "")


def _with_texts(prompt: Any, texts: Mapping[int, str]) -> Any:
    if not texts:
        return prompt
    if isinstance(prompt, (list, tuple)):
        return [_with_text(item, texts[place]) if place in texts else item for place, item in enumerate(prompt)]
    return texts[0]


def _with_text(message: Any, text: str) -> Any:
    if isinstance(message, Mapping):
        return {**message, "content": text}
    if isinstance(getattr(message, "content", None), str):  # a client's own message class
        changed = copy.copy(message)
        changed.content = text
        return changed
    return text


_ABSENT = object()


def plain_value(value: Any) -> Any:
    """``value`` where it is plain data that its text does not say; None for text, and for objects of the user's.

    A value that is None itself is ``ToolInvocation.NONE``.
    """
    if value is None:
        return ToolInvocation.NONE
    if isinstance(value, str):
        return None
    plain = to_json_value(value)
    return plain if plain == value else None


class ToolSeam(Seam[ToolRequest, ToolReply]):
    """Around one tool."""

    reply_type = ToolReply

    def ask(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[ToolRequest, ToolRequest | ToolReply | None] | None:
        current = current_invocation()
        if not isinstance(current, ToolInvocation) or current.run.intervention is None:
            return None
        given = self.bound(args, kwargs).arguments
        plain = {key: to_json_value(value) for key, value in given.items() if key not in ("self", "cls")}
        request = ToolRequest(agent=agent_of(current), name=self.name, arguments=plain, step=current.step)
        return request, before_tool(current.run, request)

    def change(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], request: ToolRequest, changed: ToolRequest
    ) -> Arguments:
        if not isinstance(changed.arguments, Mapping):
            return args, kwargs
        bound, before = self.bound(args, kwargs), request.arguments
        # The others stay the objects that they are; the request holds them as plain data.
        bound.arguments.update({k: v for k, v in changed.arguments.items() if v != before.get(k, _ABSENT)})
        if (current := current_invocation()) is not None:
            current.set(semconv.TOOL_CALL_ARGUMENTS, changed.arguments)
        return bound.args, bound.kwargs

    def ask_after(self, run: RunInvocation, request: ToolRequest, reply: ToolReply) -> ToolReply:
        return after_tool(run, request, reply)

    def returned(self, request: ToolRequest, value: Any) -> ToolReply | None:
        return self.replacement(request, ToolReply(content=answer_text(value), value=plain_value(value)))

    def raised(self, request: ToolRequest, error: Exception) -> ToolReply | None:
        return self.replacement(request, ToolReply(content=to_text(error), is_error=True))

    def give(self, reply: ToolReply, value: Any) -> Any:
        if reply.is_error:  # in plain Python a tool fails by raising
            raise RuntimeError(reply.content)
        if reply.value is ToolInvocation.NONE:
            return reply.content or None  # text, where an intervention has put some
        return reply.content if reply.value is None else reply.value
