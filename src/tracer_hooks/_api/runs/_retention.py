"""Old runs leave the store by themselves, in a thread of their own, so that no run waits for it."""

from __future__ import annotations

import functools
import threading
import time
from pathlib import Path

from tracer_hooks._forking import process_lock
from tracer_hooks._guard import guard
from tracer_hooks._waiting import start_daemon
from tracer_hooks.config import Retention

_EVERY_S = 3600.0
_AT_A_TIME = 50
"""Runs of one transaction: another process that wants to save waits for no more."""
_PAUSE_S = 0.05

_lock = process_lock()
_next: dict[Path, float] = {}


def retain(path: Path, which: Retention | None) -> threading.Thread | None:
    """Begin to delete what ``which`` does not keep, unless that was done within the last hour in this process.

    Returns:
        The thread that does it; it ends with the process, and the next process goes on.
    """
    if which is None:
        return None
    with _lock:
        if time.monotonic() < _next.get(path, 0.0):
            return None
        _next[path] = time.monotonic() + _EVERY_S
    return start_daemon(functools.partial(_delete, path, which), "tracer-hooks-retention")


def _delete(path: Path, which: Retention) -> None:
    from tracer_hooks.store import RunStore

    with guard("delete old runs"), RunStore(path) as store:
        is_any = False
        while store.prune(which, limit=_AT_A_TIME):
            is_any = True
            time.sleep(_PAUSE_S)
        if is_any:
            store.wipe(compact=False)  # writing the whole file anew would hold up those who save
