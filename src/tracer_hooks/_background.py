"""Work in the background: threads that nobody has to wait for, queues that the process's end drains, and forks.

Stands beside all layers, which import it; it imports nothing of theirs before it needs it.
"""

from __future__ import annotations

import atexit
import contextvars
import functools
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from _thread import RLock

T = TypeVar("T")
Item = TypeVar("Item")

_logger = logging.getLogger("tracer_hooks")

# --- forks while other threads are at work ---------------------------------------------------------------------------
_FORK_WAIT_S = 1.0
"""How long others wait for a fork, which takes milliseconds."""
_NO_FORK_WAIT_S = 5.0
"""How long a fork waits for code that it must not cut in two; then it goes on, and the child leaves that code alone."""

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def process_lock() -> RLock:
    """A reentrant lock for what exists once in a process; free again in a child that is forked while it is held.

    Reentrant, since the garbage collector may end a stream in the midst of what the lock is held for, and the end of a
    run takes such locks.
    """
    lock = threading.RLock()
    _locks.add(lock)
    return lock


class IdleCloseable(Protocol):
    """Something that holds between uses what no child may inherit."""

    def close_idle(self) -> None:
        """Let go of it; called while :data:`no_fork` is held."""


_idle_closeables: weakref.WeakSet[IdleCloseable] = weakref.WeakSet()


def close_before_fork(closeable: IdleCloseable) -> None:
    """Let ``closeable`` close what it holds before each fork."""
    _idle_closeables.add(closeable)


class _NoFork:
    """A lock for code that must not be forked; a fork that waits goes before everybody who comes after it.

    A plain lock would let it starve: threads that take it again and again, on a machine that is busy, leave it free for
    no longer than it takes to take it again.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._is_open = threading.Event()
        self._is_open.set()
        self._was_cut = False

    @property
    def was_cut(self) -> bool:
        """Tell whether this process was forked in the midst of such code: what it uses may be locked for good."""
        return self._was_cut

    @property
    def is_held_here(self) -> bool:
        """Tell whether the calling thread holds it: a finaliser may find that so, and must not wait for others then."""
        return bool(self._lock._is_owned())  # type: ignore[attr-defined]

    def __enter__(self) -> None:
        if not self._is_open.is_set() and not self.is_held_here:
            self._is_open.wait(_FORK_WAIT_S)
        self._lock.acquire()

    def __exit__(self, *exception: object) -> None:
        self._lock.release()

    def before_fork(self) -> None:
        self._is_open.clear()
        # Fork hooks of others run before this one and may have taken a lock that the holder of ours waits for.
        if self._lock.acquire(timeout=_NO_FORK_WAIT_S):
            for closeable in list(_idle_closeables):
                closeable.close_idle()

    def after_in_parent(self) -> None:
        if self.is_held_here:  # not where it took too long
            self._lock.release()
        self._is_open.set()

    def after_in_child(self) -> None:
        self._was_cut = self._was_cut or not self.is_held_here
        # What threading and logging do with theirs; there is no public way (CPython 3.9 on).
        self._lock._at_fork_reinit()  # type: ignore[attr-defined]
        self._is_open._at_fork_reinit()  # type: ignore[attr-defined]
        self._is_open.set()


no_fork = _NoFork()
"""Held while code runs that must not be forked: a fork waits for it. For C libraries with locks of their own, such as
SQLite's, which nobody can free in a child. Hold it for short work only, and never wait for another lock within."""


# --- threads and events ----------------------------------------------------------------------------------------------
def start_daemon(work: Callable[[], object], name: str) -> threading.Thread:
    """Start ``work`` in a thread that nobody has to wait for.

    Raises:
        RuntimeError: The interpreter is ending and starts no thread.
    """
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


