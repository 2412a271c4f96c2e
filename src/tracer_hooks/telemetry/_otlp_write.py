"""Writing of spans as OTLP: values and identifiers, requests in JSON and protobuf, and an exporter to a file."""

from __future__ import annotations

import base64
import binascii
import json
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from tracer_hooks._background import TaskQueue
from tracer_hooks._guard import warn_once
from tracer_hooks._reading import brief
from tracer_hooks.config import exit_seconds
from tracer_hooks.errors import TrajectoryError
from tracer_hooks.schema import to_json_value, to_text
from tracer_hooks.telemetry._records import SpanEvent, SpanLink, SpanRecord, SpanStatus

_INT64 = range(-(2**63), 2**63)
_UINT64 = range(2**64)
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def encode_value(value: object) -> dict[str, Any]:
    """``value`` as an ``AnyValue`` of OTLP/JSON.

    Scalars, bytes and lists of one kind of scalar keep their type. Anything else, such as a list of messages,
    becomes a JSON string: the GenAI conventions and every backend expect that.
    """
    scalar = _encode_scalar(value)
    if scalar is not None:
        return scalar
    if isinstance(value, Sequence) and _is_homogeneous(value):
        return {"arrayValue": {"values": [_encode_scalar(item) for item in value]}}
    return {"stringValue": json.dumps(to_json_value(value), ensure_ascii=False)}


def encode_attributes(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """``attributes`` as a list of OTLP/JSON ``KeyValue``."""
    return [{"key": to_text(key), "value": encode_value(value)} for key, value in attributes.items()]


def _encode_scalar(value: object) -> dict[str, Any] | None:
    if value is None:
        return {}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(int(value))} if value in _INT64 else {"stringValue": str(int(value))}
    if isinstance(value, float):
        return {"doubleValue": _encode_double(float(value))}
    if isinstance(value, str):
        return {"stringValue": to_text(value)}
    if isinstance(value, (bytes, bytearray)):
        return {"bytesValue": base64.b64encode(bytes(value)).decode("ascii")}
    return None


