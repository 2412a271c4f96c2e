"""Writes what is kept of calls into a store's file, in a thread of its own, and never keeps a caller waiting for long.

A call hands over what is kept of it and waits for the commit. Where another process does not let go of the file, it
waits for :data:`LOCK_S` and goes on, and no other call waits until something is written; the thread tries for longer,
and writes all that has gathered meanwhile in one transaction. A file that fails is left alone for a while; what waits
in memory meanwhile is bounded, and what is lost is counted.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tracer_hooks._api.runs._pause import Pause
from tracer_hooks._forking import no_fork
from tracer_hooks._guard import logger, report, warn_once
from tracer_hooks._waiting import start_daemon, waits_at_exit
from tracer_hooks.errors import StoreError

if TYPE_CHECKING:
    from tracer_hooks.store import PackedRun, RunStore, Writing

PATIENCE_S = 0.025
"""How long a call waits to read."""
LOCK_S = 0.5
"""How long a call waits for the lock to write: others that store their runs hold it for milliseconds, and what a call
that returned has left is to be stored. Only the first call waits where nobody lets go of it."""
LONGEST_S = 2.0
"""How long a call waits at all, for a slow disk perhaps, before it is thought of as one that fails."""
_LOCK_S = 5.0
"""How long the thread tries to get the lock before the file counts as one that fails."""
_REST_S = 0.2
"""How long the file is kept open where there is nothing to do: opening it costs more than a run's transaction, and who
copies it meanwhile misses what is still in the write-ahead log."""
_IDLE_S = 10.0
"""How long the thread is kept where there is nothing to do."""
_BATCH = 100
"""Calls in one transaction: others wait for its end."""
_MOST_CALLS = 1_000
_MOST_BYTES = 64 * 2**20
"""What may wait in memory; beyond that, the oldest is lost."""


@dataclass(frozen=True)
class Part:
    """Something that is written beside a call's runs, and what follows from it."""

    what: str
    """Completes "tracer-hooks cannot ..."."""
    write: Callable[[Writing], bool]
    """Writes it; whether it was new."""
    then: Callable[[], None] | None = None
    """What is done once it is committed, where it was new."""


@dataclass(eq=False)
class Kept:
    """What is kept of one call."""

    runs: list[PackedRun] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    is_settled: bool = False
    """Whether it is committed, or lost."""
    bug: Exception | None = None
    """What went wrong with it that no store is to blame for."""

    @property
    def size(self) -> int:
        """Bytes, nearly."""
        return sum(run.size for run in self.runs)


