"""A tracer provider whose spans can be looked at, also those that never end."""

from __future__ import annotations

from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider


class Recording(SpanProcessor):
    """Counts what begins and keeps what ends."""

    def __init__(self) -> None:
        self.provider = TracerProvider()
        self.provider.add_span_processor(self)
        self.started: list[Span] = []
        self.ended: list[ReadableSpan] = []

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self.started.append(span)

    def on_end(self, span: ReadableSpan) -> None:
        self.ended.append(span)

    @property
    def open(self) -> list[str]:
        return [span.name for span in self.started if span.end_time is None]

    def named(self, beginning: str) -> list[ReadableSpan]:
        return [span for span in self.ended if span.name.startswith(beginning)]

    @property
    def root(self) -> ReadableSpan:
        (found,) = self.named("invoke_workflow")
        return found


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})
