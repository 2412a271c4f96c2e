"""Threads that the end of a process does not wait for."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


def start_daemon(work: Callable[[], object], name: str) -> threading.Thread:
    """Start ``work`` in a thread that nobody has to wait for.

    Raises:
        RuntimeError: The interpreter is ending and starts no thread.
    """
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


async def in_daemon_thread(work: Callable[[], T], name: str) -> T:
    """What ``work`` gives, made in a thread of its own with the caller's context.

    Unlike :func:`asyncio.to_thread`: the end of the event loop waits for every thread of its executor, so work that
    hangs would keep a process from ending after its caller was cancelled.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Any, error: BaseException | None) -> None:
        if answer.done():  # cancelled meanwhile
            return
        if error is None:
            answer.set_result(value)
        else:
            answer.set_exception(error)

    def run() -> None:
        value, error = None, None
        try:
            value = context.run(work)
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, value, error)

    start_daemon(run, name)
    return await answer
