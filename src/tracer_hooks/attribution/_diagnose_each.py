"""Diagnosing many runs: answers in order as they come, some runs at the same time where the attributor allows it."""

from __future__ import annotations

import contextvars
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from tracer_hooks.attribution._diagnose import diagnose_trajectory
from tracer_hooks.attribution._protocol import Attributor, Concurrent
from tracer_hooks.attribution._registry import AUTO, get_attributor
from tracer_hooks.schema import Attribution, Trajectory

Asked = tuple[Trajectory, str | None]
"""A run, and the expected answer when it may be used."""


def diagnose_each(asked: Iterable[Asked], *, attributor: str | Attributor = AUTO) -> Iterator[Attribution | Exception]:
    """Diagnose many runs, and hand out each answer, in the order of the runs, as soon as it is there.

    Runs are taken from ``asked`` when they are needed, so that a long file is never in memory as a whole.

    Args:
        asked: What is asked about.
        attributor: A name, or an attributor of one's own. One with a ``concurrency`` above 1 is asked about that many
            runs at the same time, in threads.

    Yields:
        An answer that is checked against its run; or the exception that this run ended with, while the others go on.

    Raises:
        ConfigError: ``attributor`` is not known.
    """
    chosen = get_attributor(attributor)
    at_once = chosen.concurrency if isinstance(chosen, Concurrent) else 1
    if at_once <= 1:
        return (_answer(chosen, *one) for one in asked)
    return _in_threads(chosen, asked, at_once)


def _in_threads(attributor: Attributor, asked: Iterable[Asked], at_once: int) -> Iterator[Attribution | Exception]:
    waiting: deque[Future[Attribution | Exception]] = deque()
    pool = ThreadPoolExecutor(at_once, thread_name_prefix="tracer-hooks-diagnose")
    try:
        for trajectory, reference in asked:
            context = contextvars.copy_context()
            waiting.append(pool.submit(context.run, _answer, attributor, trajectory, reference))
            if len(waiting) >= 2 * at_once:  # so that no thread waits for whoever reads the answers
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C nothing new is begun


def _answer(attributor: Attributor, trajectory: Trajectory, reference: str | None) -> Attribution | Exception:
    try:
        return diagnose_trajectory(trajectory, attributor=attributor, reference=reference)
    except Exception as error:  # handed to whoever reads the answers, in its place
        return error
