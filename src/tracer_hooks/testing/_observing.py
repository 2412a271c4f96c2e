"""Hook a team for a test: every run is observed, nothing is judged, diagnosed or retried."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.frameworks import Adapter, Intervention, RunResult, TeamCall, adapter_for
from tracer_hooks.schema import Trajectory
from tracer_hooks.telemetry import Emitter, RunInvocation, RunStart, drive, drive_async
from tracer_hooks.testing._spans import CountingIds


class Observer:
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
        try:
            with run.active():
                native = call.on(call.team)
        except BaseException as error:
            run.finish(error=error)
            raise
        self._finish(run, self.adapter.result(call, native))
        return native

    async def acall(self, call: TeamCall) -> Any:
        run = self._start(call)
        try:
            with run.active():
                native = await call.on(call.team)
        except BaseException as error:
            run.finish(error=error)
            raise
        self._finish(run, self.adapter.result(call, native))
        return native

    def stream(self, call: TeamCall) -> Iterator[Any]:
        run, collector = self._start(call), self.adapter.collector(call)
        try:
            with run.active():
                source = call.on(call.team)
            yield from drive(iter(source), run, on_item=collector.see, fails=False)
            self._finish(run, collector.result())
        except BaseException as error:
            run.finish(error=error)
            raise

    async def astream(self, call: TeamCall) -> AsyncIterator[Any]:
        run, collector = self._start(call), self.adapter.collector(call)
        items = None
        try:
            with run.active():
                source = call.on(call.team)
            items = drive_async(source, run, on_item=collector.see, fails=False)
            async for item in items:
                yield item
            self._finish(run, collector.result())
        except BaseException as error:
            run.finish(error=error)
            raise
        finally:
            if items is not None:
                await items.aclose()

    def _start(self, call: TeamCall) -> RunInvocation:
        start = RunStart(
            team=self.adapter.describe(call.team).name,
            task=call.task,
            framework=self.adapter.name,
            framework_version=self.adapter.framework_version(),
            agents=self.adapter.describe(call.team).agents,
            shows_span=self.adapter.describe(call.team).shows_span,
        )
        run = self._emitter.start_run(start, subject=call.team)
        run.intervention = self.intervention
        self.runs.append(run)
        return run

    def _finish(self, run: RunInvocation, result: RunResult) -> None:
        self.results.append(result)
        run.finish(output=result.text, stop_reason="interrupted" if result.interrupted else result.stop_reason)


@contextmanager
def observed(
    team: Any,
    *,
    adapter: Adapter | None = None,
    capture: CaptureConfig | None = None,
    intervention: Intervention | None = None,
) -> Iterator[Observer]:
    """Within the block every run of ``team`` is observed; afterwards the team is as it was.

    Args:
        team: The team.
        adapter: Its adapter; default the installed one that recognises it.
        capture: What is kept of content; default everything.
        intervention: Asked before and after every model and tool call.
    """
    observer = Observer(adapter or adapter_for(team), capture=capture, intervention=intervention)
    patches = observer.adapter.hook(team, observer)
    try:
        yield observer
    finally:
        patches.undo()
