"""One measurement in a process of its own: ``python _overhead_worker.py JOB.json RESULT.json``.

Lines on stdout that begin with ``@@`` carry progress; the frameworks may print anything else.
"""

from __future__ import annotations

import gc
import importlib
import json
import logging
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil
from _overhead_modes import Bare, Ours, make
from _overhead_report import slope
from _overhead_script import ANSWER, OPERATIONS
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class NothingExporter(SpanExporter):
    """Drops spans; counts them, so that a bare run that emits any is noticed."""

    def __init__(self) -> None:
        self.spans = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans += len(spans)
        return SpanExportResult.SUCCESS


def batch_to_nothing() -> tuple[TracerProvider, NothingExporter]:
    exporter = NothingExporter()
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider, exporter


def into_memory() -> tuple[TracerProvider, InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, exporter


def census(spans: Sequence[ReadableSpan]) -> dict[str, Any]:
    """Number, names and attribute bytes (keys and values, of spans and of their events) of one run's spans."""
    parts = [part for span in spans for part in (span.attributes, *(event.attributes for event in span.events))]
    operations = Counter(span.name.split()[0] for span in spans)
    return {
        "spans": len(spans),
        "names": dict(operations.most_common(12)),
        "attribute_bytes": sum(_bytes(attributes or {}) for attributes in parts),
        "traces": len({span.context.trace_id for span in spans if span.context}),
    }


def _bytes(attributes: Mapping[str, Any]) -> int:
    return sum(len(key) + _size(value) for key, value in attributes.items())


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, (list, tuple)):
        return sum(_size(item) for item in value)
    return 1 if isinstance(value, bool) else 8


_ABSENT = object()

PACKAGES = {
    "autogen": ("autogen_agentchat", "autogen_core", "autogen_ext"),
    "crewai": ("crewai",),
    "langgraph": ("langchain", "langchain_core", "langchain_openai", "langgraph"),
}


class Snapshot:
    """The functions of a framework's modules and classes as they are now.

    Args:
        framework: Key of :data:`PACKAGES`.
    """

    def __init__(self, framework: str) -> None:
        self._roots = PACKAGES[framework]
        self._before = {id(owner): (owner, dict(vars(owner))) for owner in self._owners()}

    def changed(self) -> list[tuple[Any, str, Any]]:
        """Owner, name and original of every function or method that is another one now."""
        found = []
        for owner, before in self._before.values():
            now = vars(owner)
            for name in now.keys() | before.keys():
                original = before.get(name, _ABSENT)
                if now.get(name, _ABSENT) is not original and self._counts(owner, original, now.get(name, _ABSENT)):
                    found.append((owner, name, original))
        return found

    def restore(self) -> list[str]:
        """Put back what is changed; gives the names of the places."""
        places = []
        for owner, name, original in self.changed():
            places.append(f"{owner.__name__}.{name}")
            if original is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        return sorted(places)

    def _counts(self, owner: Any, original: Any, now: Any) -> bool:
        if original is _ABSENT and isinstance(owner, ModuleType):
            return False  # a module that was imported late
        return any(callable(value) and not isinstance(value, type) for value in (original, now))

    def _owners(self) -> list[Any]:
        owners: dict[int, Any] = {}
        for name, module in list(sys.modules.items()):
            # Some packages keep lazy stand-ins in sys.modules; those are left alone.
            if name.split(".")[0] not in self._roots or type(module) is not ModuleType:
                continue
            owners[id(module)] = module
            for value in list(vars(module).values()):
                if isinstance(value, type) and str(value.__module__).split(".")[0] in self._roots:
                    owners[id(value)] = value
        return list(owners.values())


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


SAMPLES = 40
"""Readings over all runs."""


def measure_memory(
    bench: Any, switch: Bare, runs: int, *, new_team: bool, progress: Callable[[int], None]
) -> dict[str, Any]:
    """Resident memory over ``runs`` runs, with tracing on throughout and content captured.

    The first quarter is left to the allocator, the caches and the framework to settle.

    Args:
        bench: The framework's ``BenchTeam``.
        switch: The way of tracing.
        runs: How many.
        new_team: Whether each run gets a team of its own, from the hooked factory where the mode is ours.
        progress: Told the number of runs done.

    Returns:
        MB after a quarter of the runs and after all, and the slope between in kB a run.
    """
    provider, _ = batch_to_nothing()
    next_team = _teams(bench, switch, provider, new_team=new_team)
    process, every = psutil.Process(), max(1, runs // SAMPLES)
    readings: list[tuple[float, float]] = []
    began = time.process_time()
    for number in range(1, runs + 1):
        team = next_team()
        checked_run(bench, team)
        switch.settle(team)
        del team
        if number % every == 0 or number == runs:
            gc.collect()
            readings.append((number, process.memory_info().rss / 1e6))
            progress(number)
    kept = [reading for reading in readings if reading[0] >= runs / 4]
    return {
        "runs": runs,
        "from_run": int(kept[0][0]),
        "rss_mb_from": round(kept[0][1], 1),
        "rss_mb_end": round(kept[-1][1], 1),
        "grown_mb": round(kept[-1][1] - kept[0][1], 2),
        "slope_kb_per_run": round(1000 * slope(kept), 3) if len(kept) > 1 else None,
        "readings": [(int(number), round(megabytes, 2)) for number, megabytes in readings],
        "cpu_s": round(time.process_time() - began, 1),
    }


def _teams(bench: Any, switch: Bare, provider: Any, *, new_team: bool) -> Callable[[], Any]:
    if new_team:
        return switch.factory(bench.build, provider) if isinstance(switch, Ours) else bench.build
    if switch.builds_inside:
        switch.on(None, provider)
        team = bench.build()
    else:
        team = bench.build()
        switch.on(team, provider)
    return lambda: team


def main(job_file: str, result_file: str) -> None:
    job = json.loads(Path(job_file).read_text())
    # The frameworks warn about scripted models at each call; formatting that is no part of a run.
    logging.getLogger().setLevel(logging.ERROR)
    bench_type = importlib.import_module(f"_overhead_{job['framework']}").BenchTeam
    with tempfile.TemporaryDirectory() as scratch:
        result = _measure(job, bench_type, Path(scratch))
    Path(result_file).write_text(json.dumps(result))


def _measure(job: dict[str, Any], bench_type: Any, scratch: Path) -> dict[str, Any]:
    switch = make(job["mode"], job["framework"], scratch)
    if job["kind"] == "memory":
        return measure_memory(bench_type(), switch, job["runs"], new_team=job["new_team"], progress=_progress)
    pairs = Pairs(bench_type, switch)
    return {**pairs.measure(job["pairs"], job["warm_up"], _progress), "census": pairs.census()}


def _progress(done: int) -> None:
    print(f"@@ {done}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
