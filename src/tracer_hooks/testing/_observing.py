"""Runs observed in memory, their spans as a tree, ids and clocks that repeat."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator

from tracer_hooks import semconv
from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.frameworks import Adapter, Intervention, RunResult, TeamCall, adapter_for
from tracer_hooks.schema import Trajectory
from tracer_hooks.telemetry import Emitter, RunInvocation, RunStart, drive, drive_async


class CountingIds(IdGenerator):
    """Trace and span ids that count up from 1, so that a test can name them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._traces, self._spans = itertools.count(1), itertools.count(1)

    def generate_trace_id(self) -> int:
        with self._lock:
            return next(self._traces)

    def generate_span_id(self) -> int:
        with self._lock:
            return next(self._spans)


@contextmanager
def ticking_clock(*, start_ns: int = 1_700_000_000_000_000_000, tick_ns: int = 1_000_000) -> Iterator[None]:
    """Within the block ``time.time_ns()`` advances by ``tick_ns`` at each call, and in no other way."""
    ticks: Callable[[], int] = itertools.count(start_ns, tick_ns).__next__
    with mock.patch.object(time, "time_ns", ticks):
        yield


def span_tree(spans: Sequence[ReadableSpan], *, with_steps: bool = True) -> str:
    """The spans as an indented text, children by start time: one line a span with its step index and ERROR, if any.

    A line reads ``execute_tool lookup [1] ERROR``.
    """
    children: dict[int | None, list[ReadableSpan]] = {}
    ids = {span.context.span_id for span in spans if span.context}
    for span in sorted(spans, key=lambda span: (span.start_time or 0, span.context.span_id if span.context else 0)):
        parent = span.parent.span_id if span.parent is not None and span.parent.span_id in ids else None
        children.setdefault(parent, []).append(span)

    def lines(parent: int | None, depth: int) -> Iterator[str]:
        for span in children.get(parent, ()):
            yield "  " * depth + _line(span, with_steps)
            yield from lines(span.context.span_id if span.context else None, depth + 1)

    return "\n".join(lines(None, 0))


def _line(span: ReadableSpan, with_steps: bool) -> str:
    attributes: Any = span.attributes or {}
    step = f" [{attributes[semconv.STEP_INDEX]}]" if with_steps and semconv.STEP_INDEX in attributes else ""
    error = "" if span.status.is_ok or span.status.is_unset else " ERROR"
    return f"{span.name}{step}{error}"


class RecordingHost:
    """A :class:`~tracer_hooks.frameworks.RunHost` that only observes.

    Attributes:
        runs: Every run, in the order in which they began.
        results: What came out of each run that ended normally.
        intervention: Asked in every run; may be set between runs.
    """

    def __init__(
        self, adapter: Adapter, *, capture: CaptureConfig | None = None, intervention: Intervention | None = None
    ) -> None:
        self.adapter = adapter
        self.intervention = intervention
        self.runs: list[RunInvocation] = []
        self.results: list[RunResult] = []
        self._exporter = InMemorySpanExporter()
        self.tracer_provider = TracerProvider(id_generator=CountingIds())
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        full = CaptureConfig(export=ContentCapture.FULL)
        self._emitter = Emitter(tracer_provider=self.tracer_provider, capture=capture or full)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """The exported spans, in the order in which they ended."""
        return self._exporter.get_finished_spans()

    @property
    def trajectories(self) -> list[Trajectory]:
        """Every run as a trajectory."""
        return [run.trajectory() for run in self.runs]

    @property
    def trajectory(self) -> Trajectory:
        """The trajectory of the only run.

        Raises:
            AssertionError: There was not exactly one run.
        """
        assert len(self.runs) == 1, f"expected one run, saw {len(self.runs)}"
        return self.runs[0].trajectory()

    # --- RunHost ---------------------------------------------------------------------------------------------------
    def call(self, call: TeamCall) -> Any:
        run = self._start(call)
        with _failing(run), run.active():
            native = call.on(call.team)
        self._finish(run, self.adapter.result(call, native))
        return native

    async def acall(self, call: TeamCall) -> Any:
        run = self._start(call)
        with _failing(run), run.active():
            native = await call.on(call.team)
        self._finish(run, self.adapter.result(call, native))
        return native

    def stream(self, call: TeamCall) -> Iterator[Any]:
        run, collector = self._start(call), self.adapter.collector(call)
        with _failing(run):
            with run.active():
                source = call.on(call.team)
            yield from drive(iter(source), run, on_item=collector.see, fails=False)
            self._finish(run, collector.result())

    async def astream(self, call: TeamCall) -> AsyncIterator[Any]:
        run, collector = self._start(call), self.adapter.collector(call)
        items = None
        try:
            with _failing(run):
                with run.active():
                    source = call.on(call.team)
                items = drive_async(source, run, on_item=collector.see, fails=False)
                async for item in items:
                    yield item
                self._finish(run, collector.result())
        finally:
            if items is not None:
                await items.aclose()

    def _start(self, call: TeamCall) -> RunInvocation:
        team = self.adapter.describe(call.team)
        start = RunStart(
            team=team.name,
            task=call.task,
            framework=self.adapter.name,
            framework_version=self.adapter.framework_version(),
            agents=team.agents,
            shows_span=team.shows_span,
        )
        run = self._emitter.start_run(start, subject=call.team)
        run.intervention = self.intervention
        self.runs.append(run)
        return run

    def _finish(self, run: RunInvocation, result: RunResult) -> None:
        self.results.append(result)
        run.finish(output=result.text, stop_reason="interrupted" if result.interrupted else result.stop_reason)


@contextmanager
def _failing(run: RunInvocation) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        run.finish(error=error)
        raise


@contextmanager
def observed(
    team: Any,
    *,
    adapter: Adapter | None = None,
    capture: CaptureConfig | None = None,
    intervention: Intervention | None = None,
) -> Iterator[RecordingHost]:
    """Within the block every run of ``team`` is observed; afterwards the team is as it was.

    Args:
        team: The team.
        adapter: Its adapter; default the installed one that recognises it.
        capture: What is kept of content; default everything.
        intervention: Asked before and after every model and tool call.
    """
    observer = RecordingHost(adapter or adapter_for(team), capture=capture, intervention=intervention)
    patches = observer.adapter.hook(team, observer)
    try:
        yield observer
    finally:
        patches.undo()
