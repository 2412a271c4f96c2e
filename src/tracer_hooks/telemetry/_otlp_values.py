"""OTLP's ``AnyValue`` and identifiers, to and from plain Python data."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tracer_hooks._limits import brief
from tracer_hooks.schema import to_json_value, to_text

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
    """The Python value of an ``AnyValue``; plain JSON (the console exporter's) passes through.

    Raises:
        ValueError: The node has a known kind, and a value that does not fit it.
    """
    if not isinstance(node, Mapping):
        return list(node) if isinstance(node, tuple) else node
    if not node:
        return None
    if len(node) != 1:
        return dict(node)
    (kind, value), *_ = node.items()
    decode = _DECODERS.get(kind)
    return dict(node) if decode is None else decode(value)


def decode_attributes(node: object) -> dict[str, Any]:
    """The attributes of a span, event, link or resource: a list of ``KeyValue``, or a plain mapping.

    Raises:
        ValueError: ``node`` is neither, or a value is damaged.
    """
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


def _decode_double(value: Any) -> float:
    return _NOT_FINITE[value] if isinstance(value, str) and value in _NOT_FINITE else float(value)


def _decode_bytes(value: Any) -> bytes:
    return base64.b64decode(str(value) + "==")


def _decode_array(value: Any) -> list[Any]:
    values = value.get("values") if isinstance(value, Mapping) else value
    return [decode_value(item) for item in values or []]


def _decode_mapping(value: Any) -> dict[str, Any]:
    return decode_attributes(value.get("values", []) if isinstance(value, Mapping) else value)


_DECODERS: dict[str, Any] = {
    "stringValue": str,
    "string_value": str,
    "boolValue": bool,
    "bool_value": bool,
    "intValue": int,
    "int_value": int,
    "doubleValue": _decode_double,
    "double_value": _decode_double,
    "bytesValue": _decode_bytes,
    "bytes_value": _decode_bytes,
    "arrayValue": _decode_array,
    "array_value": _decode_array,
    "kvlistValue": _decode_mapping,
    "kvlist_value": _decode_mapping,
}


_HEX = frozenset("0123456789abcdef")


def decode_id(value: object, size: int) -> str | None:
    """A trace id (``size`` 16) or span id (8) as lower-case hex; None when there is none.

    Accepts hex with or without ``0x`` and dashes, base64 (the protobuf mapping to JSON) and an integer.

    Raises:
        ValueError: It is none of these.
    """
    if value is None or value == "":
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 256**size:
        text = f"{value:0{2 * size}x}"
    else:
        text = _hex_of(str(value), size)
    return text if text.strip("0") else None


def _hex_of(value: str, size: int) -> str:
    text = value.lower().removeprefix("0x").replace("-", "") if len(value) != _base64_length(size) else value
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


def _base64_length(size: int) -> int:
    return 4 * -(-size // 3)


def decode_time(value: object) -> int:
    """Nanoseconds since the epoch, from an int, a string of digits, or ISO 8601; 0 when there is none.

    Raises:
        ValueError: It is none of these.
    """
    if value is None or value == "":
        return 0
    text = str(value)
    if isinstance(value, (int, float)) or (text.isascii() and text.isdigit()):
        nanoseconds = _whole(value) if isinstance(value, (int, float)) else int(text)
        if nanoseconds not in _UINT64:
            raise ValueError(f"{text[:40]!r} is not a time in nanoseconds since the epoch")
        return nanoseconds
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    passed = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (passed.days * 86_400 + passed.seconds) * 1_000_000_000 + passed.microseconds * 1000


def _whole(value: float) -> int:
    """``value`` as a whole number; -1, which is no time, for infinities and what is no number."""
    return int(value) if isinstance(value, int) or math.isfinite(value) else -1
