"""Reading of OTLP files of any exporter, JSON or protobuf, into spans; damaged parts are set apart."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tracer_hooks._reading import READ_ERRORS, json_pieces, open_bytes, parse_json, read_bytes, unreadable
from tracer_hooks.errors import TrajectoryError
from tracer_hooks.telemetry._otlp_write import SPAN_KINDS, STATUS_CODES, decode_attributes, decode_id, decode_time
from tracer_hooks.telemetry._records import SpanEvent, SpanLink, SpanRecord, SpanStatus, first_present

_LengthAt = Callable[[bytes, int], tuple[int, int]]


def decode_requests(data: bytes) -> list[ExportTraceServiceRequest]:
    """The requests in ``data``: one message, or several with lengths before them; else empty."""
    for frames in (iter([data]), _delimited(data, _big_endian_length), _delimited(data, _varint_length)):
        try:
            requests = [ExportTraceServiceRequest.FromString(frame) for frame in frames]
        except DecodeError:
            continue
        if any(request.resource_spans for request in requests):
            return requests
    return []


def _delimited(data: bytes, length_at: _LengthAt) -> Iterator[bytes]:
    position = 0
    while position < len(data):
        length, start = length_at(data, position)
        if start + length > len(data):
            raise DecodeError(f"byte {position}: the message breaks off")
        yield data[start : start + length]
        position = start + length


def _big_endian_length(data: bytes, position: int) -> tuple[int, int]:
    """The Collector's file exporter puts an unsigned 32-bit length before each message."""
    if position + 4 > len(data):
        raise DecodeError(f"byte {position}: the length breaks off")
    return int(struct.unpack_from(">I", data, position)[0]), position + 4


def _varint_length(data: bytes, position: int) -> tuple[int, int]:
    """Java's and Go's ``writeDelimitedTo``."""
    length, shift = 0, 0
    for offset in range(position, min(position + 5, len(data))):
        length |= (data[offset] & 0x7F) << shift
        if data[offset] < 0x80:
            return length, offset + 1
        shift += 7
    raise DecodeError(f"byte {position}: the length breaks off")


_RESOURCE_SPANS = ("resourceSpans", "resource_spans", "batches")  # Grafana Tempo says batches
_SCOPE_SPANS = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans")
_OTHER_SIGNALS = ("resourceMetrics", "resourceLogs", "resource_metrics", "resource_logs")
_EXPECTED = "expected OTLP (JSON, JSON lines or protobuf) or the SDK's console span JSON"


_Around = Mapping[str, Any]
"""What the resource and the scope around spans say of each of them, by the fields of a :class:`SpanRecord`."""


class _DamagedError(ValueError):
    """A part of a file that is not OTLP; the text starts with the place."""


@dataclass(slots=True)
class OtlpContent:
    """Content of a file: the spans that could be read, and an error for each part that could not."""

    spans: list[SpanRecord] = field(default_factory=list)
    errors: list[TrajectoryError] = field(default_factory=list)


def read_otlp(path: str | Path) -> list[SpanRecord]:
    """The spans of ``path``, whatever exporter wrote it.

    Reads OTLP/JSON (one request, an array of requests, or one request a line, as the Collector writes
    them), OTLP protobuf (plain, or length-delimited), and the JSON of the SDK's ``ConsoleSpanExporter``; gzip
    and xz are unpacked. Identifiers may be hex or base64, names camelCase or snake_case.

    Raises:
        TrajectoryError: The file cannot be read, holds no span, or is damaged; the message names the place.
    """
    content = scan_otlp(path)
    if content.errors:
        raise content.errors[0]
    return content.spans


def scan_otlp(path: str | Path) -> OtlpContent:
    """Like :func:`read_otlp`, and keeps what can be read of a damaged file.

    Raises:
        TrajectoryError: The file cannot be opened.
    """
    path = Path(path)
    parts = _scan_json(path) if _looks_like_json(path) else _scan_protobuf(path)
    content = _sorted_out(parts, f"{str(path)!r}, ")
    if not content.spans and not content.errors:
        what = "is empty" if not read_bytes(path).strip() else "holds no span"
        content.errors.append(TrajectoryError(f"{str(path)!r} {what}; {_EXPECTED}"))
    return content


