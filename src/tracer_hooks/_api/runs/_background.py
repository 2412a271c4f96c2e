"""What is done beside the user's code: diagnoses, and saving runs of asynchronous code.

In two threads, so that a diagnosis that hangs keeps nobody's run from being stored.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable

from tracer_hooks._waiting import Lane, wait_for_all


def diagnose_later(work: Callable[[], None], instead: Callable[[], None]) -> None:
    """Do ``work``, which may take minutes or hang, in the background; the end of the process waits, within limits.

    Args:
        work: What to do.
        instead: What is done where nobody waits for it any longer; quickly.
    """
    _diagnoses().put(functools.partial(contextvars.copy_context().run, work), instead)


def save_later(work: Callable[[], None], instead: Callable[[], None]) -> None:
    """The same for ``work`` that may wait for a file, but not for long."""
    _savings().put(functools.partial(contextvars.copy_context().run, work), instead)


def flush(timeout: float = 30.0) -> bool:
    """Wait until every diagnosis in the background is made, and every run that has ended is stored.

    Nothing is dropped: what is not done goes on in the background. Stores are closed, so that their files can be copied
    or moved; the next run opens them again.

    Args:
        timeout: Seconds to wait at most.

    Returns:
        Whether all of it is done. False where the time was not enough, or runs were lost; a log line says why.
    """
    return wait_for_all(timeout)


@functools.cache
def _diagnoses() -> Lane:
    return Lane("tracer-hooks-diagnose", lambda number: _few(number, "diagnosis", "diagnoses"))


@functools.cache
def _savings() -> Lane:
    return Lane("tracer-hooks-save", lambda number: _few(number, "run that was to be stored", "runs to be stored"))


def _few(number: int, one: str, many: str) -> str:
    said = f"{number} {one if number == 1 else many} in the background"
    return f"{said}; TRACER_HOOKS_EXIT_SECONDS says how long the end of the process waits"
