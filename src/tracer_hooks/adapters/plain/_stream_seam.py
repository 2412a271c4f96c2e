"""The intervene seam around functions that stream a model's reply."""

from __future__ import annotations

import functools
import inspect
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from typing import Any

from tracer_hooks.adapters.plain._seam import Reply, Request, Seam, asked_before, ours, seamed
from tracer_hooks.adapters.plain._wrapping import joined


class StreamSeam(Seam[Request, Reply]):
    """A seam whose functions may be generators of text."""

    @abstractmethod
    def pieces(self, reply: Reply) -> Sequence[Any]:
        """What the caller gets one by one for a reply in place of the function's items."""


def seamed_stream(function: Callable[..., Any], seam: StreamSeam[Any, Any]) -> Callable[..., Any]:
    """:func:`seamed`, also for generators.

    While something intervenes, the items of a live call are held back until it is known whether they stay.
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
        returned = _collect(function(*args, **kwargs), items)
        yield from _kept(seam, request, items)
        return returned

    return stream


def _around_async_generator(function: Callable[..., Any], seam: StreamSeam[Any, Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def stream(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        request, reply, (args, kwargs) = asked_before(seam, args, kwargs)
        if request is None:
            async for item in function(*args, **kwargs):
                yield item
            return
        if reply is None:
            items = [item async for item in function(*args, **kwargs)]
        for item in _kept(seam, request, items) if reply is None else seam.pieces(reply):
            yield item

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
