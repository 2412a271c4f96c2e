"""Diagnosis beside the user's asynchronous code."""

from __future__ import annotations

import atexit
import contextvars
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


def submit(work: Callable[[], None]) -> None:
    """Do ``work`` in a background thread; the process waits for it before it exits."""
    context = contextvars.copy_context()
    _executor().submit(context.run, work)


@functools.cache
def _executor() -> ThreadPoolExecutor:
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tracer-hooks-diagnose")
    atexit.register(executor.shutdown)
    return executor
