"""Runs for the telemetry tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.schema import AgentSpec, Trajectory
from tracer_hooks.telemetry import AgentInvocation, Emitter, RunInvocation, RunStart, SpanRecord, assemble, normalise
from tracer_hooks.testing import CountingIds

FIXTURES = Path(__file__).parents[2] / "fixtures" / "otlp"
TRACE = "0af7651916cd43dd8448eb211c80319c"
FULL = CaptureConfig(export=ContentCapture.FULL)


class Recorded:
    """An emitter whose spans can be looked at."""

    def __init__(self, capture: CaptureConfig = FULL) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider(id_generator=CountingIds())
        self.provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.emitter = Emitter(tracer_provider=self.provider, capture=capture)

    def start(self, team: str = "team", **known: object) -> RunInvocation:
        return self.emitter.start_run(RunStart(team=team, **known))  # type: ignore[arg-type]

    @contextmanager
    def turn(self, agent: str = "a") -> Iterator[RunInvocation]:
        """A run with one turn of one agent; both end with the block."""
        run = self.start()
        with run.active():
            turn = AgentInvocation(run, AgentSpec(name=agent))
            with turn.active():
                yield run
            turn.stop()
        run.finish()

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    def span(self, name: str) -> ReadableSpan:
        (found,) = [span for span in self.spans if span.name == name]
        return found


def span(number: int, parent: int | None, name: str, attributes: dict[str, Any], **fields: Any) -> SpanRecord:
    """A span of another instrumentation."""
    times = {"start_ns": number * 1_000_000, "end_ns": number * 1_000_000 + 500_000}
    return SpanRecord(
        trace_id=TRACE,
        span_id=f"{number:016x}",
        parent_id=f"{parent:016x}" if parent is not None else None,
        name=name,
        attributes=attributes,
        **{**times, **fields},
    )


def only(records: list[SpanRecord]) -> Trajectory:
    [trajectory] = [run for run in assemble(normalise(records)) if run.steps]
    return trajectory
