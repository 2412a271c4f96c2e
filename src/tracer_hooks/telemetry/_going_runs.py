"""The runs that go on in this process, to notice agents that act where none of them can see it."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from opentelemetry import context as otel_context

from tracer_hooks._background import process_lock
from tracer_hooks._guard import warn_once

if TYPE_CHECKING:
    from tracer_hooks.telemetry._run import RunInvocation

_lock = process_lock()
_threads: weakref.WeakKeyDictionary[RunInvocation, tuple[int, str]] = weakref.WeakKeyDictionary()
"""By run: the thread that it began in, and its team. A run that nobody ended goes with the last that knew of it."""


def begins(run: RunInvocation) -> None:
    """Note a run that goes on."""
    with _lock:
        _threads[run] = threading.get_ident(), run.start.team


def ends(run: RunInvocation) -> None:
    """Note that it has ended."""
    with _lock:
        _threads.pop(run, None)


def warn_of_lost_step(agent: str) -> None:
    """Say once that an agent acts in a thread without any context while a run goes on in another one.

    A new thread begins with an empty context, so what is done in it belongs to no run. It may be that nobody meant it
    to; so it is said only where both are true, and never where recording was switched off on purpose.

    Args:
        agent: Its name.
    """
    if not _threads or otel_context.get_current():
        return
    here = threading.get_ident()
    with _lock:
        going = list(_threads.values())
    teams = [team for thread, team in going if thread != here]
    if teams and len(teams) == len(going):
        warn_once(
            f"lost step of {agent}",
            "tracer-hooks does not record agent %r in thread %r: the thread knows of no run, while team %r runs in "
            "another one. If the agent belongs to that run, start its work with contextvars.copy_context().run, one "
            "copy for each thread",
            agent,
            threading.current_thread().name,
            teams[-1],
        )
