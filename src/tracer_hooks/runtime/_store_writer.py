"""Writing what is kept of calls into a store, in a thread of its own, without keeping a caller waiting for long.

A call hands over what is kept of it and waits for the commit. Where another process does not let go of the file, it
waits for :data:`LOCK_S` and goes on, and no other call waits until something is written; the thread tries for longer,
and writes all that has gathered meanwhile in one transaction. A file that fails is left alone for a while; what waits
in memory meanwhile is bounded, and what is lost is counted.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tracer_hooks._background import BackgroundQueue, Breaker, no_fork
from tracer_hooks._guard import logger, report, warn_once
from tracer_hooks._text import counted
from tracer_hooks.config import StorePlace
from tracer_hooks.errors import StoreError

if TYPE_CHECKING:
    from tracer_hooks.store import PackedRun, RunStore, Writing

PATIENCE_S = 0.025
"""How long a call waits to read."""
SERVER_PATIENCE_S = 0.1
"""The same for what a server says; what comes later is used by later calls."""
LOCK_S = 0.5
"""How long a call waits for the lock to write: others that store their runs hold it for milliseconds, and what a call
that returned has left is to be stored. Only the first call waits where nobody lets go of it."""
LONGEST_S = 2.0
"""How long a call waits at all, for a slow disk perhaps, before it is thought of as one that fails."""
SERVER_S = 0.4
"""The same for a server, of which cannot be told what it is busy with."""
_LOCK_S = 5.0
"""How long the thread tries to get the lock before the file counts as one that fails."""
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
class PendingCall:
    """Runs and parts that are to be kept of one call."""

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


class StoreWriter(BackgroundQueue[PendingCall]):
    """Writes what is left of calls into one store.

    After :meth:`drain` a file is closed, and all that was written is in it: it may be copied or moved.
    """

    def __init__(self, place: StorePlace) -> None:
        self._place = place
        self._longest_s = LONGEST_S if isinstance(place, Path) else SERVER_S
        self._opened: RunStore | None = None
        super().__init__("tracer-hooks-store", max_items=_MOST_CALLS, order=1)

    @property
    def is_failing(self) -> bool:
        """Tell whether callers should leave the file alone: it was late or failed, and has taken nothing since."""
        return self._is_late or self._breaker.is_open

    def store(self, call: PendingCall) -> None:
        """Hand over what is left of a call; returns once it is committed, or when waiting any longer is too much."""
        self._store.load()  # here: the import of a library is no delay that a store is to blame for
        self.put(call)
        if self._may_wait():
            self._await(call)
        if call.bug is not None:
            report("store the run", call.bug)

    # --- the caller's side -----------------------------------------------------------------------------------------
    def _reset(self) -> None:
        super()._reset()
        self._bytes = 0
        self._breaker = Breaker()
        self._locking_since: float | None = None
        self._is_late = False
        self._late = 0
        self._error: StoreError | None = None

    def _admit(self, call: PendingCall) -> bool:
        self._waiting.append(call)
        self._bytes += call.size
        while len(self._waiting) > 1 and (len(self._waiting) > self._max_items or self._bytes > _MOST_BYTES):
            oldest = self._waiting.popleft()
            self._lost += self._weigh([oldest])
            self._leave([oldest])
        return True

    def _leave(self, calls: Iterable[PendingCall]) -> None:
        for call in calls:
            self._bytes -= call.size
            call.is_settled = True

    def _weigh(self, calls: Iterable[PendingCall]) -> int:
        return sum(len(call.runs) for call in calls)

    def _say_lost(self, number: int) -> None:
        why = str(self._error) if self._error is not None else f"run store {str(self._place)!r} took too long"
        logger.warning("tracer-hooks lost %s that could not be stored: %s", counted(number, "run"), why)

    def _await(self, call: PendingCall) -> None:
        began = time.monotonic()
        with self._changed:
            while not call.is_settled and not self.is_failing:
                now = time.monotonic()
                left = self._longest_s - (now - began)
                if self._locking_since is not None:
                    left = min(left, LOCK_S - (now - self._locking_since))
                if left <= 0:
                    self._is_late = True
                    return
                self._changed.wait(left)

    def _may_wait(self) -> bool:
        # The garbage collector may end a stream, and so get here, in the midst of our own use of the file: the thread
        # would wait for itself, or for what another one holds while that waits for it. Waiting in the midst of our use
        # of the queue would let go of it: who has just looked whether to wait would miss what is told meanwhile.
        return threading.current_thread() is not self._thread and not no_fork.is_held_here and not self._is_held_here

    # --- the thread's side -----------------------------------------------------------------------------------------
    @property
    def _store(self) -> RunStore:
        """The open store: opening costs more than saving."""
        from tracer_hooks.store import RunStore

        if self._opened is None:
            self._opened = RunStore(self._place, busy_timeout_s=_LOCK_S, stays_open=True)
        return self._opened

    def _close_idle(self) -> None:
        # Who copies the file misses what is still in the write-ahead log.
        if self._opened is not None:
            self._opened.close_idle()

    @property
    def _delay_s(self) -> float:
        return self._breaker.left_s

    def _handle_some(self) -> bool:
        try:
            self._write_batch()
        except Exception as error:  # ours, if it is none of the store's: no caller is to wait for this thread then
            self._failed(error if isinstance(error, StoreError) else StoreError(f"{type(error).__name__}: {error}"))
            return False
        return True

    def _write_batch(self) -> None:
        follow: list[Callable[[], None]] = []
        self._note(locking=True)
        try:
            with self._store.writing("store the run") as writing:
                self._note(locking=False)
                calls = self._take(_BATCH)
                for call in calls:
                    follow += self._write(call, writing)
        except BaseException:
            self._put_back()
            raise
        finally:
            self._note(locking=False)
        self._follow(follow, calls)
        self._committed()

    def _write(self, call: PendingCall, writing: Writing) -> list[Callable[[], None]]:
        """Write what is kept of one call; gives what follows once it is committed."""
        call.bug = None
        try:
            with writing.part(unread=True):
                for run in call.runs:
                    writing.save(run)
        except StoreError as error:
            call.bug = error
            warn_once(f"odd run {self._place}", "tracer-hooks does not store a run: %s", error)
            return []
        follow = []
        for part in call.parts:
            try:
                with writing.part():
                    is_new = part.write(writing)
            except StoreError as error:
                warn_once(f"{part.what} {self._place}", "tracer-hooks cannot %s: %s", part.what, error)
                continue
            if is_new and part.then is not None:
                follow.append(part.then)
        return follow

    @staticmethod
    def _follow(follow: list[Callable[[], None]], calls: list[PendingCall]) -> None:
        for then in follow:
            try:
                then()
            except Exception as error:
                with suppress(Exception):  # in our own tests it is raised
                    report("do what follows from a run", error)
                for call in calls:
                    call.bug = error

    def _note(self, *, locking: bool) -> None:
        with self._changed:
            self._locking_since = time.monotonic() if locking else None
            self._changed.notify_all()

    def _committed(self) -> None:
        with self._changed:
            self._late += self._weigh(self._going) if self._breaker.is_open else 0
            self._is_late = False
            is_over = self._breaker.is_open and not self._waiting
            if is_over:
                self._breaker.succeed()
                lost, late, self._lost, self._late, self._error = self._lost, self._late, 0, 0, None
        try:
            if is_over:  # said before anybody who waits goes on: whoever flushes may read the log next
                gone = f"; {counted(lost, 'run')} that had been too many to wait {'was' if lost == 1 else 'were'} lost"
                logger.warning(
                    "tracer-hooks stores runs again in %s: %s had waited%s",
                    self._place,
                    counted(late, "run"),
                    gone if lost else "",
                )
        finally:
            with self._changed:
                self._finish()

    def _failed(self, error: StoreError) -> None:
        warn_of_store(self._place, error, "does not store runs at present, it keeps them in memory and tries again")
        with self._changed:
            self._error = error
            self._breaker.fail()
            self._is_draining = False
            self._changed.notify_all()


def warn_of_store(place: StorePlace, error: StoreError | OSError, what: str) -> None:
    """Say once that a store fails, whoever meets that first, and what follows for all; of another fault, ``what``."""
    if isinstance(error, StoreError) and error.is_of_place:
        warn_once(
            f"store {place}",
            "tracer-hooks does not use the run store at present: it keeps runs in memory and tries again, and reads no "
            "prompts or attributors from it: %s",
            error,
        )
    else:
        warn_once(f"{what} {place}", f"tracer-hooks {what}: %s", error)


@functools.cache
def writer_for(place: StorePlace) -> StoreWriter:
    """The one writer of a store in this process."""
    return StoreWriter(place)
