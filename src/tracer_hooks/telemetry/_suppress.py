"""Keep calls of our own out of the user's traces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import context as otel_context

SUPPRESSED = "tracer_hooks.suppress"
"""Context key under which we stay silent."""
# The keys that the instrumentations of OpenTelemetry contrib, OpenInference and OpenLLMetry look for.
OTHERS_SILENT = dict.fromkeys(("suppress_instrumentation", "suppress_language_model_instrumentation"), True)
"""What a context holds in which other instrumentations stay silent."""


@contextmanager
def suppressed() -> Iterator[None]:
    """Within the block neither we nor other instrumentations trace: for the attributor's and rewriter's own calls."""
    previous = otel_context.get_current()
    otel_context.attach(quiet(otel_context.set_value(SUPPRESSED, True, previous)))
    try:
        yield
    finally:
        otel_context.attach(previous)


@contextmanager
def unrecorded() -> Iterator[None]:
    """Within the block we record nothing; others go on. For code of the user's that is no part of a run."""
    previous = otel_context.get_current()
    otel_context.attach(otel_context.set_value(SUPPRESSED, True, previous))
    try:
        yield
    finally:
        otel_context.attach(previous)


def quiet(context: otel_context.Context) -> otel_context.Context:
    """``context`` in which other instrumentations stay silent."""
    return otel_context.Context({**context, **OTHERS_SILENT})


def is_suppressed(context: otel_context.Context | None = None) -> bool:
    """Whether tracing is suppressed in ``context``, by default the current one."""
    return bool(otel_context.get_value(SUPPRESSED, context))
