"""Spans in tests: ids that count up, a clock that ticks evenly, and a short text form of a span tree."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.id_generator import IdGenerator

from tracer_hooks import semconv


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
