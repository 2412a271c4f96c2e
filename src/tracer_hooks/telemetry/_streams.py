"""Drive a generator inside an operation without ever holding the context across a ``yield``.

A generator that is broken off is closed later, in whatever context happens to be current. So the operation's context is
attached around each step alone, and removed before the item is handed out.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import Any, TypeVar

from tracer_hooks._guard import guard
from tracer_hooks.telemetry._invocation import Invocation

T = TypeVar("T")

OnItem = Callable[[T], None]


async def drive_async(
    source: AsyncIterator[T], invocation: Invocation, *, on_item: OnItem[T] | None = None, fails: bool = True
) -> AsyncGenerator[T, None]:
    """Yield what ``source`` yields, each step run inside ``invocation``, which fails or is abandoned with it.

    The caller ends the invocation after a normal end, and with ``fails=False`` after any end. ``on_item`` sees each
    item first.
    """
    try:
        while True:
            try:
                with invocation.active():
                    item = await anext(source)
            except StopAsyncIteration:
                return
            if on_item is not None:
                with guard("look at a streamed item"):
                    on_item(item)
            yield item
    except BaseException as error:
        if fails:
            invocation.fail(error)
        raise
    finally:
        close = getattr(source, "aclose", None)
        if close is not None:
            await close()


def drive(
    source: Iterator[T], invocation: Invocation, *, on_item: OnItem[T] | None = None, fails: bool = True
) -> Generator[T, Any, Any]:
    """The same for plain generators; see :func:`drive_async`. What is sent or thrown in goes on to ``source``.

    Returns:
        What ``source`` returns.
    """
    step: Callable[[], T] = functools.partial(next, source)
    try:
        while True:
            try:
                with invocation.active():
                    item = step()
            except StopIteration as stop:
                return stop.value
            if on_item is not None:
                with guard("look at a streamed item"):
                    on_item(item)
            try:
                step = _next_step(source, (yield item))
            except GeneratorExit:
                raise
            except BaseException as thrown:
                if not isinstance(source, Generator):
                    raise
                step = functools.partial(source.throw, thrown)
    except BaseException as error:
        if fails:
            invocation.fail(error)
        raise
    finally:
        close = getattr(source, "close", None)
        if close is not None:
            close()


def _next_step(source: Iterator[T], sent: Any) -> Callable[[], T]:
    if sent is not None and isinstance(source, Generator):
        return functools.partial(source.send, sent)
    return functools.partial(next, source)
