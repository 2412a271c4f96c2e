"""An event that threads and event loops may wait for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress


class Moment(threading.Event):
    """Like :class:`threading.Event`; in asynchronous code it is awaited without a thread that waits.

    A thread of the loop's executor that waits for ever keeps the loop, and with it the process, from ending.
    """

    def __init__(self) -> None:
        super().__init__()
        self._callbacks: list[Callable[[], None]] = []
        self._registering = threading.RLock()

    def set(self) -> None:
        """Wake all that wait."""
        with self._registering:
            super().set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    async def reached(self) -> None:
        """Wait, in an event loop."""
        loop = asyncio.get_running_loop()
        woken = asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(woken.set)

        with self._registering:
            if self.is_set():
                return
            self._callbacks.append(wake)
        try:
            await woken.wait()
        finally:
            with self._registering:
                if wake in self._callbacks:
                    self._callbacks.remove(wake)
