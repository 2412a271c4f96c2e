"""Whether every span that was started has ended."""

from __future__ import annotations

import threading

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from tracer_hooks import semconv


class Balance(SpanProcessor):
    """Counts the spans that were started and not ended.

    Attributes:
        started: The operations of all that were started.
        open: The names of those that go on.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.started: list[str] = []
        self.open: dict[int, str] = {}

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        with self._lock:
            self.started.append(str((span.attributes or {}).get(semconv.OPERATION_NAME)))
            self.open[id(span.get_span_context())] = span.name

    def on_end(self, span: ReadableSpan) -> None:
        with self._lock:
            self.open.pop(id(span.get_span_context()), None)
