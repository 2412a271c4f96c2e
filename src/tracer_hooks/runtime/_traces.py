"""Spans of this process, collected by trace until a trace is over; they may come late, or never end."""

from __future__ import annotations

import functools
import os
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import get_current_span

from tracer_hooks._background import BackgroundQueue, before_exit, process_lock
from tracer_hooks._guard import guard, warn_once
from tracer_hooks._text import counted
from tracer_hooks.telemetry import SCOPE, current_invocation, is_suppressed

MOST_TRACES = 10_000
"""Traces that may be open at a time; beyond that the oldest is given up."""
MOST_SPANS = 20_000
"""Spans that are kept of one trace."""
_SETTLE_S = 0.5
"""How long a trace has no open span before it is over: children may begin after the span that they belong to."""
_STALLED_S = 30.0
"""How long a trace whose root has ended waits for children that are open, and may never end."""
_MOST_WAITING = 10 * MOST_TRACES
_IDLE_S = 1800.0
"""How long nothing happens in a trace before it counts as abandoned; looked at when another one begins."""


@dataclass(eq=False)
class CollectedTrace:
    """Spans of one trace, or of the part of it that this process makes at one time."""

    trace_id: int
    number: int
    """1 for the first time that this process makes a part of the trace; a service may be called again within it."""
    tags: Mapping[str, str]
    """Tags that held where it began."""
    spans: list[ReadableSpan] = field(default_factory=list)
    """Those that have ended, in the order in which they did."""
    open: set[int] = field(default_factory=set)
    """Ids of those that have not."""
    is_abandoned: bool = False
    """Whether it was handed on before its root had ended."""
    outer: Any = None
    """The span of another provider that it began in: the trace goes on as long as that does."""
    has_root: bool = False
    """Whether a span without a parent in this process has ended."""
    touched: float = field(default_factory=time.monotonic)

    @property
    def patience_s(self) -> float:
        """How long it goes on without a sign: something in it is open, or a span of another provider around it."""
        goes_on_outside = self.outer is not None and bool(self.outer.is_recording())
        return _IDLE_S if goes_on_outside else _STALLED_S if self.open else 0.0


@dataclass(frozen=True)
class _Due:
    """A trace that is over at a time, unless something happens in it before."""

    collector: TraceCollector
    trace: CollectedTrace
    at: float
    touched: float | None
    """When something happened in it last; None where it is over whatever happens."""


class _EndingTraces(BackgroundQueue[_Due]):
    """Traces that are over after a delay; one thread hands them on."""

    def add(self, collector: TraceCollector, trace: CollectedTrace) -> None:
        """Let ``trace`` be over after the delay, if nothing happens in it before."""
        self.put(_Due(collector, trace, time.monotonic() + _SETTLE_S, trace.touched))

    @property
    def _delay_s(self) -> float:
        return max(0.0, self._waiting[0].at - time.monotonic()) if self._waiting else 0.0

    def _handle_some(self) -> bool:
        for due in self._take(1):
            with guard("observe a run"):
                due.collector.settle(due.trace, due.touched, at_once=self._is_draining)
        self._finish()
        return True

    def _say_lost(self, number: int) -> None:
        warn_once("traces lost", "tracer-hooks did not wait any longer for %s", counted(number, "observed run"))


_collectors: weakref.WeakSet[TraceCollector] = weakref.WeakSet()


@functools.cache
def _settling() -> _EndingTraces:
    before_exit(_end_all)
    return _EndingTraces("tracer-hooks-observe", max_items=_MOST_WAITING, order=-1)  # its work leads to the others'


def _end_all() -> None:
    for collector in list(_collectors):
        collector.end_all()


def _forget_all() -> None:
    for collector in list(_collectors):  # a forked child does not end the spans of its parent
        collector.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


