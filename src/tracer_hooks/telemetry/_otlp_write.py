"""Spans into files that every OpenTelemetry tool reads."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tracer_hooks.errors import TrajectoryError
from tracer_hooks.schema import to_json_value, to_text
from tracer_hooks.telemetry._otlp_values import encode_attributes
from tracer_hooks.telemetry._span_record import SpanEvent, SpanLink, SpanRecord, SpanStatus

SPAN_KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")
"""Position is the number in OTLP's ``Span.SpanKind``."""
STATUS_CODES = (SpanStatus.UNSET, SpanStatus.OK, SpanStatus.ERROR)
"""Position is the number in OTLP's ``Status.StatusCode``."""

_Identifier = Callable[[str], str]


def write_otlp_json(path: str | Path, records: Iterable[SpanRecord], *, lines: bool = False) -> None:
    """Write spans to ``path`` as OTLP/JSON, an ``ExportTraceServiceRequest``.

    Args:
        path: The file; it is replaced.
        records: The spans.
        lines: Write one request a line and one trace a request, like the Collector's file exporter.

    Raises:
        TrajectoryError: A span's identifier is not hex of the right length.
        OSError: The file cannot be written.
    """
    groups = _by_trace(records) if lines else [list(records)]
    indent = None if lines else 1
    texts = [json.dumps(export_request(group), ensure_ascii=False, indent=indent) for group in groups]
    Path(path).write_text("".join(text + "\n" for text in texts), encoding="utf-8")


def write_otlp_protobuf(path: str | Path, records: Iterable[SpanRecord]) -> None:
    """Write spans to ``path`` as the bytes of an ``ExportTraceServiceRequest`` (or ``TracesData``).

    Raises:
        TrajectoryError: A span's identifier is not hex of the right length.
        OSError: The file cannot be written.
    """
    from google.protobuf import json_format
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    # protobuf's own JSON mapping has identifiers in base64, OTLP/JSON has them in hex
    json_format.ParseDict(export_request(records, identifier=_to_base64), request)
    Path(path).write_bytes(request.SerializeToString())


def export_request(records: Iterable[SpanRecord], *, identifier: _Identifier = str) -> dict[str, Any]:
    """Spans as the plain data of an ``ExportTraceServiceRequest``, grouped by resource and scope."""
    resources: dict[str, dict[str, Any]] = {}
    for record in records:
        key = json.dumps(to_json_value(record.resource), sort_keys=True)
        group = resources.setdefault(
            key, {"resource": {"attributes": encode_attributes(record.resource)}, "scopeSpans": {}}
        )
        scope = group["scopeSpans"].setdefault(
            record.scope, {"scope": {"name": to_text(record.scope)} if record.scope else {}, "spans": []}
        )
        scope["spans"].append(_encode_span(record, identifier))
    return {
        "resourceSpans": [{**group, "scopeSpans": list(group["scopeSpans"].values())} for group in resources.values()]
    }


def _by_trace(records: Iterable[SpanRecord]) -> Iterator[list[SpanRecord]]:
    traces: dict[str, list[SpanRecord]] = {}
    for record in records:
        traces.setdefault(record.trace_id, []).append(record)
    yield from traces.values()


def _encode_span(record: SpanRecord, identifier: _Identifier) -> dict[str, Any]:
    span: dict[str, Any] = {
        "traceId": identifier(_checked(record, record.trace_id, 32)),
        "spanId": identifier(_checked(record, record.span_id, 16)),
        "name": to_text(record.name),
        "kind": SPAN_KINDS.index(record.kind) if record.kind in SPAN_KINDS else 0,
        "startTimeUnixNano": str(record.start_ns),
        "endTimeUnixNano": str(record.end_ns),
        "attributes": encode_attributes(record.attributes),
        "status": {"code": STATUS_CODES.index(record.status)},
    }
    if record.parent_id:
        span["parentSpanId"] = identifier(_checked(record, record.parent_id, 16))
    if record.status_message:
        span["status"]["message"] = to_text(record.status_message)
    if record.events:
        span["events"] = [_encode_event(event) for event in record.events]
    if record.links:
        span["links"] = [_encode_link(record, link, identifier) for link in record.links]
    return span


def _encode_event(event: SpanEvent) -> dict[str, Any]:
    return {
        "timeUnixNano": str(event.time_ns),
        "name": to_text(event.name),
        "attributes": encode_attributes(event.attributes),
    }


def _encode_link(record: SpanRecord, link: SpanLink, identifier: _Identifier) -> dict[str, Any]:
    return {
        "traceId": identifier(_checked(record, link.trace_id, 32)),
        "spanId": identifier(_checked(record, link.span_id, 16)),
        "attributes": encode_attributes(link.attributes),
    }


def _checked(record: SpanRecord, value: str, digits: int) -> str:
    if len(value) != digits or set(value) - set("0123456789abcdef"):
        raise TrajectoryError(
            f"span {record.name!r} has the identifier {value!r}, expected {digits} lower-case hex digits"
        )
    return value


def _to_base64(value: str) -> str:
    return base64.b64encode(bytes.fromhex(value)).decode("ascii")
