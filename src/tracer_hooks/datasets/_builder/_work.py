"""Doing units of work in parallel, each noted in the journal as soon as it is done, and how far that is."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tracer_hooks.datasets._builder._journal import Journal
from tracer_hooks.replay import Spending

Unit = TypeVar("Unit")


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a phase of a build is."""

    phase: str
    """``runs``, ``faults`` or ``failures``."""
    done: int
    """Units that are done, earlier sessions included."""
    total: int
    """All units of the phase."""
    kept: int
    """Of those, how many gave what was wanted: runs that succeeded, verified faults, labelled failures."""
    resumed: int = 0
    """Of those that are done, how many were done in earlier sessions."""


class Work(Generic[Unit]):
    """Does each unit once.

    Args:
        journal: Where results go; units that are in it are passed over.
        spending: Says when a cap is reached; no unit is begun from then on.
        workers: How many units are worked on at the same time.
    """

    def __init__(self, journal: Journal, spending: Spending, *, workers: int) -> None:
        self._journal = journal
        self._spending = spending
        self._workers = workers

    def do(
        self, units: Iterable[tuple[str, Unit]], work: Callable[[Unit], dict[str, Any]]
    ) -> Generator[tuple[str, dict[str, Any]], None, None]:
        """Do what has not been done yet, and give each result after it was noted.

        An exception of ``work`` ends the phase: what it means to go on is for ``work`` to say, in its result. Close the
        generator to end early; units that are being worked on are then finished and noted.
        """
        left = iter([(name, unit) for name, unit in units if name not in self._journal])
        running: dict[Future[dict[str, Any]], str] = {}
        pool = ThreadPoolExecutor(self._workers, thread_name_prefix="tracer-hooks-build")
        try:
            self._fill(pool, running, left, work)
            while running:
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    name = running.pop(future)
                    result = future.result()
                    self._journal.add(name, result)
                    yield name, result
                self._fill(pool, running, left, work)
        finally:
            pool.shutdown(cancel_futures=True)
            self._keep(running)

    def _keep(self, running: dict[Future[dict[str, Any]], str]) -> None:
        """Note what was finished while the phase was being broken off."""
        for future, name in running.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                self._journal.add(name, future.result())

    def _fill(
        self,
        pool: ThreadPoolExecutor,
        running: dict[Future[dict[str, Any]], str],
        left: Iterator[tuple[str, Unit]],
        work: Callable[[Unit], dict[str, Any]],
    ) -> None:
        while len(running) < self._workers and self._spending.refusal is None:
            following = next(left, None)
            if following is None:
                return
            name, unit = following
            running[pool.submit(work, unit)] = name