def _encode_double(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return next(name for name, other in _NOT_FINITE.items() if repr(other) == repr(value))


def _is_homogeneous(values: Sequence[object]) -> bool:
    kinds = {type(value) for value in values}
    if len(kinds) > 1 or not kinds <= {bool, int, float, str}:
        return False
    return kinds != {int} or all(value in _INT64 for value in values)


def decode_value(node: object) -> Any:
    """The Python value of an ``AnyValue``; plain JSON (the console exporter's) passes through."""
    if not isinstance(node, Mapping):
        return list(node) if isinstance(node, tuple) else node
    if len(node) > 1 and node.keys() <= _DECODERS.keys():  # each kind is named, and all but one are null
        node = {kind: value for kind, value in node.items() if value is not None}
    if not node:
        return None
    if len(node) != 1:
        return dict(node)
    (kind, value), *_ = node.items()
    decode = _DECODERS.get(kind)
    return dict(node) if decode is None else decode(value)


def decode_attributes(node: object) -> dict[str, Any]:
    """The attributes of a span, event, link or resource: a list of ``KeyValue``, or a plain mapping."""
    if node is None:
        return {}
    if isinstance(node, Mapping):
        return {str(key): decode_value(value) for key, value in node.items()}
    if not isinstance(node, list):
        raise ValueError(f"attributes must be a list or an object, got {type(node).__name__}")
    found: dict[str, Any] = {}
    for item in node:
        if not isinstance(item, Mapping) or (item and not item.keys() & {"key", "value"}):
            raise ValueError(f"an attribute must be an object with 'key' and 'value', got {str(item)[:80]!r}")
        found[str(item.get("key", ""))] = decode_value(item.get("value", {}))
    return found


def _decode_array(value: Any) -> list[Any]:
    values = value.get("values") if isinstance(value, Mapping) else value
    return [decode_value(item) for item in values or []]


_DECODERS: dict[str, Any] = {
    kind + suffix: decode
    for suffix in ("Value", "_value")
    for kind, decode in {
        "string": str,
        "bool": bool,
        "int": int,
        "double": lambda value: _NOT_FINITE[value] if value in _NOT_FINITE else float(value),
        "bytes": lambda value: base64.b64decode(str(value) + "=="),
        "array": _decode_array,
        "kvlist": lambda value: decode_attributes(value.get("values", []) if isinstance(value, Mapping) else value),
    }.items()
}
"""By kind of value; protobuf's own JSON and Python write ``string_value`` for ``stringValue``."""
_HEX = frozenset("0123456789abcdef")


def decode_id(value: object, size: int) -> str | None:
    """A trace id (``size`` 16) or span id (8) as lower-case hex; None when there is none.

    Accepts hex with or without ``0x`` and dashes, base64 (the protobuf mapping to JSON) and an integer.
    """
    if value is None or value == "":
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 256**size:
        text = f"{value:0{2 * size}x}"
    else:
        text = _hex_of(str(value), size)
    return text if text.strip("0") else None


def _hex_of(value: str, size: int) -> str:
    text = value.lower().removeprefix("0x").replace("-", "") if len(value) != 4 * -(-size // 3) else value  # base64
    if len(text) == 2 * size and not set(text) - _HEX:
        return text
    short = value.lower().removeprefix("0x")  # the SDK before 1.20 left leading zeros out; base64 ends in "=" here
    if short != value.lower() and 0 < len(short) < 2 * size and not set(short) - _HEX:
        return short.zfill(2 * size)
    try:
        raw = base64.b64decode(value.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != size:
        raise ValueError(f"{brief(value, 80)!r} is not an identifier of {2 * size} hex digits")
    return raw.hex()


def decode_time(value: object) -> int:
    """Nanoseconds since the epoch, from an int, a string of digits, or ISO 8601; 0 when there is none."""
    if value is None or value == "":
        return 0
    text = str(value)
    if isinstance(value, (int, float)) or (text.isascii() and text.isdigit()):
        is_finite = not isinstance(value, float) or math.isfinite(value)
        nanoseconds = int(value if isinstance(value, (int, float)) else text) if is_finite else -1
        if nanoseconds not in _UINT64:
            raise ValueError(f"{text[:40]!r} is not a time in nanoseconds since the epoch")
        return nanoseconds
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    passed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (passed.days * 86_400 + passed.seconds) * 1_000_000_000 + passed.microseconds * 1000


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
    traces: dict[str, list[SpanRecord]] = {}
    for record in records:
        traces.setdefault(record.trace_id if lines else "", []).append(record)
    groups = list(traces.values()) if lines else [traces.get("", [])]
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
    in_base64 = export_request(records, identifier=lambda digits: base64.b64encode(bytes.fromhex(digits)).decode())
    json_format.ParseDict(in_base64, request)
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
            (record.scope, record.schema_url),
            {
                "scope": {"name": to_text(record.scope)} if record.scope else {},
                "spans": [],
                **({"schemaUrl": record.schema_url} if record.schema_url else {}),
            },
        )
        scope["spans"].append(_encode_span(record, identifier))
    return {
        "resourceSpans": [{**group, "scopeSpans": list(group["scopeSpans"].values())} for group in resources.values()]
    }


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
        span["events"] = [
            {
                "timeUnixNano": str(event.time_ns),
                "name": to_text(event.name),
                "attributes": encode_attributes(event.attributes),
            }
            for event in record.events
        ]
    if record.links:
        span["links"] = [
            {
                "traceId": identifier(_checked(record, link.trace_id, 32)),
                "spanId": identifier(_checked(record, link.span_id, 16)),
                "attributes": encode_attributes(link.attributes),
            }
            for link in record.links
        ]
    return span


def _checked(record: SpanRecord, value: str, digits: int) -> str:
    if len(value) != digits or set(value) - _HEX:
        raise TrajectoryError(
            f"span {record.name!r} has the identifier {value!r}, expected {digits} lower-case hex digits"
        )
    return value


_LOCK_TIMEOUT_S = 0.025


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
        written = _WriteResult()
        if not self._queue.submit(lambda: self._append(line, written)):
            return SpanExportResult.FAILURE
        if not self._is_late and not written.is_over.wait(_LOCK_TIMEOUT_S):
            self._is_late = True
        return SpanExportResult.FAILURE if written.has_failed else SpanExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Wait until every line is written; whether they are."""
        return self._queue.drain(time.monotonic() + timeout_millis / 1000)

    def shutdown(self) -> None:
        """Wait until every line is written, as long as the end of a process waits for work in the background."""
        self._queue.drain(time.monotonic() + exit_seconds())

    def _append(self, line: str, written: _WriteResult) -> None:
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


class _WriteResult:
    """Result of writing one line."""

    def __init__(self) -> None:
        self.is_over = threading.Event()
        self.has_failed = False


def to_record(span: ReadableSpan) -> SpanRecord:
    """A span of the OpenTelemetry SDK as a :class:`SpanRecord`."""
    context = span.get_span_context()
    assert context is not None, "a span that was started has a context"
    scope = span.instrumentation_scope
    return SpanRecord(
        trace_id=f"{context.trace_id:032x}",
        span_id=f"{context.span_id:016x}",
        parent_id=f"{span.parent.span_id:016x}" if span.parent is not None else None,
        name=span.name,
        kind=span.kind.name.lower(),
        start_ns=span.start_time or 0,
        end_ns=span.end_time or 0,
        attributes=_plain_attributes(span.attributes),
        status=SpanStatus(span.status.status_code.name.lower()),
        status_message=span.status.description or "",
        events=tuple(
            SpanEvent(name=event.name, time_ns=event.timestamp, attributes=_plain_attributes(event.attributes))
            for event in span.events
        ),
        links=tuple(
            SpanLink(
                trace_id=f"{link.context.trace_id:032x}",
                span_id=f"{link.context.span_id:016x}",
                attributes=_plain_attributes(link.attributes),
            )
            for link in span.links
        ),
        resource=_plain_attributes(span.resource.attributes),
        scope=scope.name if scope is not None else "",
        schema_url=(scope.schema_url or "") if scope is not None else "",
    )


def _plain_attributes(attributes: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in (attributes or {}).items()}