def decode_request(body: bytes, *, is_json: bool) -> OtlpContent:
    """The spans of one OTLP/HTTP request, with errors in the place of those that are damaged; an empty one has none.

    Raises:
        TrajectoryError: It is no request for traces.
    """
    from google.protobuf import json_format

    try:
        value = parse_json(body) if is_json else json_format.MessageToDict(ExportTraceServiceRequest.FromString(body))
    except (DecodeError, ValueError) as error:
        what = "JSON" if is_json else "an OTLP protobuf message"
        raise TrajectoryError(f"the request is not {what}: {error}") from error
    is_request = isinstance(value, Mapping) and first_present(value, *_RESOURCE_SPANS) is not None
    if not is_request and value != {}:
        raise TrajectoryError("the request holds no resourceSpans, expected an OTLP request for traces")
    if not is_json and body and not is_request:
        raise TrajectoryError("the request is no OTLP protobuf message for traces, expected resource_spans in it")
    return _sorted_out(_scan_request(value, "request"))


def decode_spans(nodes: Iterable[object], place: str) -> OtlpContent:
    """Decode spans of OTLP/JSON that stand alone, as backends give them: without resource and scope around them.

    Args:
        nodes: The spans.
        place: Where they come from; errors begin with it.
    """
    parts = (_scan_span(node, f"{place}, span {number}", {}) for number, node in enumerate(nodes))
    return _sorted_out(chain.from_iterable(parts))


def _sorted_out(parts: Iterable[SpanRecord | str], place: str = "") -> OtlpContent:
    content = OtlpContent()
    for part in parts:
        if isinstance(part, SpanRecord):
            content.spans.append(part)
        else:
            content.errors.append(TrajectoryError(place + part))
    return content


def is_otlp(value: object) -> bool:
    """Tell whether a JSON value is a request, a part of one, or a span."""
    if not isinstance(value, Mapping):
        return False
    return any(key in value for key in (*_RESOURCE_SPANS, *_SCOPE_SPANS, *_OTHER_SIGNALS)) or _is_span(value)


def _is_span(value: Mapping[str, Any]) -> bool:
    holder = _id_holder(value)
    return any(key in holder for key in ("traceId", "trace_id")) and any(key in holder for key in ("spanId", "span_id"))


def _id_holder(value: Mapping[str, Any]) -> Mapping[str, Any]:
    context = value.get("context")
    return context if isinstance(context, Mapping) else value


def _looks_like_json(path: Path) -> bool:
    try:
        with open_bytes(path) as file:
            head = file.read(4096)
    except READ_ERRORS as error:
        raise unreadable(path, error) from error
    head = head.removeprefix(b"\xef\xbb\xbf")
    # protobuf's first byte, the tag of field 1, is a line feed, and a length of 91 or 123 is a bracket: JSON
    # text has no control characters, a protobuf message has them within its first few bytes
    return head.lstrip()[:1] in (b"{", b"[", b"") and not set(head[:64]) & {*range(9), *range(14, 32)}


def _scan_json(path: Path) -> Iterator[SpanRecord | str]:
    for piece in json_pieces(path):
        if piece.error is not None:
            yield f"line {piece.line}: {piece.error}"
        else:
            yield from _scan_value(piece.value, f"line {piece.line}")


def _scan_value(value: object, place: str) -> Iterator[SpanRecord | str]:
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _scan_value(item, f"{place}, item {number}")
    elif not isinstance(value, Mapping):
        yield f"{place}: found {type(value).__name__}, {_EXPECTED}"
    elif not is_otlp(value):
        yield f"{place}: found an object with the keys {list(value)[:6]}, {_EXPECTED}"
    else:
        yield from _scan_request(value, place)


def _scan_request(value: Mapping[str, Any], place: str) -> Iterator[SpanRecord | str]:
    if _is_span(value):
        yield from _scan_span(value, place, {})
        return
    try:
        groups = [value] if first_present(value, *_SCOPE_SPANS) is not None else _items(value, _RESOURCE_SPANS, place)
    except _DamagedError as error:
        yield str(error)
        return
    for number, group in enumerate(groups):
        inside = f"{place}: resourceSpans[{number}]"
        try:
            resource = _attributes(_mapping(group, inside).get("resource"), f"{inside}.resource")
            scopes = _items(group, _SCOPE_SPANS, inside)
        except _DamagedError as error:
            yield str(error)
            continue
        for position, scope in enumerate(scopes):
            yield from _scan_scope(scope, f"{inside}.scopeSpans[{position}]", resource)


def _scan_scope(scope: object, place: str, resource: Mapping[str, Any]) -> Iterator[SpanRecord | str]:
    try:
        spans = _items(_mapping(scope, place), ("spans",), place)
        origin = (
            first_present(_mapping(scope, place), "scope", "instrumentationLibrary", "instrumentation_library") or {}
        )
        around = {
            "resource": resource,
            "scope": str(_mapping(origin, f"{place}.scope").get("name") or ""),
            "schema_url": str(first_present(_mapping(scope, place), "schemaUrl", "schema_url") or ""),
        }
    except _DamagedError as error:
        yield str(error)
        return
    for number, span in enumerate(spans):
        yield from _scan_span(span, f"{place}.spans[{number}]", around)


