"""The result of an awaitable in synchronous code."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import Any

_KEPT: contextvars.ContextVar[asyncio.Runner | None] = contextvars.ContextVar("tracer_hooks_loop", default=None)


@contextmanager
def one_loop(runner: asyncio.Runner) -> Iterator[None]:
    """Await in the event loop of ``runner`` meanwhile, and not in a new one each time.

    A model client keeps connections that die with their loop, so a team that is there once needs one loop for all its
    runs. It must not be used by two threads at a time.
    """
    token = _KEPT.set(runner)
    try:
        yield
    finally:
        _KEPT.reset(token)


def run_awaitable(awaitable: Awaitable[Any]) -> Any:
    """The result of ``awaitable``, also where an event loop is running: it then gets a loop and thread of its own."""

    async def finish() -> Any:
        return await awaitable

    if not loop_is_running():
        kept = _KEPT.get()
        return asyncio.run(finish()) if kept is None else kept.run(finish(), context=contextvars.copy_context())
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(asyncio.run(finish()))
        except BaseException as error:
            failure.append(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(work,), name="tracer-hooks-await", daemon=True)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def loop_is_running() -> bool:
    """Whether the calling thread runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
