"""The intervene seam around functions that stream a model's reply."""

from __future__ import annotations

import functools
import inspect
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import aclosing
from typing import Any

from tracer_hooks.frameworks.plain._seam import Reply, Request, Seam, asked_before, ours, seamed
from tracer_hooks.frameworks.plain._wrapping import joined
from tracer_hooks.telemetry import AsyncSteps, Invocation, drive


class StreamSeam(Seam[Request, Reply]):
    """A seam whose functions may be generators of text."""

    @abstractmethod
    def pieces(self, reply: Reply) -> Sequence[Any]:
        """What the caller gets one by one for a reply in place of the function's items."""

    @abstractmethod
    def streaming(self) -> Invocation | None:
        """The call in progress whose items may be handed out as they come; None where its reply may yet be changed."""

    @abstractmethod
    def streamed(self, request: Request, value: Any) -> None:
        """Show the intervention what was handed out as it came."""


def seamed_stream(function: Callable[..., Any], seam: StreamSeam[Any, Any]) -> Callable[..., Any]:
    """:func:`seamed`, also for generators.

    While something intervenes that may change replies, the items of a live call are held back until it is known whether
    they stay.
    """
    if inspect.isasyncgenfunction(function):
        return _around_async_generator(function, seam)
    if inspect.isgeneratorfunction(function):
        return _around_generator(function, seam)
    return seamed(function, seam)


def _around_generator(function: Callable[..., Any], seam: StreamSeam[Any, Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def stream(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        request, reply, (args, kwargs) = asked_before(seam, args, kwargs)
        if request is None:
            return (yield from function(*args, **kwargs))
        if reply is not None:
            yield from seam.pieces(reply)
            return None
        items: list[Any] = []
        source, call = function(*args, **kwargs), ours(seam.streaming, None)
        if call is None:
            returned = _collect(source, items)
            yield from _kept(seam, request, items)
        else:
            returned = yield from drive(source, call, on_item=items.append, fails=False)
            ours(lambda: seam.streamed(request, joined(items)), None)
        return returned

    return stream


def _around_async_generator(function: Callable[..., Any], seam: StreamSeam[Any, Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def stream(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        request, reply, (args, kwargs) = asked_before(seam, args, kwargs)
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
        call = ours(seam.streaming, None)
        if call is None:
            items += [item async for item in function(*args, **kwargs)]
            for item in _kept(seam, request, items):
                yield item
            return
        steps = AsyncSteps(function(*args, **kwargs), call, items.append)
        try:
            async for item in steps:
                yield item
        finally:
            await steps.aclose()
        ours(lambda: seam.streamed(request, joined(items)), None)

    return stream


def _collect(source: Generator[Any, Any, Any], items: list[Any]) -> Any:
    """Take all items; gives what ``source`` returns."""
    while True:
        try:
            items.append(next(source))
        except StopIteration as stop:
            return stop.value


def _kept(seam: StreamSeam[Any, Any], request: Any, items: list[Any]) -> Sequence[Any]:
    reply = ours(lambda: seam.returned(request, joined(items)), None)
    return items if reply is None else seam.pieces(reply)
