"""Parts of a batch on a Ray cluster: Ray Data hands them to actors that keep their attributor loaded."""

from __future__ import annotations

import logging
import os
import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from tracer_hooks._lazy import require
from tracer_hooks.batch._diagnosed import DiagnoseSettings
from tracer_hooks.batch._job import Engine, Numbered
from tracer_hooks.batch._parts import PartResult, do_part, given_up
from tracer_hooks.errors import TracerHooksError

_TRIES = 3
"""How often a part whose worker died is tried: Ray itself would never give one up that no worker's memory can hold."""


def on_ray(*, address: str | None = None, workers: int = 2, gpus: float = 0.0) -> Engine:
    """An engine whose parts are done by the workers of a Ray cluster.

    A part whose worker is killed is done by another one. Nothing of the cluster is changed, and it is left at the end.

    Args:
        address: The cluster's, such as ``"auto"`` or ``"ray://head:10001"``; None takes ``RAY_ADDRESS``, or starts one
            here for as long as the work lasts. Each node needs tracer-hooks, and has to reach the files or the store.
        workers: How many processes are at work, one CPU each.
        gpus: The share of a GPU that each of them has.

    Raises:
        MissingExtraError: Ray is not installed.
    """
    require("ray.data", extra="ray", feature=_FEATURE)
    return partial(_on_ray, address, workers, gpus)


_FEATURE = "working on a Ray cluster"


@contextmanager
def joined_cluster(*, address: str | None, workers: int) -> Iterator[Any]:
    """The module ``ray``, with a cluster: the one that this process has joined, else as :func:`on_ray` says.

    Raises:
        MissingExtraError: Ray is not installed.
        TracerHooksError: The cluster cannot be reached.
    """
    ray: Any = require("ray", extra="ray", feature=_FEATURE)
    if ray.is_initialized():
        yield ray
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # what it writes past every logger
    is_there = address is not None or "RAY_ADDRESS" in os.environ
    here = {} if is_there else {"num_cpus": workers, "include_dashboard": False}
    try:
        ray.init(address=address, logging_level="ERROR", log_to_driver=False, **here)
    except (ConnectionError, RuntimeError, ValueError) as error:
        named = address or os.environ.get("RAY_ADDRESS", "this machine")
        raise TracerHooksError(f"no Ray cluster can be reached at {named!r}: {error}. Run: ray status") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _on_ray(
    address: str | None, workers: int, gpus: float, parts: Sequence[Numbered], settings: DiagnoseSettings
) -> Iterator[PartResult]:
    with joined_cluster(address=address, workers=workers) as ray:
        logging.getLogger("ray.data").setLevel(logging.ERROR)  # our own progress is shown
        ray.data.DataContext.get_current().enable_progress_bars = False
        attempts = ray.remote(num_cpus=0)(_Attempts).remote()
        rows = [{"number": number, "part": pickle.dumps(part)} for number, part in parts]
        found = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            _Worker,
            fn_constructor_args=(settings, attempts),
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=workers, max_tasks_in_flight_per_actor=2),
            num_cpus=1,
            num_gpus=gpus,
        )
        try:
            for row in found.iter_rows():
                yield pickle.loads(row["result"])
        except ray.exceptions.RayError as error:
            raise TracerHooksError(
                f"the Ray cluster gave up: {str(error).splitlines()[0]}. What was done is kept. Next: the same again"
            ) from error


class _Attempts:
    """An actor that counts how often each part was begun: it outlives the workers."""

    def __init__(self) -> None:
        self._begun = Counter[int]()

    def begin(self, number: int) -> int:
        """Count the part once more; gives how often it was begun."""
        self._begun[number] += 1
        return self._begun[number]


class _Worker:
    """An actor: loads what diagnosing needs once, and does a part a call."""

    def __init__(self, settings: DiagnoseSettings, attempts: Any) -> None:
        self._settings, self._attempts = settings, attempts
        settings.prepare()  # here, so that no part waits for weights

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        results = map(self._result, batch["number"], batch["part"])
        return {"result": [pickle.dumps(result) for result in results]}

    def _result(self, number: int, packed: bytes) -> PartResult:
        import ray

        part = pickle.loads(packed)
        self._settings.prepare()
        if ray.get(self._attempts.begin.remote(int(number))) > _TRIES:
            return given_up(int(number), part, f"its worker died {_TRIES} times, perhaps for want of memory")
        return do_part(int(number), part, self._settings)
