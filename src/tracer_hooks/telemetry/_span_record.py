"""One ended span, free of any SDK: what the recorder keeps, what OTLP files are read into, what is assembled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tracer_hooks import semconv


class SpanStatus(StrEnum):
    """OpenTelemetry's span status."""

    UNSET = "unset"
    OK = "ok"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEvent:
    """Something that happened during a span, for example an exception."""

    name: str
    time_ns: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanLink:
    """A reference to a span of this or another trace."""

    trace_id: str
    span_id: str
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRecord:
    """One ended span.

    Identifiers are lower-case hex (32 and 16 digits); times are nanoseconds since the epoch. Attribute values are plain
    Python data. What the conventions encode as a JSON string (messages, tool arguments) may stand here as the decoded
    list or dict, too: :mod:`tracer_hooks.telemetry` accepts both, so that a live run never pays for JSON twice.
    """

    trace_id: str
    span_id: str
    parent_id: str | None = None
    name: str = ""
    kind: str = "internal"
    """``internal``, ``client``, ``server``, ``producer`` or ``consumer``."""
    start_ns: int = 0
    end_ns: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)
    status: SpanStatus = SpanStatus.UNSET
    status_message: str = ""
    events: tuple[SpanEvent, ...] = ()
    links: tuple[SpanLink, ...] = ()
    resource: Mapping[str, Any] = field(default_factory=dict)
    """Attributes of the process that emitted it."""
    scope: str = ""
    """Name of the instrumentation that emitted it."""

    @property
    def operation(self) -> str | None:
        """What the span is of, in the words of the GenAI conventions; None for anything but a text."""
        value = self.attributes.get(semconv.OPERATION_NAME)
        return value if isinstance(value, str) else None
