"""Wrap a user's function of any nature (plain, coroutine, generator, asynchronous generator) in an operation."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextlib import aclosing
from typing import Any, Protocol

from tracer_hooks._guard import guard
from tracer_hooks.telemetry import ChatInvocation, Invocation, drive, drive_async


class Operation(Protocol):
    """What a decorator does around a call."""

    def begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Invocation | None:
        """Open the operation; None leaves the call alone."""

    def end(self, invocation: Invocation, value: Any) -> None:
        """Close it with what the function returned."""


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
        return operation.begin(args, kwargs)
    return None


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
            return _finished_later(value, operation, invocation)
        operation.end(invocation, value)
        return value

    return call


async def _finished_later(coroutine: Coroutine[Any, Any, Any], operation: Operation, invocation: Invocation) -> Any:
    try:
        with invocation.active():
            value = await coroutine
    except BaseException as error:
        invocation.fail(error)
        raise
    operation.end(invocation, value)
    return value


def _wrap_coroutine(function: Callable[..., Any], operation: Operation) -> Callable[..., Any]:
    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        invocation = _begin(operation, args, kwargs)
        if invocation is None:
            return await function(*args, **kwargs)
        try:
            with invocation.active():
                value = await function(*args, **kwargs)
        except BaseException as error:
            invocation.fail(error)
            raise
        operation.end(invocation, value)
        return value

    return call


def _wrap_generator(function: Callable[..., Any], operation: Operation) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        invocation = _begin(operation, args, kwargs)
        if invocation is None:
            return (yield from function(*args, **kwargs))
        items: list[Any] = []
        returned = yield from drive(
            _started(function, args, kwargs, invocation), invocation, on_item=_watch(invocation, items)
        )
        operation.end(invocation, joined(items) if items else returned)
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
        source = drive_async(
            _started(function, args, kwargs, invocation), invocation, on_item=_watch(invocation, items)
        )
        try:
            async for item in source:
                yield item
        finally:
            await source.aclose()
        operation.end(invocation, joined(items))

    return call


def _watch(invocation: Invocation, items: list[Any]) -> Callable[[Any], None]:
    """Keeps a stream's items; those of a model are chunks of its reply."""
    if not isinstance(invocation, ChatInvocation):
        return items.append

    def see(item: Any) -> None:
        items.append(item)
        invocation.chunk(item if isinstance(item, str) else "")

    return see


def _started(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], invocation: Invocation
) -> Any:
    """The generator; arguments that do not fit fail the operation, which is open by now."""
    try:
        return function(*args, **kwargs)
    except BaseException as error:
        invocation.fail(error)
        raise


def joined(items: list[Any]) -> Any:
    """What a stream gave in all: its text, or the last item of one that is not text."""
    return "".join(items) if items and all(isinstance(item, str) for item in items) else (items[-1] if items else None)
