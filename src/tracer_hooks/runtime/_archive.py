"""Keeping runs in the run store, and what is done beside the user's code: saving, diagnosing, deleting old runs.

A store that fails costs one warning and nothing else.
"""

from __future__ import annotations

import contextvars
import functools
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tracer_hooks._background import TaskQueue, process_lock, start_daemon, wait_for_all
from tracer_hooks._guard import guard
from tracer_hooks._text import counted
from tracer_hooks.config import Retention, StorePlace
from tracer_hooks.errors import ReplayError
from tracer_hooks.runtime._store_writer import Part, PendingCall, writer_for
from tracer_hooks.runtime._team_run import Attempt, TeamRun, kept_repair

if TYPE_CHECKING:
    from tracer_hooks.store import StoredRun

_RETAIN_EVERY_S = 3600.0
_DELETED_AT_A_TIME = 50
"""Runs of one transaction: another process that wants to save waits for no more."""
_DELETE_PAUSE_S = 0.05


class Archive:
    """Keeps calls in the run store."""

    def __init__(self, place: StorePlace | None, retention: Retention | None = None) -> None:
        self._place = place.absolute() if place is not None else None
        self._retention = retention

    def save(self, run: TeamRun, parts: Iterable[Part] = ()) -> None:
        """Save every attempt of ``run``, and ``parts``, in one transaction; see :class:`StoreWriter` for the waits."""
        if self._place is None or not run.attempts:
            return
        with guard("store the run"):
            from tracer_hooks.store import PackedRun

            runs = [PackedRun.of(_stored(run, attempt)) for attempt in run.attempts]
            writer = writer_for(self._place)
            writer.store(PendingCall(runs, list(parts)))
            run.store = self._place
            if not writer.is_failing:
                retain(self._place, self._retention)


def _stored(run: TeamRun, attempt: Attempt) -> StoredRun:
    from tracer_hooks.schema import RunKind
    from tracer_hooks.store import StoredRun

    repair = kept_repair(run) if attempt is run.last else None
    return StoredRun.of(
        attempt.trajectory,
        team=run.team,
        task=run.gate.text(run.task),
        session_id=run.session_id,
        attempt=attempt.number,
        kind=RunKind.LIVE if attempt.number == 1 else RunKind.RETRY,
        attribution=attempt.attribution,
        repair=repair.model_dump(mode="json") if repair is not None else None,
        tape=_tape(attempt),
        prompts=attempt.prompts,
        tags={key: run.gate.name(value) for key, value in run.tags.items()},
        source=run.code.source(attempt.trajectory),
    )


def _tape(attempt: Attempt) -> dict[str, Any] | None:
    """The tape as plain data; a run that was recorded without content has none, and is stored all the same."""
    with guard("make the tape"):
        try:
            return attempt.tape.model_dump(mode="json", exclude_defaults=True)
        except ReplayError:
            return None
    return None


# --- old runs leave the store by themselves, in a thread of their own, so that no run waits for it --------------------
_retention_lock = process_lock()
_next_retention: dict[StorePlace, float] = {}


def retain(place: StorePlace, which: Retention | None) -> threading.Thread | None:
    """Begin to delete what ``which`` does not keep, unless that was done within the last hour in this process.

    Returns:
        The thread that does it; it ends with the process, and the next process goes on.
    """
    if which is None:
        return None
    with _retention_lock:
        if time.monotonic() < _next_retention.get(place, 0.0):
            return None
        _next_retention[place] = time.monotonic() + _RETAIN_EVERY_S
    return start_daemon(functools.partial(_delete_old, place, which), "tracer-hooks-retention")


def _delete_old(place: StorePlace, which: Retention) -> None:
    from tracer_hooks.store import RunStore

    with guard("delete old runs"), RunStore(place) as store:
        is_any = False
        while store.prune(which, limit=_DELETED_AT_A_TIME):
            is_any = True
            time.sleep(_DELETE_PAUSE_S)
        if is_any:
            store.wipe(compact=False)  # writing the whole file anew would hold up those who save


# --- queues of their own, so that a diagnosis or a callback that hangs keeps nobody's run from being stored -----------
def diagnose_later(work: Callable[[], None], instead: Callable[[], None]) -> None:
    """Do ``work``, which may take minutes or hang, in the background; the end of the process waits, within limits.

    Args:
        work: What to do.
        instead: What is done where nobody waits for it any longer; quickly.
    """
    _queue(*_DIAGNOSES).submit(functools.partial(contextvars.copy_context().run, work), instead)


def save_later(work: Callable[[], None], instead: Callable[[], None]) -> None:
    """The same for ``work`` that may wait for a file, but not for long."""
    _queue(*_RUNS_TO_STORE).submit(functools.partial(contextvars.copy_context().run, work), instead)


def look_later(work: Callable[[], None]) -> None:
    """The same for ``work`` that looks at a run which is diagnosed and stored; nothing takes its place."""
    _queue(*_RUNS_TO_LOOK_AT).submit(functools.partial(contextvars.copy_context().run, work))


def flush(timeout: float = 30.0) -> bool:
    """Wait until every diagnosis in the background is made and published, every run stored, and callbacks are told.

    Nothing is dropped: what is not done goes on in the background. Stores are closed, so that their files can be copied
    or moved; the next run opens them again.

    Args:
        timeout: Seconds to wait at most.

    Returns:
        Whether all of it is done. False where the time was not enough, or runs were lost; a log line says why.
    """
    return wait_for_all(timeout)


@functools.cache
def _queue(name: str, singular: str, plural: str, order: int) -> TaskQueue:
    def lost(number: int) -> str:
        words = counted(number, singular, plural)
        return f"{words} in the background; TRACER_HOOKS_EXIT_SECONDS says how long the end of the process waits"

    return TaskQueue(name, lost, order=order)


_DIAGNOSES = ("tracer-hooks-diagnose", "diagnosis", "diagnoses", 0)
_RUNS_TO_STORE = ("tracer-hooks-save", "run that was to be stored", "runs to be stored", 0)
# The other queues lead to more of its work.
_RUNS_TO_LOOK_AT = ("tracer-hooks-findings", "run to look at", "runs to look at", 1)
