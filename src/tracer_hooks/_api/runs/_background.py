"""Diagnosis beside the user's asynchronous code."""

from __future__ import annotations

import atexit
import contextvars
import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tracer_hooks._api.judging import loop_is_running


def submit(work: Callable[[], None]) -> None:
    """Do ``work`` in a background thread; the process waits for it before it exits."""
    context = contextvars.copy_context()
    try:
        _executor().submit(context.run, work)
    except RuntimeError:  # the interpreter is shutting down and takes no more work
        work()


def off_the_loop(work: Callable[[], None]) -> None:
    """Do ``work``, which may wait for a file: in the background where an event loop is running, else at once."""
    if loop_is_running():
        submit(work)
    else:
        work()


@functools.cache
def _executor() -> ThreadPoolExecutor:
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tracer-hooks-diagnose")
    atexit.register(executor.shutdown)
    return executor


if hasattr(os, "register_at_fork"):  # a child process does not inherit the thread, and would wait for it for ever
    os.register_at_fork(after_in_child=_executor.cache_clear)