class TraceCollector(SpanProcessor):
    """Collects the spans of a provider, and hands on each trace when it is over; costs the run microseconds a span.

    Spans of hooked runs are left to the hook, and what tracer-hooks does itself to diagnose or judge is no run.

    Attributes:
        on_trace: Called with every trace that is over, in a background thread; None takes no spans.
        tags: Gives the tags that hold where a trace begins.
    """

    def __init__(self) -> None:
        self.on_trace: Callable[[CollectedTrace], None] | None = None
        self.tags: Callable[[], Mapping[str, str]] = dict
        self._lock = process_lock()
        self._traces: OrderedDict[int, CollectedTrace] = OrderedDict()
        self._over: OrderedDict[int, int] = OrderedDict()
        """How often a part of each trace was handed on; 0 where it is a hooked run."""
        _collectors.add(self)

    # --- called by OpenTelemetry, in the run's own thread -----------------------------------------------------------
    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Note a span that begins."""
        if self.on_trace is not None:
            with guard("observe a span"):
                self._begin(span, parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        """Keep a span that has ended."""
        with guard("observe a span"):
            self._end(span)

    def shutdown(self) -> None:
        """End every trace: the provider takes no further spans."""
        self.end_all()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Do nothing: whoever publishes a diagnosis flushes the provider, and must not wait for diagnoses."""
        return True

    # --- called when nothing more comes ----------------------------------------------------------------------------
    def end_all(self) -> None:
        """Hand on every trace as it is."""
        with self._lock:
            for trace in list(self._traces.values()):
                self._end_trace(trace)

    def stop(self) -> None:
        """Hand on every trace as it is, and take no more spans."""
        on_trace = self.on_trace
        self.on_trace = None
        with self._lock:
            left = list(self._traces.values())
            for trace in left:
                trace.is_abandoned = not trace.has_root
                self._remove(trace)
        for trace in left:
            if on_trace is not None and trace.spans:
                on_trace(trace)

    def forget(self) -> None:
        """Drop every trace that is open."""
        self._traces.clear()

    def settle(self, trace: CollectedTrace, touched: float | None, *, at_once: bool) -> None:
        """Hand on ``trace`` where it is over: nothing has happened in it since ``touched``, or that is None."""
        with self._lock:
            if touched is not None:
                if trace.touched != touched or self._traces.get(trace.trace_id) is not trace:
                    return
                if not at_once and time.monotonic() - touched < trace.patience_s:
                    _settling().add(self, trace)
                    return
                self._remove(trace)
        if self.on_trace is not None and trace.spans:
            self.on_trace(trace)

    # --- details ---------------------------------------------------------------------------------------------------
    def _begin(self, span: Span, parent_context: Context | None) -> None:
        if is_suppressed(parent_context) or is_suppressed() or current_invocation() is not None:
            return
        identity, is_root = span.get_span_context(), _is_root(span)
        with self._lock:
            trace = self._traces.get(identity.trace_id)
            if trace is None:
                is_ours = span.instrumentation_scope is not None and span.instrumentation_scope.name == SCOPE
                if is_ours:
                    self._note_over(identity.trace_id, self._over.get(identity.trace_id, 0))
                if is_ours or (identity.trace_id in self._over and not is_root):
                    return  # a hooked run, or a child that begins when its run has been handed on
                trace = self._open(identity.trace_id)
                trace.outer = None if is_root else get_current_span(parent_context)
            if len(trace.spans) + len(trace.open) >= MOST_SPANS:
                warn_once("long trace", "tracer-hooks leaves out spans: a trace has more than %d of them", MOST_SPANS)
                return
            trace.open.add(identity.span_id)
            trace.touched = time.monotonic()

    def _open(self, trace_id: int) -> CollectedTrace:
        now = time.monotonic()
        while self._traces:
            oldest = next(iter(self._traces.values()))
            if len(self._traces) >= MOST_TRACES:
                warn_once("many traces", "tracer-hooks gives up the oldest of %d runs that have not ended", MOST_TRACES)
            elif now - oldest.touched < _IDLE_S:
                break
            self._end_trace(oldest)
        trace = CollectedTrace(trace_id, self._over.get(trace_id, 0) + 1, self.tags())
        self._traces[trace_id] = trace
        return trace

    def _end(self, span: ReadableSpan) -> None:
        identity = span.get_span_context()
        if identity is None:
            return
        with self._lock:
            trace = self._traces.get(identity.trace_id)
            if trace is None or identity.span_id not in trace.open:
                return
            trace.open.discard(identity.span_id)
            trace.spans.append(span)
            trace.has_root = trace.has_root or _is_root(span)
            trace.touched = time.monotonic()
            if trace.has_root or not trace.open:
                _settling().add(self, trace)

    def _end_trace(self, trace: CollectedTrace) -> None:
        """Let a trace that has not ended be handed on as it is, and not in the thread of a run."""
        trace.is_abandoned = not trace.has_root
        self._remove(trace)
        _settling().put(_Due(self, trace, 0.0, None))

    def _remove(self, trace: CollectedTrace) -> None:
        del self._traces[trace.trace_id]
        self._note_over(trace.trace_id, trace.number)

    def _note_over(self, trace_id: int, number: int) -> None:
        self._over[trace_id] = number
        if len(self._over) > MOST_TRACES:
            self._over.popitem(last=False)


def _is_root(span: ReadableSpan) -> bool:
    """Tell whether nothing in this process is around the span."""
    return span.parent is None or span.parent.is_remote
