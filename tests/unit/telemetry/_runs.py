"""Runs for the telemetry tests."""

from __future__ import annotations

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.telemetry import Emitter, RunInvocation, RunStart
from tracer_hooks.testing import CountingIds

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

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    def span(self, name: str) -> ReadableSpan:
        (found,) = [span for span in self.spans if span.name == name]
        return found