async def in_daemon_thread(work: Callable[[], T], name: str) -> T:
    """Result of ``work``, made in a thread of its own with the caller's context.

    Unlike :func:`asyncio.to_thread`: the end of the event loop waits for every thread of its executor, so work that
    hangs would keep a process from ending after its caller was cancelled.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Any, error: BaseException | None) -> None:
        if answer.done():  # cancelled meanwhile
            return
        if error is None:
            answer.set_result(value)
        else:
            answer.set_exception(error)

    def run() -> None:
        value, error = None, None
        try:
            value = context.run(work)
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, value, error)

    start_daemon(run, name)
    return await answer


class DualEvent(threading.Event):
    """Like :class:`threading.Event`; in asynchronous code it is awaited without a thread that waits.

    A thread of the loop's executor that waits for ever keeps the loop, and with it the process, from ending.
    """

    def __init__(self) -> None:
        super().__init__()
        self._callbacks: list[Callable[[], None]] = []
        self._registering = threading.RLock()

    def set(self) -> None:
        """Wake all that wait."""
        with self._registering:
            super().set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    async def wait_async(self) -> None:
        """Wait, in an event loop."""
        import asyncio

        loop = asyncio.get_running_loop()
        woken = asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(woken.set)

        with self._registering:
            if self.is_set():
                return
            self._callbacks.append(wake)
        try:
            await woken.wait()
        finally:
            with self._registering:
                if wake in self._callbacks:
                    self._callbacks.remove(wake)


# --- what fails again and again ---------------------------------------------------------------------------------------
class Breaker:
    """A circuit breaker: for how long something that failed is left alone.

    The time doubles with every failure, up to a minute, and ends with the first success.
    """

    _FIRST_S = 5.0
    _LONGEST_S = 60.0

    def __init__(self) -> None:
        self._length_s = 0.0
        self._until = 0.0

    @property
    def is_open(self) -> bool:
        """Tell whether the last try failed."""
        return self._length_s > 0

    @property
    def left_s(self) -> float:
        """Seconds until the next try."""
        return max(self._until - time.monotonic(), 0.0)

    def fail(self) -> None:
        """Note a failure."""
        self._length_s = min(max(self._length_s * 2, self._FIRST_S), self._LONGEST_S)
        self._until = time.monotonic() + self._length_s

    def succeed(self) -> None:
        """Note a success."""
        self._length_s = self._until = 0.0


# --- queues ----------------------------------------------------------------------------------------------------------
_IDLE_S = 0.2
"""How long a queue is empty before it lets go of what costs more to open than an item does to handle."""
_THREAD_S = 10.0
"""How long the thread is kept after that."""

_queues: list[BackgroundQueue[Any]] = []


class BackgroundQueue(Generic[Item]):
    """Items that one daemon thread handles in order; the end of the process waits for them, and only so long.

    Derive from it and say in :meth:`_handle_some` how items are handled, by way of :meth:`_take` and :meth:`_finish`.
    In a forked child the queue is empty: what waited there is the business of the process that it waited in.

    Args:
        name: Of the thread.
        max_items: How many may wait; what is then done with one more is said in :meth:`_admit`.
        order: Whoever waits for all work waits for those with a lower number first, since their work leads to more of
            the others': -1 for runs that are taken up, 1 for what is written or told in the end, 2 for what depends
            on another machine, so that nothing is lost on this one for its sake.
    """

    def __init__(self, name: str, *, max_items: int = 1_000, order: int = 0) -> None:
        self.order = order
        self._name = name
        self._limit = max_items
        self._reset()
        with _exit_lock:
            _drain_at_exit()
            _queues.append(self)

    def _reset(self) -> None:
        """Be empty, without a thread: at first, and in a forked process, which has none of its parent's threads."""
        self._changed = threading.Condition()
        self._max_items = self._limit
        self._waiting: deque[Item] = deque()
        self._going: list[Item] = []
        self._thread: threading.Thread | None = None
        self._is_draining = False
        """Whether somebody waits for the end of it; set to False to tell them that what was tried failed."""
        self._lost = 0

    def put(self, item: Item) -> bool:
        """Take ``item``; says whether it was taken. What is not taken is dropped."""
        with self._changed:
            is_taken = self._admit(item)
            self._changed.notify_all()
        if not is_taken:
            self._drop([item])
        elif not self._has_thread():  # the interpreter is ending and starts no thread
            self._handle_waiting()
        return is_taken

    def drain(self, deadline: float) -> bool:
        """Wait until everything is handled, or :func:`time.monotonic` says ``deadline``; whether all of it is.

        What failed is tried once more at once. What is kept open while items follow each other is then closed.
        """
        if not self._wait_until_empty(deadline):
            return False
        self._close_idle()
        return self._lost == 0

    def give_up(self) -> None:
        """Drop what is left, and say so in one line: nobody waits for what goes on, and what waits is not begun."""
        with self._changed:
            left = [*self._going, *self._waiting]
            self._waiting.clear()
            self._going = []
            lost, self._lost = self._lost + self._weigh(left), 0
            self._leave(left)
            self._changed.notify_all()
        self._drop(left)
        if lost:
            self._say_lost(lost)

    # --- for classes that derive from it: how items are handled ----------------------------------------------------
    def _handle_some(self) -> bool:
        """Handle the first items; says whether to go on at once."""
        raise NotImplementedError

    def _say_lost(self, number: int) -> None:
        """Say in the log that so much was lost, as :meth:`_weigh` counts it."""
        raise NotImplementedError

    def _weigh(self, items: Iterable[Item]) -> int:
        """Count how much is lost with ``items``."""
        return sum(1 for _ in items)

    def _admit(self, item: Item) -> bool:
        """Let ``item`` wait, unless too much does; called while the queue is locked."""
        if len(self._waiting) >= self._max_items:
            self._lost += self._weigh([item])
            return False
        self._waiting.append(item)
        return True

    def _leave(self, items: Iterable[Item]) -> None:
        """Note that ``items`` are handled or dropped; called while the queue is locked."""

    def _drop(self, items: Iterable[Item]) -> None:
        """Do what is done in the place of handling ``items``, quickly."""

    def _close_idle(self) -> None:
        """Let go of what is open while the queue is empty."""

    @property
    def _delay_s(self) -> float:
        """Seconds until it is time to go on; 0 for now. A drain does not wait for it."""
        return 0.0

    def _take(self, most: int) -> list[Item]:
        """Take the first ``most`` items to handle them."""
        with self._changed:
            self._going = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
            return self._going

    def _put_back(self) -> None:
        """Let what was taken wait again, before all else."""
        with self._changed:
            self._waiting.extendleft(reversed(self._going))
            self._going = []

    def _finish(self) -> None:
        """Note that what was taken is handled."""
        with self._changed:
            self._leave(self._going)
            self._going = []
            self._changed.notify_all()

    @property
    def _is_held_here(self) -> bool:
        """Tell whether the calling thread is in the midst of using the queue; a finaliser may find that so."""
        return bool(self._changed._is_owned())  # type: ignore[attr-defined]

    # --- for this class alone --------------------------------------------------------------------------------------
    def _wait_until_empty(self, deadline: float) -> bool:
        with self._changed:
            self._is_draining = True
            self._changed.notify_all()
            while self._waiting or self._going:
                left = deadline - time.monotonic()
                if left <= 0 or not self._is_draining:
                    self._is_draining = False
                    return False
                self._changed.wait(left)
            self._is_draining = False
            return True

    def _has_thread(self) -> bool:
        with self._changed:
            if self._thread is None:
                try:
                    self._thread = start_daemon(self._run, self._name)
                except RuntimeError:
                    return False
            return True

    def _run(self) -> None:
        while True:
            if not self._has_work(_IDLE_S):
                self._close_idle()
            with self._changed:
                if not self._has_work(_THREAD_S):
                    self._thread = None  # the next item starts another one
                    return
                while not self._is_draining and (delay_s := self._delay_s) > 0:
                    self._changed.wait(delay_s)
            self._handle_waiting()

    def _has_work(self, within_s: float) -> bool:
        with self._changed:
            return bool(self._changed.wait_for(lambda: self._waiting, within_s))

    def _handle_waiting(self) -> None:
        while self._waiting and (self._is_draining or self._delay_s <= 0) and self._handle_some():
            pass


