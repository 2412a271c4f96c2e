"""One deadline for all that is still to be done when the process ends."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from tracer_hooks._forking import process_lock
from tracer_hooks.config import exit_seconds

_STORE_SHARE = 0.25
"""The part of the time that is left to those who come last, so that what the first gave up can still be stored."""


class Pending(Protocol):
    """Somebody with work in the background."""

    def drain(self, deadline: float) -> bool:
        """Wait until all of it is done, or :func:`time.monotonic` says ``deadline``; whether it is done."""

    def give_up(self) -> None:
        """Drop what is left, and say so in one line."""


_lock = process_lock()
_firsts: list[Pending] = []
_lasts: list[Pending] = []
_calls: list[Callable[[], object]] = []


def waits_at_exit(pending: Pending, *, last: bool = False) -> None:
    """Let the end of the process wait for ``pending``.

    Args:
        pending: Whom to wait for.
        last: After the others, since their work leads to more of its.
    """
    with _lock:
        _register()
        (_lasts if last else _firsts).append(pending)


def before_exit(call: Callable[[], object]) -> None:
    """Call ``call`` at the end of the process, before anything is waited for; it may leave work in the background."""
    with _lock:
        _register()
        _calls.append(call)


def wait_for_all(seconds: float) -> bool:
    """Wait so long at most until all work in the background is done; whether it is. Nothing is given up."""
    deadline = time.monotonic() + seconds
    return all([each.drain(deadline) for each in (*_firsts, *_lasts)])


def wait_at_exit() -> None:
    """Wait until all is done or the time is over; then everything that is left is given up."""
    for call in _calls:
        call()
    seconds = exit_seconds()
    for group, share in ((_firsts, 1 - _STORE_SHARE), (_lasts, _STORE_SHARE)):
        deadline = time.monotonic() + seconds * share
        for each in list(group):
            try:
                done = each.drain(deadline)
            except KeyboardInterrupt:  # whoever presses Ctrl-C at the end wants the end
                done, deadline = False, 0.0
            if not done:
                each.give_up()


_registered = False


def _register() -> None:
    global _registered
    if _registered:
        return
    _registered = True
    # Twice. `threading` calls those of its own before it waits for other threads, before the executors of the process
    # are shut down, and in the children of `multiprocessing`, where `atexit` calls nobody; there is no public way to
    # be among them (CPython 3.9 on). Threads of the user's may go on after that and leave more work.
    register = getattr(threading, "_register_atexit", None)
    if register is not None:
        with suppress(RuntimeError):  # the process is ending already
            register(wait_at_exit)
    atexit.register(wait_at_exit)


def _in_child() -> None:
    """A forked process has none of the threads; what they were to do is their own process's business."""
    _firsts.clear()
    _lasts.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
