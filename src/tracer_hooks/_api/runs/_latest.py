"""The newest runs of one team: of the calling task or thread, and of all."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from tracer_hooks._api.runs._team_run import TeamRun
from tracer_hooks._forking import process_lock

_MAX_AROUND = 8
"""Tasks may start tasks without end; only the nearest ones hear of a run."""


class _Scope:
    """A task or thread that made a run, and those that started it.

    The context variable holds this instead of the runs: contexts live as long as their threads, and a run, by way of
    its exception's frames, may hold on to the whole team.
    """

    __slots__ = ("__weakref__", "around", "owner")

    def __init__(self, owner: object, around: tuple[weakref.ref[_Scope], ...]) -> None:
        self.owner = weakref.ref(owner)
        self.around = around

    def chain(self) -> Iterator[_Scope]:
        """This scope, then those around it."""
        yield self
        for reference in self.around:
            scope = reference()
            if scope is not None:
                yield scope


# One variable for all teams: contexts never let go of a variable.
_SCOPE: ContextVar[_Scope | None] = ContextVar("tracer_hooks_scope", default=None)


def own_scope() -> Any:
    """The scope of the calling task or thread, made where there is none, so that runs of tasks below are seen in it."""
    owner, scope = _caller(), _SCOPE.get()
    if scope is None or scope.owner() is not owner:
        around = () if scope is None else (weakref.ref(scope), *scope.around)
        scope = _Scope(owner, around[:_MAX_AROUND])
        _SCOPE.set(scope)
    return scope


class LatestRuns:
    """Knows for every task and thread which run of one team is the newest that it, or a task that it started, made."""

    def __init__(self) -> None:
        self._lock = process_lock()
        self._newest: TeamRun | None = None
        self._by_scope: weakref.WeakKeyDictionary[_Scope, TeamRun] = weakref.WeakKeyDictionary()
        self._by_thread: weakref.WeakKeyDictionary[threading.Thread, TeamRun] = weakref.WeakKeyDictionary()

    def add(self, run: TeamRun) -> None:
        """Note a run that begins in the calling task or thread."""
        scope: _Scope = own_scope()
        with self._lock:
            self._newest = run
            self._by_thread[threading.current_thread()] = run
            for one in scope.chain():
                self._by_scope[one] = run

    @property
    def newest(self) -> TeamRun | None:
        """The newest run of the calling task or thread, else the newest run."""
        scope = _SCOPE.get()
        with self._lock:
            if scope is not None and (mine := self._by_scope.get(scope)) is not None:
                return mine
            return self._by_thread.get(threading.current_thread()) or self._newest


def _caller() -> object:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop is running here
        task = None
    return task if task is not None else threading.current_thread()
