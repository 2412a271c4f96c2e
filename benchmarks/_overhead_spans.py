"""Where the benchmark's spans go: to nothing while CPU time is taken, into memory when they are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

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
