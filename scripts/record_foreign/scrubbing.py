"""Recorded spans without what tells of the machine: paths, hosts, ports, users, its time and its versions."""

from __future__ import annotations

import getpass
import lzma
import platform
import re
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan

BEGAN_NS = 1_790_000_000_000_000_000
"""When every recording begins."""

_DROPPED = re.compile(r"python_?version|process\.|host\.|os\.|exception\.stacktrace|thread\.|server\.port|code\.file")
_PATH = re.compile(r"(?:/(?:home|root|tmp|work|usr|var|Users)/)[^\s\"'\\,)]*")
_ADDRESS = re.compile(r"(127\.0\.0\.1|localhost):\d+")


def write_scrubbed(spans: Sequence[ReadableSpan], path: Path) -> None:
    """Write ``spans`` as OTLP protobuf, packed."""
    request = encode_spans(spans)
    first = min(span.start_time or 0 for span in spans)
    for resource in request.resource_spans:
        _scrub(resource.resource.attributes)
        for scope in resource.scope_spans:
            _scrub(scope.scope.attributes)
            for span in scope.spans:
                _scrub(span.attributes)
                span.status.message = _cleaned(span.status.message)
                span.start_time_unix_nano += BEGAN_NS - first
                span.end_time_unix_nano += BEGAN_NS - first
                for event in span.events:
                    _scrub(event.attributes)
                    event.time_unix_nano += BEGAN_NS - first
    data = request.SerializeToString()
    for secret in _of_this_machine():
        if secret.encode() in data:
            raise SystemExit(f"{path.name}: {secret!r} is still in the recording; add it to scrubbing.py")
    path.write_bytes(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))


def _scrub(attributes: Any) -> None:
    for position in reversed(range(len(attributes))):
        if _DROPPED.match(attributes[position].key):
            del attributes[position]
    for attribute in attributes:
        _scrub_value(attribute.value)


def _scrub_value(value: Any) -> None:
    kind = value.WhichOneof("value")
    if kind == "string_value":
        value.string_value = _cleaned(value.string_value)
    elif kind == "array_value":
        for item in value.array_value.values:
            _scrub_value(item)
    elif kind == "kvlist_value":
        _scrub(value.kvlist_value.values)


def _cleaned(text: str) -> str:
    return _ADDRESS.sub(r"\1:8000", _PATH.sub("/project", text))


def _of_this_machine() -> Iterator[str]:
    host = socket.gethostname()
    yield from (
        one for one in (host, str(Path.home()) + "/", platform.python_version(), platform.release()) if len(one) > 4
    )
    if len(getpass.getuser()) > 4:
        yield getpass.getuser()
