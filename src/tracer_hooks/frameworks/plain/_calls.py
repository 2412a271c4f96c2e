"""Calls of a user's function of any nature: the operation around them, the intervene seam inside, the answer's text."""

from __future__ import annotations

import functools
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tracer_hooks import semconv
from tracer_hooks._guard import guard, report
from tracer_hooks.errors import ReplayError
from tracer_hooks.schema import to_json_value, to_text
from tracer_hooks.telemetry import (
    ChatInvocation,
    Invocation,
    RunInvocation,
    ToolInvocation,
    current_invocation,
    current_run,
    drive,
    drive_async,
)

_ANSWER_KEYS = ("answer", "output", "result", "final", "response", "text", "content")


def answer_text(value: Any) -> str:
    """``value`` as text.

    Text is taken as it is; None is no answer. Of a framework's result the answer is taken: CrewAI's ``raw``, the last
    message of AutoGen's and LangGraph's ``messages``, and one of the usual keys of a mapping. Anything else becomes
    JSON.
    """
    if value is None:
        return ""
    if isinstance(value, (str, bytes, bytearray)):
        return to_text(value)
    if isinstance(raw := getattr(value, "raw", None), str):
        return to_text(raw)
    messages = value.get("messages") if isinstance(value, Mapping) else getattr(value, "messages", None)
    if isinstance(messages, (list, tuple)) and messages:
        return _message_text(messages[-1])
    if isinstance(value, Mapping):
        key = answer_key(value)
        if key is not None:
            return to_text(value[key])
    if isinstance(content := getattr(value, "content", None), str):
        return to_text(content)
    return json.dumps(to_json_value(value), ensure_ascii=False)


def answer_key(value: Mapping[Any, Any]) -> str | None:
    """Under which of the usual keys a mapping holds its answer."""
    return next((key for key in _ANSWER_KEYS if isinstance(value.get(key), str)), None)


def _message_text(message: Any) -> str:
    content = message.get("content") if isinstance(message, Mapping) else getattr(message, "content", message)
    if isinstance(content, list):  # content blocks
        return "\n".join(text for text in map(_block_text, content) if text)
    return content if isinstance(content, str) else json.dumps(to_json_value(content), ensure_ascii=False)


def _block_text(block: Any) -> str:
    """The text of a content block; empty for an image or a call."""
    text = block.get("text") if isinstance(block, Mapping) else getattr(block, "text", block)
    return to_text(text) if isinstance(text, str) else ""


@dataclass(frozen=True)
class Operation:
    """Operation that a decorator opens and closes around a call."""

    begin: Callable[[RunInvocation, tuple[Any, ...], dict[str, Any]], Invocation]
    """Opens it in a run, with the arguments of the call."""
    end: Callable[[Any, Any], None]
    """Closes it with what the function returned."""
    unseen: Callable[[], None] = lambda: None
    """Called where the call is part of no run."""


def wrap(function: Callable[..., Any], operation: Operation) -> Callable[..., Any]:
    """``function`` with ``operation`` around every call; signature and nature stay."""
    if inspect.isasyncgenfunction(function):
        return _wrap_async_generator(function, operation)
    if inspect.iscoroutinefunction(function):
        return _wrap_coroutine(function, operation)
    if inspect.isgeneratorfunction(function):
        return _wrap_generator(function, operation)
    return _wrap_call(function, operation)


def _begin(operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Invocation | None:
    with guard("open an operation of a plain Python team"):
        run = current_run()
        if run is not None:
            return operation.begin(run, args, kwargs)
        operation.unseen()
    return None


def _end(operation: Operation, invocation: Invocation, value: Any) -> None:
    with guard("record what a marked function gave"):
        operation.end(invocation, value)


def _wrap_call(function: Callable[..., Any], operation: Operation) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        invocation = _begin(operation, args, kwargs)
        if invocation is None:
            return function(*args, **kwargs)
        try:
            with invocation.active():
                value = function(*args, **kwargs)
        except BaseException as error:
            invocation.fail(error)
            raise
        if inspect.iscoroutine(value):  # a plain function that hands on a coroutine, as a lambda does
            return _finish_coroutine(value, operation, invocation)
        _end(operation, invocation, value)
        return value

    return call


async def _finish_coroutine(coroutine: Coroutine[Any, Any, Any], operation: Operation, invocation: Invocation) -> Any:
    try:
        with invocation.active():
            value = await coroutine
    except BaseException as error:
        invocation.fail(error)
        raise
    _end(operation, invocation, value)
    return value


def _wrap_coroutine(function: Callable[..., Any], operation: Operation) -> Callable[..., Any]:
    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        invocation = _begin(operation, args, kwargs)
        if invocation is None:
            return await function(*args, **kwargs)
        return await _finish_coroutine(_start(function, args, kwargs, invocation), operation, invocation)

    return call


def _wrap_generator(function: Callable[..., Any], operation: Operation) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        invocation = _begin(operation, args, kwargs)
        if invocation is None:
            return (yield from function(*args, **kwargs))
        items: list[Any] = []
        source = _start(function, args, kwargs, invocation)
        returned = yield from drive(source, invocation, on_item=_collect_items(invocation, items))
        _end(operation, invocation, join_items(items) if items else returned)
        return returned

    return call


def _wrap_async_generator(function: Callable[..., Any], operation: Operation) -> Callable[..., Any]:
    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        invocation = _begin(operation, args, kwargs)
        if invocation is None:
            async with aclosing(function(*args, **kwargs)) as bare:
                async for item in bare:
                    yield item
            return
        items: list[Any] = []
        started = _start(function, args, kwargs, invocation)
        source = drive_async(started, invocation, on_item=_collect_items(invocation, items))
        try:
            async for item in source:
                yield item
        finally:
            await source.aclose()
        _end(operation, invocation, join_items(items))

    return call


def _collect_items(invocation: Invocation, items: list[Any]) -> Callable[[Any], None]:
    """Keeps a stream's items; those of a model are chunks of its reply."""
    if not isinstance(invocation, ChatInvocation):
        return items.append

    def see(item: Any) -> None:
        items.append(item)
        invocation.chunk(item if isinstance(item, str) else "")

    return see


def _start(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], invocation: Invocation) -> Any:
    """The generator or coroutine; arguments that do not fit fail the operation, which is open by now."""
    try:
        return function(*args, **kwargs)
    except BaseException as error:
        invocation.fail(error)
        raise