_Task = tuple[Callable[[], object], Callable[[], object] | None]
"""What to do, and what is done where that is dropped."""


class TaskQueue(BackgroundQueue[_Task]):
    """A queue of calls.

    Args:
        name: Of the thread.
        lost: Says, given a number, what is dropped: completes "tracer-hooks did not wait ... for".
        max_items: How many may wait; beyond that, new ones are not taken.
        order: As for :class:`BackgroundQueue`.
    """

    def __init__(self, name: str, lost: Callable[[int], str], *, max_items: int = 1_000, order: int = 0) -> None:
        self._lost_in_words = lost
        super().__init__(name, max_items=max_items, order=order)

    def submit(self, work: Callable[[], object], instead: Callable[[], object] | None = None) -> bool:
        """Take ``work``; says whether it was taken.

        Args:
            work: What to do.
            instead: What is done, quickly, where the work is dropped: too much waits, or the process ends.
        """
        return self.put((work, instead))

    def give_up(self) -> None:
        """Drop what is left; nothing new is taken then, since the thread may hang."""
        with self._changed:
            if self._going or self._waiting:
                self._max_items = 0
        super().give_up()

    def _handle_some(self) -> bool:
        for work, _ in self._take(1):
            _call(work)
        self._finish()
        return True

    def _drop(self, items: Iterable[_Task]) -> None:
        for _, instead in items:
            _call(instead)

    def _say_lost(self, number: int) -> None:
        _logger.warning("tracer-hooks did not wait any longer for %s", self._lost_in_words(number))


