"""Forks while other threads are at work: locks that a child can take, and code that no fork cuts in two."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from _thread import RLock
    from types import TracebackType

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


class Resting(Protocol):
    """What holds something between uses that no child may inherit."""

    def rest(self) -> None:
        """Let go of it; called while :data:`no_fork` is held."""


_resting: weakref.WeakSet[Resting] = weakref.WeakSet()


def rests_before_fork(one: Resting) -> None:
    """Let ``one`` rest before each fork."""
    _resting.add(one)


class _NoFork:
    """A lock for code that must not be forked; a fork that waits goes before everybody who comes after it.

    A plain lock would let it starve: threads that take it again and again, on a machine that is busy, leave it free for
    no longer than it takes to take it again.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._is_open = threading.Event()
        self._is_open.set()

    def __enter__(self) -> None:
        if not self._is_open.is_set() and not self._lock._is_owned():  # type: ignore[attr-defined]
            self._is_open.wait(_PATIENCE_S)
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def before_fork(self) -> None:
        self._is_open.clear()
        self._lock.acquire()
        for one in list(_resting):
            one.rest()

    def after_in_parent(self) -> None:
        self._lock.release()
        self._is_open.set()

    def after_in_child(self) -> None:
        # What threading and logging do with theirs; there is no public way (CPython 3.9 on).
        self._lock._at_fork_reinit()  # type: ignore[attr-defined]
        self._is_open._at_fork_reinit()  # type: ignore[attr-defined]
        self._is_open.set()


_PATIENCE_S = 1.0
"""A fork takes milliseconds; after so long nobody waits for one."""
no_fork = _NoFork()
"""Held while code runs that must not be forked: a fork waits for it. For C libraries with locks of their own, such as
SQLite's, which nobody can free in a child. Hold it for short work only, and never wait for another lock within."""


def process_lock() -> RLock:
    """A reentrant lock for what exists once in a process; free again in a child that is forked while it is held."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _free_locks() -> None:
    # What threading and logging do with theirs; there is no public way (CPython 3.9 on).
    for lock in _locks:
        lock._at_fork_reinit()
    no_fork.after_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=no_fork.before_fork, after_in_parent=no_fork.after_in_parent, after_in_child=_free_locks)
