"""The result of an awaitable in synchronous code."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable
from typing import Any


def run_awaitable(awaitable: Awaitable[Any]) -> Any:
    """The result of ``awaitable``, also where an event loop is running: it then gets a loop and thread of its own."""

    async def finish() -> Any:
        return await awaitable

    if not _loop_is_running():
        return asyncio.run(finish())
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(asyncio.run(finish()))
        except BaseException as error:
            failure.append(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(work,), name="tracer-hooks-await")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
