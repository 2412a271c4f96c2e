"""Forks while other threads are at work: locks that a child can take, and code that no fork cuts in two."""

from __future__ import annotations

import logging  # noqa: F401 - its lock is taken by a fork hook of its own: see the end
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
        self._was_cut = False

    @property
    def was_cut(self) -> bool:
        """Whether this process was forked in the midst of such code, so that what it uses may be locked for good."""
        return self._was_cut

    @property
    def is_held_here(self) -> bool:
        """Whether the calling thread holds it: a finaliser may find that so, and must not wait for others then."""
        return bool(self._lock._is_owned())  # type: ignore[attr-defined]

    def __enter__(self) -> None:
        if not self._is_open.is_set() and not self.is_held_here:
            self._is_open.wait(_PATIENCE_S)
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def before_fork(self) -> None:
        self._is_open.clear()
        # Fork hooks of others run before this one and may have taken a lock that the holder of ours waits for.
        if self._lock.acquire(timeout=_FORK_PATIENCE_S):
            for one in list(_resting):
                one.rest()

    def after_in_parent(self) -> None:
        if self.is_held_here:  # not where it took too long
            self._lock.release()
        self._is_open.set()

    def after_in_child(self) -> None:
        self._was_cut = self._was_cut or not self.is_held_here
        # What threading and logging do with theirs; there is no public way (CPython 3.9 on).
        self._lock._at_fork_reinit()  # type: ignore[attr-defined]
        self._is_open._at_fork_reinit()  # type: ignore[attr-defined]
        self._is_open.set()


_PATIENCE_S = 1.0
"""A fork takes milliseconds; after so long nobody waits for one."""
_FORK_PATIENCE_S = 5.0
"""How long a fork waits for code that it must not cut in two; then it goes on, and the child leaves that code alone."""
no_fork = _NoFork()
"""Held while code runs that must not be forked: a fork waits for it. For C libraries with locks of their own, such as
SQLite's, which nobody can free in a child. Hold it for short work only, and never wait for another lock within."""


def process_lock() -> RLock:
    """A reentrant lock for what exists once in a process; free again in a child that is forked while it is held.

    Reentrant, since the garbage collector may end a stream in the midst of what the lock is held for, and the end of a
    run takes such locks.
    """
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def _free_locks() -> None:
    # What threading and logging do with theirs; there is no public way (CPython 3.9 on).
    for lock in _locks:
        lock._at_fork_reinit()
    no_fork.after_in_child()


if hasattr(os, "register_at_fork"):
    # Those who register last are called first: a fork that had logging's lock already would wait for a thread that
    # holds ours and logs something. So logging is imported above, before this.
    os.register_at_fork(before=no_fork.before_fork, after_in_parent=no_fork.after_in_parent, after_in_child=_free_locks)
