"""Drive a generator inside an operation without ever holding the context across a ``yield``.

A generator that is broken off is closed later, in whatever context happens to be current. So the operation's context is
attached around each step alone, and removed before the item is handed out.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import Any, Generic, TypeVar

from tracer_hooks._guard import guard
from tracer_hooks.telemetry._invocation import Invocation

T = TypeVar("T")

OnItem = Callable[[T], None]


class AsyncSteps(Generic[T]):
    """Takes the items of an asynchronous generator one by one, each step run inside an operation.

    It is no generator itself. When a stream is broken off without being closed, the event loop closes each generator of
    the chain by itself and in no certain order, which an inner one may answer with "async generator ignored
    GeneratorExit". So there is at most one generator of ours around the user's.

    Args:
        source: The generator.
        invocation: The operation.
        on_item: Sees each item first.
    """

    def __init__(self, source: AsyncIterator[T], invocation: Invocation, on_item: OnItem[T] | None = None) -> None:
        self._source = source
        self._invocation = invocation
        self._on_item = on_item

    def __aiter__(self) -> AsyncSteps[T]:
        return self

    async def __anext__(self) -> T:
        with self._invocation.active():
            item = await anext(self._source)
        if self._on_item is not None:
            with guard("look at a streamed item"):
                self._on_item(item)
        return item

    async def aclose(self) -> None:
        """Close the generator, if it can be closed."""
        close = getattr(self._source, "aclose", None)
        if close is not None:
            await close()


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
                    item = await anext(source)  # not by AsyncSteps, which would be one more frame in every traceback
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
