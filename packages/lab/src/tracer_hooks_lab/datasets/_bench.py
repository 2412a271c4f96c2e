"""Where the units of a build are worked on: in threads here, or by the workers of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from tracer_hooks.batch import joined_cluster
from tracer_hooks.budget import Spending
from tracer_hooks.schema import Usage
from tracer_hooks_lab.datasets._build_plan import BuildOptions
from tracer_hooks_lab.datasets._build_work import Bench
from tracer_hooks_lab.datasets._units import UnitWork

_TRIES = 3
"""How often a unit whose worker died is done again."""
MakeBench = Callable[[BuildOptions, Spending], Bench]
"""Makes the bench of a build."""


class LocalBench:
    """Threads of this process."""

    def __init__(self, options: BuildOptions, spending: Spending) -> None:
        self._work = UnitWork(options, spending)
        self._pool = ThreadPoolExecutor(options.workers, thread_name_prefix="tracer-hooks-build")

    def submit(self, phase: str, unit: Any) -> Future[dict[str, Any]]:
        """Begin a unit in a thread."""
        return self._pool.submit(self._work.do, phase, unit)

    def close(self) -> None:
        """Wait for the threads."""
        self._pool.shutdown(cancel_futures=True)


def ray_bench(address: str | None = None) -> MakeBench:
    """A bench whose units are done by as many workers of a Ray cluster as the build has, one CPU each.

    A unit whose worker is killed is done by another one, and comes once. Caps hold as in this process, but for what the
    units that are under way take: a worker knows of the others what was spent when its unit began.

    Args:
        address: As for ``tracer-hooks diagnose --address``. Teams, checks and writers are sent to the workers, where
            the modules that they are from have to be found.

    Raises:
        MissingExtraError: Ray is not installed.
    """
    return partial(_RayBench, address)


class _RayBench:
    def __init__(self, address: str | None, options: BuildOptions, spending: Spending) -> None:
        self._spending = spending
        self._cluster = joined_cluster(address=address, workers=options.workers)
        self._ray = self._cluster.__enter__()
        worker = self._ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=_TRIES)(_Worker)
        self._workers = [worker.remote(options) for _ in range(options.workers)]
        self._free = list(self._workers)

    def submit(self, phase: str, unit: Any) -> Future[dict[str, Any]]:
        worker = self._free.pop()
        told: Future[dict[str, Any]] = Future()
        told.set_running_or_notify_cancel()
        answered = worker.do.remote(phase, unit, self._spending.runs, self._spending.usage).future()
        answered.add_done_callback(partial(self._done, worker, told))
        return told

    def close(self) -> None:
        for worker in self._workers:
            self._ray.kill(worker)
        self._cluster.__exit__(None, None, None)

    def _done(self, worker: Any, told: Future[dict[str, Any]], answered: Future[Any]) -> None:
        self._free.append(worker)
        error = answered.exception()
        if error is not None:
            cause = getattr(error, "cause", None)  # Ray wraps what the unit has raised
            told.set_exception(cause if isinstance(cause, Exception) else error)
            return
        result, runs, usage = answered.result()
        self._spending.charge(usage)
        for _ in range(runs):
            self._spending.add(Usage())
        told.set_result(result)


class _Worker:
    """An actor that does one unit at a time."""

    def __init__(self, options: BuildOptions) -> None:
        self._options = options

    def do(self, phase: str, unit: Any, runs: int, usage: Usage) -> tuple[dict[str, Any], int, Usage]:
        spending = Spending(self._options.cap)
        spending.runs, spending.usage = runs, usage
        result = UnitWork(self._options, spending).do(phase, unit)
        own = Usage(
            input_tokens=spending.usage.input_tokens - usage.input_tokens,
            output_tokens=spending.usage.output_tokens - usage.output_tokens,
        )
        return result, spending.runs - runs, own
