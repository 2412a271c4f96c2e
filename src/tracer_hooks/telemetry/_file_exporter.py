"""Export spans to an OTLP file, for users without a collector."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from tracer_hooks._background import TaskQueue
from tracer_hooks._guard import warn_once
from tracer_hooks.config import exit_seconds
from tracer_hooks.telemetry._otlp_write import export_request
from tracer_hooks.telemetry._span_record import SpanEvent, SpanLink, SpanRecord, SpanStatus

_PATIENCE_S = 0.025


class OTLPFileExporter(SpanExporter):
    """Appends spans to a file in OTLP JSON, one export request a line, as the OpenTelemetry collector does.

    ``tracer-hooks diagnose FILE`` reads it back::

        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(OTLPFileExporter("traces.jsonl")))

    A file that cannot be written costs one warning, never the run. Where writing takes long, as into a pipe that nobody
    reads, it goes on in the background: whoever ends a span waits for 25 ms and goes on, and does not wait again until
    the file has caught up.

    Args:
        path: The file; its folder is made.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._queue = TaskQueue("tracer-hooks-otlp", lambda number: f"{number} exports of spans to {self._path}")
        self._is_late = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Append one line."""
        try:
            line = json.dumps(export_request([to_record(span) for span in spans]), separators=(",", ":"))
        except Exception as error:  # whatever is odd about a span, the run goes on
            self._warn(error)
            return SpanExportResult.FAILURE
        written = _Written()
        if not self._queue.submit(lambda: self._append(line, written)):
            return SpanExportResult.FAILURE
        if not self._is_late and not written.is_over.wait(_PATIENCE_S):
            self._is_late = True
        return SpanExportResult.FAILURE if written.has_failed else SpanExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Wait until every line is written; whether they are."""
        return self._queue.drain(time.monotonic() + timeout_millis / 1000)

    def shutdown(self) -> None:
        """Wait until every line is written, as long as the end of a process waits for work in the background."""
        self._queue.drain(time.monotonic() + exit_seconds())

    def _append(self, line: str, written: _Written) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(line + "\n")
            self._is_late = False
        except Exception as error:
            written.has_failed = True
            self._warn(error)
        finally:
            written.is_over.set()

    def _warn(self, error: Exception) -> None:
        warn_once(f"otlp file {self._path}", "tracer-hooks cannot write spans to %s: %s", self._path, error)


class _Written:
    """What came of one line."""

    def __init__(self) -> None:
        self.is_over = threading.Event()
        self.has_failed = False


def to_record(span: ReadableSpan) -> SpanRecord:
    """A span of the OpenTelemetry SDK as a :class:`SpanRecord`."""
    context = span.get_span_context()
    assert context is not None, "a span that was started has a context"
    return SpanRecord(
        trace_id=f"{context.trace_id:032x}",
        span_id=f"{context.span_id:016x}",
        parent_id=f"{span.parent.span_id:016x}" if span.parent is not None else None,
        name=span.name,
        kind=span.kind.name.lower(),
        start_ns=span.start_time or 0,
        end_ns=span.end_time or 0,
        attributes=_plain(span.attributes),
        status=SpanStatus(span.status.status_code.name.lower()),
        status_message=span.status.description or "",
        events=tuple(
            SpanEvent(name=event.name, time_ns=event.timestamp, attributes=_plain(event.attributes))
            for event in span.events
        ),
        links=tuple(
            SpanLink(
                trace_id=f"{link.context.trace_id:032x}",
                span_id=f"{link.context.span_id:016x}",
                attributes=_plain(link.attributes),
            )
            for link in span.links
        ),
        resource=_plain(span.resource.attributes),
        scope=span.instrumentation_scope.name if span.instrumentation_scope is not None else "",
    )


def _plain(attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in (attributes or {}).items()}