def _scan_span(span: object, place: str, around: _Around) -> Iterator[SpanRecord | str]:
    try:
        yield _decode_span(_mapping(span, place), place, around)
    except _DamagedError as error:
        yield str(error)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        yield f"{place}: {error}"


def _decode_span(node: Mapping[str, Any], place: str, around: _Around) -> SpanRecord:
    trace_id, span_id = _identify(node, place)
    status = _mapping(node.get("status") or {}, f"{place}.status")
    if "resource" in node:
        around = {**around, "resource": _attributes(node["resource"], f"{place}.resource")}
    return SpanRecord(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=decode_id(first_present(node, "parentSpanId", "parent_span_id", "parent_id"), 8),
        name=str(node.get("name") or ""),
        kind=_decode_enum(node.get("kind"), ("internal", *SPAN_KINDS[1:]), "internal"),
        start_ns=decode_time(first_present(node, "startTimeUnixNano", "start_time_unix_nano", "start_time")),
        end_ns=decode_time(first_present(node, "endTimeUnixNano", "end_time_unix_nano", "end_time")),
        attributes=decode_attributes(node.get("attributes")),
        status=SpanStatus(_decode_enum(first_present(status, "code", "status_code"), STATUS_CODES, SpanStatus.UNSET)),
        status_message=str(first_present(status, "message", "description") or ""),
        events=tuple(_decode_event(_mapping(event, place)) for event in _items(node, ("events",), place)),
        links=tuple(_decode_link(_mapping(link, place), place) for link in _items(node, ("links",), place)),
        **around,
    )


def _identify(node: Mapping[str, Any], place: str) -> tuple[str, str]:
    holder = _id_holder(node)
    trace_id = decode_id(first_present(holder, "traceId", "trace_id"), 16)
    span_id = decode_id(first_present(holder, "spanId", "span_id"), 8)
    if trace_id is None or span_id is None:
        missing = "spanId" if trace_id else "traceId"
        raise _DamagedError(f"{place}: the span {str(node.get('name'))!r} has no {missing}")
    return trace_id, span_id


def _decode_event(node: Mapping[str, Any]) -> SpanEvent:
    return SpanEvent(
        name=str(node.get("name") or ""),
        time_ns=decode_time(first_present(node, "timeUnixNano", "time_unix_nano", "timestamp")),
        attributes=decode_attributes(node.get("attributes")),
    )


def _decode_link(node: Mapping[str, Any], place: str) -> SpanLink:
    trace_id, span_id = _identify(node, f"{place}.links")
    return SpanLink(trace_id=trace_id, span_id=span_id, attributes=decode_attributes(node.get("attributes")))


def _decode_enum(value: object, names: Sequence[str], default: str) -> str:
    """The name for a value of one of OTLP's enumerations: its number, or its name with or without a prefix."""
    if isinstance(value, int) or (isinstance(value, str) and value.isascii() and value.isdigit()):
        return names[int(value)] if 0 <= int(value) < len(names) else default
    name = re.split(r"[._]", str(value or ""))[-1].lower()
    return name if name in names else default


def _mapping(node: object, place: str) -> Mapping[str, Any]:
    if not isinstance(node, Mapping):
        raise _DamagedError(f"{place}: expected an object, got {type(node).__name__}")
    return node


def _items(node: Mapping[str, Any], keys: tuple[str, ...], place: str) -> list[Any]:
    found = first_present(node, *keys)
    if found is not None and not isinstance(found, list):
        raise _DamagedError(f"{place}: {keys[0]!r} must be a list, got {type(found).__name__}")
    return found or []


def _attributes(node: object, place: str) -> dict[str, Any]:
    try:
        return decode_attributes(_mapping(node or {}, place).get("attributes"))
    except (ValueError, TypeError, RecursionError) as error:
        raise error if isinstance(error, _DamagedError) else _DamagedError(f"{place}: {error}") from error


def _scan_protobuf(path: Path) -> Iterator[SpanRecord | str]:
    from google.protobuf import json_format

    data = read_bytes(path)
    requests = decode_requests(data)
    for number, request in enumerate(requests):
        place = "protobuf" if len(requests) == 1 else f"message {number}"
        yield from _scan_request(json_format.MessageToDict(request), place)
    if not requests:
        yield f"byte 0: neither JSON nor whole OTLP protobuf messages ({len(data)} bytes); {_EXPECTED}"
