"""CPU time of a run, bare and traced, taken alternately in one process."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

from _overhead_leftovers import Snapshot
from _overhead_modes import Bare
from _overhead_script import ANSWER, OPERATIONS
from _overhead_spans import batch_to_nothing, census, into_memory
from opentelemetry.sdk.trace import TracerProvider


class Pairs:
    """Two equal teams from one factory, one never traced; tracing is on only around each run of the other.

    Switching on and off lies outside the timed part, and so does one run before each timed one, in which a way of
    tracing may do what it does once after it was switched on. What the switching off leaves changed in the framework
    is put back, so that the bare runs stay bare, and reported.

    Args:
        bench_type: The framework's ``BenchTeam``.
        switch: The way of tracing.
    """

    def __init__(self, bench_type: Callable[[], Any], switch: Bare) -> None:
        self._bare, self._traced, self._switch = bench_type(), bench_type(), switch
        self._provider, self._exporter = batch_to_nothing()
        self._bare_team = self._bare.build()
        checked_run(self._bare, self._bare_team)  # what the framework does on first use is no change by the switch
        self._snapshot = Snapshot(self._bare.framework)
        self._left: set[str] = set()
        self._traced_team = self._build_traced(self._provider)
        self._provider.force_flush()  # an instrumentor may trace the building, too
        self._times: list[tuple[float, float, float]] = []

    def measure(self, pairs: int, warm_up: int, progress: Callable[[int], None]) -> dict[str, Any]:
        """Take ``pairs`` pairs, each in the other order than the one before, after ``warm_up`` that do not count.

        Returns:
            Milliseconds of CPU: ``bare_ms``, ``traced_ms`` and ``switch_on_ms``, one each a pair; ``left``, the
            places that were left changed.
        """
        for number in range(-warm_up, pairs):
            if number == 0:
                self._times.clear()
                gc.collect()
                gc.freeze()
            self._pair(traced_first=number % 2 == 1)
            progress(number + 1)
        bare, traced, switch_on = zip(*self._times, strict=True)
        return {"bare_ms": bare, "traced_ms": traced, "switch_on_ms": switch_on, "left": sorted(self._left)}

    def census(self) -> dict[str, Any]:
        """What the spans of one run are."""
        provider, memory = into_memory()
        team = self._build_traced(provider)
        memory.clear()
        self._switch.on(team, provider)
        try:
            checked_run(self._traced, team)
            self._switch.settle(team)
        finally:
            self._switch_off(team)
        return census(memory.get_finished_spans())

    def _pair(self, *, traced_first: bool) -> None:
        if traced_first:
            traced, switch_on = self._time_traced()
            bare = self._time_bare()
        else:
            bare = self._time_bare()
            traced, switch_on = self._time_traced()
        self._times.append((bare, traced, switch_on))

    def _time_bare(self) -> float:
        seen = self._exporter.spans
        cpu_ms = _timed(self._bare, self._bare_team, lambda: None)
        self._provider.force_flush()
        if self._exporter.spans != seen:
            raise RuntimeError("a bare run emitted spans: tracing was not switched off")
        return cpu_ms

    def _time_traced(self) -> tuple[float, float]:
        team, seen = self._traced_team, self._exporter.spans

        def settle() -> None:
            self._switch.settle(team)
            self._provider.force_flush()

        begin = time.process_time()
        self._switch.on(team, self._provider)
        switch_on = 1000 * (time.process_time() - begin)
        try:
            cpu_ms = _timed(self._traced, team, settle)
        finally:
            self._switch_off(team)
        if self._exporter.spans == seen and self._switch.emits:
            raise RuntimeError("a traced run emitted no spans")
        return cpu_ms, switch_on

    def _switch_off(self, team: Any) -> None:
        self._switch.off(team)
        self._left.update(self._snapshot.restore())

    def _build_traced(self, provider: TracerProvider) -> Any:
        if not self._switch.builds_inside:
            return self._traced.build()
        self._switch.on(None, provider)
        try:
            return self._traced.build()
        finally:
            self._switch_off(None)


def checked_run(bench: Any, team: Any) -> None:
    """Run the team from its start.

    Raises:
        RuntimeError: It did not give the answer, or not in the right number of model calls.
    """
    bench.rewind(team)
    _check(bench, bench.run(team))


def _timed(bench: Any, team: Any, settle: Callable[[], None]) -> float:
    checked_run(bench, team)
    settle()
    bench.rewind(team)
    gc.collect()
    begin = time.process_time()
    answer = bench.run(team)
    settle()
    cpu_ms = 1000 * (time.process_time() - begin)
    _check(bench, answer)
    return cpu_ms


def _check(bench: Any, answer: str) -> None:
    if answer != ANSWER or bench.model_calls() != OPERATIONS["chat"]:
        raise RuntimeError(f"the team gave {answer!r} in {bench.model_calls()} model calls, expected {ANSWER!r} in 8")
