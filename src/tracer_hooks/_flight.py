"""Calls under way: how many one endpoint gets, when they wait for it, and how they are given up together."""

from __future__ import annotations

import contextvars
import heapq
import itertools
import math
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")


REQUESTS: contextvars.ContextVar[int | None] = contextvars.ContextVar("REQUESTS", default=None)
"""How many requests the user wants under way at one endpoint; None leaves it to whoever asks."""


class EndpointGate:
    """Lets requests through to one endpoint, the longest-waiting call first. Shared by all clients of that endpoint.

    When the endpoint refuses a request for its rate, the number that may be under way halves, once for all requests
    that were sent before, and each answer lets it grow a little: by one for as many answers as are under way.

    Attributes:
        answers: Requests that were answered.
    """

    def __init__(self) -> None:
        self.answers = 0
        self._lock = threading.RLock()
        self._waiting: list[tuple[int, threading.Condition]] = []
        self._tickets = itertools.count()
        self._under_way = 0
        self._window = math.inf
        self._opens_at = self._halved_at = -math.inf

    def ticket(self) -> int:
        """The place of a new call in the queue, which it keeps when it is sent again."""
        return next(self._tickets)

    @contextmanager
    def passage(self, ticket: int, most: int | None, deadline: float | None) -> Iterator[float]:
        """Wait for one's turn; within, one more request is under way. Gives when it was begun.

        Args:
            ticket: Place of the call.
            most: How many requests may be under way, this one included; None for no limit of the caller's.
            deadline: Until when to wait, by ``time.monotonic``; None for ever.

        Raises:
            TimeoutError: The deadline has passed.
        """
        self._enter(ticket, math.inf if most is None else most, math.inf if deadline is None else deadline)
        try:
            yield time.monotonic()
        finally:
            with self._lock:
                self._under_way -= 1
                self._wake()

    def answered(self) -> None:
        """Count an answer."""
        with self._lock:
            self.answers += 1
            self._window += 1 / self._window

    def refused(self, begun: float, pause_s: float) -> None:
        """Take into account that a request, ``begun`` then, was refused for its rate; nothing goes for ``pause_s``."""
        with self._lock:
            now = time.monotonic()
            self._opens_at = max(self._opens_at, now + pause_s)
            if begun > self._halved_at:
                self._window = max(1.0, min(self._window, self._under_way) / 2)
                self._halved_at = now

    def _enter(self, ticket: int, most: float, deadline: float) -> None:
        with self._lock:
            place = ticket, threading.Condition(self._lock)
            heapq.heappush(self._waiting, place)
            try:
                while (wait := self._wait_s(ticket, most)) > 0:
                    left = deadline - time.monotonic()
                    if left <= 0:
                        raise TimeoutError
                    soonest = min(wait, left)
                    place[1].wait(None if soonest == math.inf else soonest)
                self._under_way += 1
            finally:
                self._waiting.remove(place)
                heapq.heapify(self._waiting)
                self._wake()

    def _wait_s(self, ticket: int, most: float) -> float:
        if self._waiting[0][0] != ticket or self._under_way + 1 > min(most, self._window):
            return math.inf
        return self._opens_at - time.monotonic()

    def _wake(self) -> None:
        if self._waiting:
            self._waiting[0][1].notify()


_GATES: weakref.WeakValueDictionary[tuple[str, str], EndpointGate] = weakref.WeakValueDictionary()
_GATES_LOCK = threading.RLock()


def gate_of(address: str, key: str) -> EndpointGate:
    """The gate that all clients of this process with the same endpoint and key share."""
    with _GATES_LOCK:
        return _GATES.setdefault((address, key), EndpointGate())


class GivenUp(BaseException):  # no error: like KeyboardInterrupt, which it follows
    """Nobody waits for this call any more."""


class Calls:
    """Calls of a piece of work. Once they are given up nobody waits for those under way, and no more are sent.

    Attributes:
        are_given_up: Whether they are.
    """

    def __init__(self) -> None:
        self.are_given_up = False
        self._lock = threading.RLock()
        self._under_way: set[Future[Any]] = set()

    def run(self, call: Callable[[], B]) -> B:
        """The result of ``call``, made in a thread that nobody has to wait for.

        Raises:
            GivenUp: The calls are given up.
        """
        ended: Future[B] = Future()
        with self._lock:
            if self.are_given_up:
                raise GivenUp
            self._under_way.add(ended)
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(_make, call, ended), daemon=True).start()
        try:
            return ended.result()
        except CancelledError:
            raise GivenUp from None
        finally:
            with self._lock:
                self._under_way.discard(ended)

    def give_up(self) -> None:
        """Give all up."""
        with self._lock:
            self.are_given_up = True
            for ended in self._under_way:
                ended.cancel()


def _make(call: Callable[[], B], ended: Future[B]) -> None:
    try:
        result = call()
    except BaseException as error:  # for whoever waits
        if ended.set_running_or_notify_cancel():
            ended.set_exception(error)
    else:
        if ended.set_running_or_notify_cancel():
            ended.set_result(result)


CALLS: contextvars.ContextVar[Calls | None] = contextvars.ContextVar("CALLS", default=None)
"""The calls that a request to a model belongs to, where it may be given up."""


def in_order(work: Callable[[A], B], items: Iterable[A], at_once: int) -> Iterator[B]:
    """``work`` on each item, on ``at_once`` of them at the same time in threads; gives results in the items' order.

    Items are taken when they are needed. Whoever ends early, or is interrupted, waits for no request to a model.
    """
    calls, waiting = Calls(), deque[Future[B]]()
    pool = ThreadPoolExecutor(at_once, thread_name_prefix="tracer-hooks-calls")
    try:
        for item in items:
            context = contextvars.copy_context()
            context.run(CALLS.set, calls)
            waiting.append(pool.submit(context.run, work, item))
            if len(waiting) >= 2 * at_once:  # so that no thread waits for whoever reads the results
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BaseException as error:
        if not isinstance(error, Exception):  # Ctrl-C, or nobody reads on; what an error leaves is finished
            calls.give_up()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
