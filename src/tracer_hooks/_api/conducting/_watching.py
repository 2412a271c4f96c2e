"""Every imported framework is watched for teams that run inside hooked runs, while at least one hooked team lives."""

from __future__ import annotations

import sys
import weakref
from collections import deque
from typing import Any

from tracer_hooks._api.conducting._inner_teams import INNER_TEAMS
from tracer_hooks._background import process_lock
from tracer_hooks._guard import guard
from tracer_hooks.frameworks import PatchSet, find_adapters


class Watchtower:
    """Watches the frameworks' classes.

    Watching costs up to half a millisecond to begin, so it goes on between runs; a team that no hooked run is around
    is let pass.
    """

    def __init__(self) -> None:
        self._lock = process_lock()
        self._holders = 0
        self._gone: deque[None] = deque()
        self._watched: dict[str, PatchSet] = {}
        self._modules = 0

    def hold(self, holder: object) -> weakref.finalize[Any, Any]:
        """Watch for as long as ``holder`` lives, or until the value is called; calling it twice does no harm."""
        with self._lock:
            self._holders += 1
        self._count_gone()
        finalizer = weakref.finalize(holder, self._release)
        finalizer.atexit = False  # the classes die with the process
        return finalizer

    def refresh(self) -> None:
        """Begin to watch the frameworks that are imported and not watched yet; what is watched stays as it is."""
        if len(sys.modules) == self._modules:
            return
        with self._lock:
            modules = len(sys.modules)
            for found in find_adapters():
                if found.adapter is None or found.name in self._watched:
                    continue
                with guard(f"watch for teams of {found.name}"):
                    patches = found.adapter.watch(INNER_TEAMS.watcher(found.adapter))
                    if patches:  # else the framework is not imported yet
                        self._watched[found.name] = patches
            self._modules = modules  # last: until then other threads wait for what is being put in place
        self._count_gone()

    def pause(self) -> None:
        """Stop watching until the next run."""
        with self._lock:
            while self._watched:
                self._watched.popitem()[1].undo()
            self._modules = 0

    def _release(self) -> None:
        # Also called by the garbage collector, in a thread that may hold a lock for which the holder of ours waits. So
        # it does not wait: whoever holds the lock now counts when done.
        self._gone.append(None)
        self._count_gone()

    def _count_gone(self) -> None:
        while self._gone and self._lock.acquire(blocking=False):
            try:
                while self._gone:
                    self._gone.pop()
                    self._holders -= 1
                if self._holders <= 0:
                    self.pause()
            finally:
                self._lock.release()


WATCHTOWER = Watchtower()
"""One for the process, since what is watched are the frameworks' classes."""
