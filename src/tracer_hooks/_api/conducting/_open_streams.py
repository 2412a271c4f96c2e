"""Streams of the main thread that nobody has ended when the process does: their runs end there, and are stored."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from typing import TYPE_CHECKING

from tracer_hooks._background import before_exit
from tracer_hooks._guard import guard

if TYPE_CHECKING:
    from tracer_hooks._api.conducting._course import Course

_open: weakref.WeakSet[Course] = weakref.WeakSet()


def end_at_exit(course: Course) -> None:
    """Let the end of the process break off ``course``, if it goes on until then.

    The interpreter lets go of a generator when nothing can be imported or stored any more. Streams of other threads are
    left to these: they may go on when the main thread has ended.
    """
    if threading.current_thread() is threading.main_thread():
        _watch()
        _open.add(course)


@functools.cache
def _watch() -> None:
    before_exit(_end_all)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_open.clear)  # what goes on in the parent ends there


def _end_all() -> None:
    for course in list(_open):
        with guard("end a stream with the process"):
            course.break_off(GeneratorExit())
