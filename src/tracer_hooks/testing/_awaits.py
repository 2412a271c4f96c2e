"""A coroutine that is cancelled at one of the points at which it waits, chosen by its number."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import Any


class CancelledAt:
    """Runs a coroutine, and cancels its task at the ``point``-th point at which it waits.

    That is what a caller's ``task.cancel()`` does, but at every point there is and not only where a test's timing hits.

    Args:
        point: Counted from 0; one that the coroutine never comes to cancels nothing.

    Attributes:
        passed: How many points the coroutine has come to.
    """

    def __init__(self, point: int | None = None) -> None:
        self.passed = 0
        self._point = point

    @property
    def was_reached(self) -> bool:
        """Whether the coroutine came to the point."""
        return self._point is not None and self.passed > self._point

    @types.coroutine
    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Await ``coroutine``; must be the outermost thing of its task but for plain awaits."""
        resume, value = coroutine.send, None
        while True:
            try:
                awaited = resume(value)
            except StopIteration as stop:
                return stop.value
            if self.passed == self._point:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            self.passed += 1
            try:
                value, resume = (yield awaited), coroutine.send
            except BaseException as error:
                value, resume = error, coroutine.throw
