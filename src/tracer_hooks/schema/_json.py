"""Any Python object as plain JSON, and any text as valid Unicode.

Teams put everything into messages and tool arguments: bytes, numpy arrays, sockets, objects that refer to themselves,
lone surrogates. A record of the run must hold them without failing and without growing without bound.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import enum
import math
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, JsonValue

MAX_DEPTH = 32


def to_text(value: object) -> str:
    """``value`` as a string that every JSON and protobuf encoder accepts.

    Bytes are decoded as UTF-8 (undecodable bytes become backslash escapes); lone surrogates become U+FFFD; an object
    that cannot be printed becomes a note. Never raises.
    """
    if type(value) is str:  # nearly always
        text = value
    elif isinstance(value, (bytes, bytearray, memoryview)):
        text = bytes(value).decode("utf-8", "backslashreplace")
    else:
        text = value if isinstance(value, str) else _printed(value)
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _printed(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # a user's exception or object may fail while it is printed
        return f"<{type(value).__name__}: not printable ({type(error).__name__})>"


def to_json_value(value: object) -> JsonValue:
    """``value`` as JSON-compatible plain data; never raises for odd input.

    Models, dataclasses, mappings, sequences and sets are opened; bytes become base64 in ``{"$bytes": ...}``; non-finite
    numbers become strings; anything else becomes its ``repr``. What lies deeper than 32 levels, or inside itself, is
    replaced by a note.
    """
    return _convert(value, 0, ())


def _convert(value: object, depth: int, ancestors: tuple[int, ...]) -> JsonValue:
    kind = type(value)
    # By the exact type first: nearly everything is plain, and the checks that follow cost ten times as much.
    if kind is str:
        return to_text(value)
    if value is None or kind is bool or kind is int:
        return cast(JsonValue, value)
    if isinstance(value, str):
        return to_text(value.value if isinstance(value, enum.Enum) else value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else repr(float(value))
    if id(value) in ancestors:
        return "<circular>"
    if depth >= MAX_DEPTH:
        return "<nested too deeply>"
    try:
        return _convert_container(value, depth + 1, (*ancestors, id(value)))
    except Exception as error:  # a user's object may fail in any way while it is looked at
        return f"<{type(value).__name__}: not serialisable ({type(error).__name__})>"


def _convert_container(value: object, depth: int, ancestors: tuple[int, ...]) -> JsonValue:
    if isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - the second, an ABC, is the slow one
        return {to_text(key): _convert(item, depth, ancestors) for key, item in value.items()}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$bytes": base64.b64encode(bytes(value)).decode("ascii")}
    if isinstance(value, (list, tuple)) or isinstance(value, Sequence):  # noqa: SIM101
        return [_convert(item, depth, ancestors) for item in value]
    if isinstance(value, Set):
        return sorted((_convert(item, depth, ancestors) for item in value), key=repr)
    if isinstance(value, enum.Enum):
        return _convert(value.value, depth, ancestors)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    return _convert_object(value, lambda item: _convert(item, depth, ancestors))


def _convert_object(value: object, inner: Callable[[object], JsonValue]) -> JsonValue:
    if isinstance(value, BaseModel):
        return {name: inner(getattr(value, name)) for name in type(value).model_fields}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: inner(getattr(value, field.name)) for field in dataclasses.fields(value)}
    item = getattr(value, "tolist", None)  # numpy arrays and scalars, torch tensors
    if callable(item) and type(value).__module__.partition(".")[0] in ("numpy", "torch"):
        return inner(cast(Any, item)())
    return to_text(repr(value))


Text = Annotated[str, BeforeValidator(to_text)]
"""A string field that accepts bytes and repairs lone surrogates."""

Json = Annotated[JsonValue, BeforeValidator(to_json_value)]
"""A field of plain JSON data that accepts, and converts, any Python object."""
