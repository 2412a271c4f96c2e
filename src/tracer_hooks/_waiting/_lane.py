"""A thread that does one piece of work after the other."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from tracer_hooks._guard import logger
from tracer_hooks._waiting._at_exit import waits_at_exit
from tracer_hooks._waiting._daemon import start_daemon

_lanes: weakref.WeakSet[Lane] = weakref.WeakSet()


@dataclass(eq=False)
class _Job:
    work: Callable[[], object]
    instead: Callable[[], object] | None


class Lane:
    """Does work in order, in one daemon thread; the end of the process waits for it, and only so long.

    Args:
        name: Of the thread.
        lost: Says, given a number, what is dropped: completes "tracer-hooks did not wait ... for".
        most: How much work may wait; beyond that, new work is not taken.
    """

    def __init__(self, name: str, lost: Callable[[int], str], *, most: int = 1_000) -> None:
        self._name = name
        self._lost = lost
        self._most = most
        self._begin()
        _lanes.add(self)

    def _begin(self) -> None:
        """Empty, with no thread yet: at first, and in a forked process, which has none of its parent's threads."""
        self._changed = threading.Condition()
        self._waiting: deque[_Job] = deque()
        self._going: _Job | None = None
        self._thread: threading.Thread | None = None
        self._too_many = 0
        self._given_up = False
        waits_at_exit(self)

    def put(self, work: Callable[[], object], instead: Callable[[], object] | None = None) -> bool:
        """Take ``work``; whether it is taken.

        Args:
            work: What to do.
            instead: What is done, quickly, where the work is dropped: too much waits, or the process ends.
        """
        job = _Job(work, instead)
        with self._changed:
            is_taken = len(self._waiting) < self._most and not self._given_up
            if is_taken:
                self._waiting.append(job)
                self._changed.notify_all()
            else:
                self._too_many += 1
        if not is_taken:
            _do(instead)
        elif not self._is_running():  # the interpreter is ending and starts no thread
            self._empty()
        return is_taken

    def drain(self, deadline: float) -> bool:
        """Wait until all work is done, or the time has come; whether it is done."""
        with self._changed:
            while self._waiting or self._going is not None:
                left = deadline - time.monotonic()
                if left <= 0 or self._given_up:
                    return False
                self._changed.wait(left)
            return self._too_many == 0

    def give_up(self) -> None:
        """Drop what is left: nobody waits for what goes on, and what waits is not begun."""
        with self._changed:
            left = [*([self._going] if self._going is not None else []), *self._waiting]
            count, self._too_many = len(left) + self._too_many, 0
            self._waiting.clear()
            self._going = None
            self._given_up = self._given_up or bool(left)
        for job in left:
            _do(job.instead)
        if count:
            logger.warning("tracer-hooks did not wait any longer for %s", self._lost(count))

    # --- details ---------------------------------------------------------------------------------------------------
    def _is_running(self) -> bool:
        with self._changed:
            if self._thread is None:
                try:
                    self._thread = start_daemon(self._run, self._name)
                except RuntimeError:
                    return False
            return True

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
            self._empty()

    def _empty(self) -> None:
        while True:
            with self._changed:
                self._going = self._waiting.popleft() if self._waiting else None
                self._changed.notify_all()
                if self._going is None:
                    return
                work = self._going.work
            _do(work)
            del work  # it holds what a run left behind, and the next may come in hours


def _do(work: Callable[[], object] | None) -> None:
    if work is None:
        return
    try:
        work()
    except BaseException as error:  # of the user's own part, perhaps; a SystemExit must not end the thread either
        logger.warning("work in the background raised %s: %s", type(error).__name__, error, exc_info=error)


def _in_child() -> None:
    for lane in list(_lanes):
        lane._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