class Keeper:
    """Keeps what is left of calls in one store's file.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._changed = threading.Condition()
        self._waiting: deque[Kept] = deque()
        self._going: list[Kept] = []
        self._bytes = 0
        self._thread: threading.Thread | None = None
        self._pause = Pause()
        self._locking_since: float | None = None
        self._is_late = False
        self._is_last = False
        self._lost = 0
        self._late = 0
        self._error: StoreError | None = None
        waits_at_exit(self, last=True)

    @property
    def is_failing(self) -> bool:
        """Whether callers should leave the file alone: it was late or failed, and has taken nothing since."""
        return self._is_late or self._pause.is_on

    def keep(self, kept: Kept) -> None:
        """Hand over what is left of a call; returns once it is committed, or when waiting any longer is too much."""
        _open(self._path).load()  # here: the import of a library is no delay that a store is to blame for
        with self._changed:
            self._admit(kept)
            self._changed.notify_all()
        if self._has_thread():
            if self._may_wait():
                self._await(kept)
        else:  # the interpreter is ending and starts no thread
            self._write_all()
        if kept.bug is not None:
            report("store the run", kept.bug)

    def drain(self, deadline: float) -> bool:
        """Wait until everything is written, or the time has come; a file that fails is tried once more.

        The file is then closed, and all that was written is in it: it may be copied or moved.
        """
        if not self._is_written(deadline):
            return False
        _open(self._path).rest()
        return self._lost == 0

    def _is_written(self, deadline: float) -> bool:
        with self._changed:
            self._is_last = True
            self._changed.notify_all()
            while self._waiting or self._going:
                left = deadline - time.monotonic()
                if left <= 0 or not self._is_last:  # the thread has tried, and failed
                    self._is_last = False
                    return False
                self._changed.wait(left)
            self._is_last = False
            return True

    def give_up(self) -> None:
        """Say how many runs were lost; nobody waits for the others any longer."""
        with self._changed:
            left = [*self._going, *self._waiting]
            for kept in left:
                kept.is_settled = True
            self._waiting.clear()
            self._going, self._bytes = [], 0
            self._changed.notify_all()
            lost, self._lost = self._lost + _runs_in(left), 0
            error = self._error
        if lost:
            why = str(error) if error is not None else f"run store {str(self._path)!r} took too long"
            logger.warning("tracer-hooks lost %s that could not be stored: %s", _runs(lost), why)

    # --- the caller's side -----------------------------------------------------------------------------------------
    def _admit(self, kept: Kept) -> None:
        self._waiting.append(kept)
        self._bytes += kept.size
        while len(self._waiting) > 1 and (len(self._waiting) > _MOST_CALLS or self._bytes > _MOST_BYTES):
            oldest = self._waiting.popleft()
            self._bytes -= oldest.size
            self._lost += len(oldest.runs)
            oldest.is_settled = True

    def _await(self, kept: Kept) -> None:
        began = time.monotonic()
        with self._changed:
            while not kept.is_settled and not self.is_failing:
                now = time.monotonic()
                left = LONGEST_S - (now - began)
                if self._locking_since is not None:
                    left = min(left, LOCK_S - (now - self._locking_since))
                if left <= 0:
                    self._is_late = True
                    return
                self._changed.wait(left)

    def _may_wait(self) -> bool:
        # The garbage collector may end a stream, and so get here, in the midst of our own use of the file: the thread
        # would wait for itself, or for what another one holds while that waits for it.
        return threading.current_thread() is not self._thread and not no_fork.is_held_here

    def _has_thread(self) -> bool:
        with self._changed:
            if self._thread is None:
                try:
                    self._thread = start_daemon(self._run, "tracer-hooks-store")
                except RuntimeError:
                    return False
            return True

    # --- the thread's side -----------------------------------------------------------------------------------------
    def _run(self) -> None:
        while True:
            if not self._has_work(_REST_S):
                _open(self._path).rest()
            with self._changed:
                if not self._has_work(_IDLE_S):
                    self._thread = None  # the next run starts another one
                    return
                while not (self._is_last or self._pause.may_try):
                    self._changed.wait(self._pause.left_s)
            self._write_all()

    def _has_work(self, within_s: float) -> bool:
        with self._changed:
            return bool(self._changed.wait_for(lambda: self._waiting, within_s))

    def _write_all(self) -> None:
        while self._waiting and (self._is_last or self._pause.may_try):
            try:
                self._write_batch()
            except Exception as error:  # ours, if it is none of the store's: no caller is to wait for this thread then
                self._failed(error if isinstance(error, StoreError) else StoreError(f"{type(error).__name__}: {error}"))
                return

    def _write_batch(self) -> None:
        store = _open(self._path)
        follow: list[Callable[[], None]] = []
        self._note(locking=True)
        try:
            with store.writing("store the run") as writing:
                self._note(locking=False)
                with self._changed:
                    self._going = [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]
                for kept in self._going:
                    follow += self._write(kept, writing)
        except BaseException:
            self._take_back()
            raise
        finally:
            self._note(locking=False)
        self._follow(follow)
        self._committed()

    def _write(self, kept: Kept, writing: Writing) -> list[Callable[[], None]]:
        """Write what is kept of one call; gives what follows once it is committed."""
        kept.bug = None
        try:
            with writing.part():
                for run in kept.runs:
                    writing.save(run)
        except StoreError as error:
            kept.bug = error
            warn_once(f"odd run {self._path}", "tracer-hooks does not store a run: %s", error)
            return []
        follow = []
        for part in kept.parts:
            try:
                with writing.part():
                    is_new = part.write(writing)
            except StoreError as error:
                warn_once(f"{part.what} {self._path}", "tracer-hooks cannot %s: %s", part.what, error)
                continue
            if is_new and part.then is not None:
                follow.append(part.then)
        return follow

    def _follow(self, follow: list[Callable[[], None]]) -> None:
        for then in follow:
            try:
                then()
            except Exception as error:
                with suppress(Exception):  # in our own tests it is raised
                    report("do what follows from a run", error)
                for kept in self._going:
                    kept.bug = error

    def _note(self, *, locking: bool) -> None:
        with self._changed:
            self._locking_since = time.monotonic() if locking else None
            self._changed.notify_all()

    def _take_back(self) -> None:
        with self._changed:
            self._waiting.extendleft(reversed(self._going))
            self._going = []

    def _committed(self) -> None:
        with self._changed:
            for kept in self._going:
                kept.is_settled = True
                self._bytes -= kept.size
            self._late += _runs_in(self._going) if self._pause.is_on else 0
            self._going = []
            self._is_late = False
            is_over = self._pause.is_on and not self._waiting
            if is_over:
                self._pause.end()
                lost, late, self._lost, self._late, self._error = self._lost, self._late, 0, 0, None
            self._changed.notify_all()
        if is_over:
            said = (
                f"; {_runs(lost)} that had been too many to wait {'was' if lost == 1 else 'were'} lost" if lost else ""
            )
            logger.warning("tracer-hooks stores runs again in %s: %s had waited%s", self._path, _runs(late), said)

    def _failed(self, error: StoreError) -> None:
        warn_once(
            f"store {self._path}",
            "tracer-hooks does not store runs at present, it keeps them in memory and tries again: %s",
            error,
        )
        with self._changed:
            self._error = error
            self._pause.begin()
            self._is_last = False
            self._changed.notify_all()


@functools.cache
def keeper_of(path: Path) -> Keeper:
    """The one keeper of a file in this process."""
    return Keeper(path)


@functools.cache
def _open(path: Path) -> RunStore:
    """One open store a file and process: opening costs more than saving."""
    from tracer_hooks.store import RunStore

    return RunStore(path, busy_timeout_s=_LOCK_S, stays_open=True)


def _runs_in(kept: list[Kept]) -> int:
    return sum(len(one.runs) for one in kept)


def _runs(number: int) -> str:
    return "1 run" if number == 1 else f"{number} runs"


if hasattr(os, "register_at_fork"):  # what waits is written by the process that it waits in, and its thread is there
    os.register_at_fork(after_in_child=keeper_of.cache_clear)
