"""OTLP protobuf files cut into their messages."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_LengthAt = Callable[[bytes, int], tuple[int, int]]


class _BrokenOff(ValueError):
    """The bytes end inside a message."""


def decode_requests(data: bytes) -> list[ExportTraceServiceRequest]:
    """The requests in ``data``: one message, or several with lengths before them; else empty."""
    for frames in (iter([data]), _delimited(data, _big_endian_length), _delimited(data, _varint_length)):
        try:
            requests = [ExportTraceServiceRequest.FromString(frame) for frame in frames]
        except (DecodeError, _BrokenOff):
            continue
        if any(request.resource_spans for request in requests):
            return requests
    return []


def _delimited(data: bytes, length_at: _LengthAt) -> Iterator[bytes]:
    position = 0
    while position < len(data):
        length, start = length_at(data, position)
        if start + length > len(data):
            raise _BrokenOff(f"byte {position}: the message breaks off")
        yield data[start : start + length]
        position = start + length


def _big_endian_length(data: bytes, position: int) -> tuple[int, int]:
    """The Collector's file exporter puts an unsigned 32-bit length before each message."""
    if position + 4 > len(data):
        raise _BrokenOff(f"byte {position}: the length breaks off")
    return int(struct.unpack_from(">I", data, position)[0]), position + 4


def _varint_length(data: bytes, position: int) -> tuple[int, int]:
    """Java's and Go's ``writeDelimitedTo``."""
    length, shift = 0, 0
    for offset in range(position, min(position + 5, len(data))):
        length |= (data[offset] & 0x7F) << shift
        if data[offset] < 0x80:
            return length, offset + 1
        shift += 7
    raise _BrokenOff(f"byte {position}: the length breaks off")