def join_items(items: list[Any]) -> Any:
    """Join a stream's items: its text, or the last item where not all are text."""
    return "".join(items) if items and all(isinstance(item, str) for item in items) else (items[-1] if items else None)


Request = TypeVar("Request")
Reply = TypeVar("Reply")
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Seam(ABC, Generic[Request, Reply]):
    """Intervention around the calls of one function; subclassed for models and for tools.

    A bug of ours in it is logged, and the call goes on as if nothing intervened.
    """

    reply_type: type[Reply]

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.function = function
        self.name = name

    @abstractmethod
    def ask(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Request, Request | Reply | None] | None:
        """The request and the intervention's answer; None where nothing intervenes."""

    @abstractmethod
    def change(self, args: tuple[Any, ...], kwargs: dict[str, Any], request: Request, changed: Request) -> Arguments:
        """The arguments as the intervention changed them."""

    @abstractmethod
    def ask_after(self, run: RunInvocation, request: Request, reply: Reply) -> Reply:
        """The reply to use, after the intervention has seen the real one."""

    @abstractmethod
    def returned(self, request: Request, value: Any) -> Reply | None:
        """The reply in place of what the call returned; None to leave it."""

    def raised(self, request: Request, error: Exception) -> Reply | None:
        """The reply in place of what the call raised; None to raise it."""
        return None

    def learn(self, value: Any) -> None:
        """Note what the function really returned, also where nothing intervenes."""

    @abstractmethod
    def give(self, reply: Reply, value: Any) -> Any:
        """Give the caller a reply in place of ``value``, which is None where there was none."""

    def supplied(self, answer: Request | Reply | None) -> Reply | None:
        """The reply in place of the call, if the answer is one."""
        return answer if isinstance(answer, self.reply_type) else None

    def replacement(self, request: Request, reply: Reply) -> Reply | None:
        """The reply that the intervention gives in place of ``reply``; None to leave it."""
        current = current_invocation()
        changed = self.ask_after(current.run, request, reply) if current is not None else reply
        return None if changed is reply else changed

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """The arguments of a call by their names."""
        return inspect.signature(self.function).bind_partial(*args, **kwargs)


def with_seam(function: Callable[..., Any], seam: Seam[Any, Any]) -> Callable[..., Any]:
    """``function`` with the run's intervention asked before and after; generators are passed through.

    (A generator may be endless, so its items cannot be held back until the intervention has seen them all.)
    """
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        request, reply, (args, kwargs) = ask_before(seam, args, kwargs)
        if reply is not None:
            return seam.give(reply, None)
        try:
            value = function(*args, **kwargs)
        except Exception as error:
            return _after_error(seam, request, error)
        if inspect.iscoroutine(value):  # a plain function that hands on a coroutine, as a lambda does
            return _await_with_seam(seam, request, value)
        return _after(seam, request, value)

    @functools.wraps(function)
    async def acall(*args: Any, **kwargs: Any) -> Any:
        request, reply, (args, kwargs) = ask_before(seam, args, kwargs)
        if reply is not None:
            return seam.give(reply, None)
        return await _await_with_seam(seam, request, function(*args, **kwargs))

    return acall if inspect.iscoroutinefunction(function) else call


def agent_of(invocation: ChatInvocation | ToolInvocation) -> str:
    """The agent on whose behalf the call is made."""
    return str(invocation.attributes.get(semconv.AGENT_NAME, ""))


def ask_before(seam: Seam[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Arguments]:
    """The request, or None where nothing intervenes; the reply in place of the call, if any; the arguments."""
    asked = guarded_seam(lambda: seam.ask(args, kwargs), None)
    if asked is None:
        return None, None, (args, kwargs)
    request, answer = asked
    reply = seam.supplied(answer)
    if reply is not None:
        return request, guarded_seam(lambda: seam.replacement(request, reply), None) or reply, (args, kwargs)
    if answer is None:
        return request, None, (args, kwargs)
    return request, None, guarded_seam(lambda: seam.change(args, kwargs, request, answer), (args, kwargs))


async def _await_with_seam(seam: Seam[Any, Any], request: Any, coroutine: Coroutine[Any, Any, Any]) -> Any:
    try:
        value = await coroutine
    except Exception as error:
        return _after_error(seam, request, error)
    return _after(seam, request, value)


def _after(seam: Seam[Any, Any], request: Any, value: Any) -> Any:
    guarded_seam(lambda: seam.learn(value), None)
    reply = None if request is None else guarded_seam(lambda: seam.returned(request, value), None)
    return value if reply is None else seam.give(reply, value)


def _after_error(seam: Seam[Any, Any], request: Any, error: Exception) -> Any:
    reply = None if request is None else guarded_seam(lambda: seam.raised(request, error), None)
    if reply is None:
        raise error
    return seam.give(reply, None)


def guarded_seam(work: Callable[[], Any], fallback: Any) -> Any:
    try:
        return work()
    except ReplayError:
        raise
    except Exception as error:
        report("intervene in a plain Python team", error)
        return fallback