def _call(work: Callable[[], object] | None) -> None:
    try:
        if work is not None:
            work()
    except BaseException as error:  # of the user's own part, perhaps; a SystemExit must not end the thread either
        _logger.warning("work in the background raised %s: %s", type(error).__name__, error, exc_info=error)


# --- the end of the process: one deadline for all that is still to be done -------------------------------------------
_LAST_SHARE = 0.25
"""The part of the time that is left to the last queues, so that what the first gave up can still be stored."""

_exit_lock = process_lock()
_exit_calls: list[Callable[[], object]] = []


def before_exit(call: Callable[[], object]) -> None:
    """Call ``call`` at the end of the process, before anything is waited for; it may leave work in the background."""
    with _exit_lock:
        _drain_at_exit()
        _exit_calls.append(call)


def wait_for_all(seconds: float) -> bool:
    """Wait so long at most until all work in the background is done; whether it is. Nothing is given up."""
    deadline = time.monotonic() + seconds
    return all([queue.drain(deadline) for queue in _in_order()])


def _in_order() -> Iterator[BackgroundQueue[Any]]:
    """Each queue once, those whose work leads to others' first; that may make queues, which then come as well."""
    seen: list[BackgroundQueue[Any]] = []
    while left := [queue for queue in _queues if queue not in seen]:
        seen.append(min(left, key=lambda queue: queue.order))
        yield seen[-1]


def wait_at_exit() -> None:
    """Wait until all is done or the time is over; then everything that is left is given up."""
    from tracer_hooks.config import exit_seconds

    for call in _exit_calls:
        call()
    seconds = exit_seconds()
    began = time.monotonic()
    for queue in _in_order():
        share = 1.0 if queue.order > 0 else 1 - _LAST_SHARE
        try:
            is_done = queue.drain(began + seconds * share)
        except KeyboardInterrupt:  # whoever presses Ctrl-C at the end wants the end
            is_done, seconds = False, 0.0
        if not is_done:
            queue.give_up()


@functools.cache
def _drain_at_exit() -> None:
    # Twice. `threading` calls those of its own before it waits for other threads, before the executors of the process
    # are shut down, and in the children of `multiprocessing`, where `atexit` calls nobody; there is no public way to
    # be among them (CPython 3.9 on). Threads of the user's may go on after that and leave more work.
    register = getattr(threading, "_register_atexit", None)
    if register is not None:
        with suppress(RuntimeError):  # the process is ending already
            register(wait_at_exit)
    atexit.register(wait_at_exit)


def _after_in_child() -> None:
    for lock in _locks:
        lock._at_fork_reinit()
    no_fork.after_in_child()
    for queue in _queues:
        queue._reset()


if hasattr(os, "register_at_fork"):
    # Those who register last are called first: a fork that had logging's lock already would wait for a thread that
    # holds ours and logs something. So logging is imported above, before this.
    os.register_at_fork(
        before=no_fork.before_fork, after_in_parent=no_fork.after_in_parent, after_in_child=_after_in_child
    )
