"""Text and data cut to a size, always as valid JSON."""

from __future__ import annotations

import json
from typing import Any

from tracer_hooks.schema import to_json_value, to_text

_NOTE = "[{} left out]"

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
"""One encoder for all: ``json.dumps`` makes a new one at each call."""


def dump_json(value: object) -> str:
    """``value`` as compact JSON; what is not JSON is converted first."""
    try:
        return to_text(_encode(value))
    except (TypeError, ValueError, RecursionError):
        return json.dumps(to_json_value(value), ensure_ascii=False, separators=(",", ":"))


def cut_text(text: str, limit: int) -> str:
    """``text`` in at most ``limit`` UTF-8 bytes, with a note of what is missing."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    note = "… " + _NOTE.format(f"{len(data) - limit} bytes")
    kept = data[: max(0, limit - len(note.encode()))].decode("utf-8", "ignore")
    return kept + note


def cut_json(value: object, limit: int) -> str:
    """``value`` as JSON of at most ``limit`` bytes: long strings are shortened first, then middle items of lists go."""
    value = to_json_value(value)
    longest = limit
    while longest >= 64:
        text = dump_json(_shorten(value, longest))
        if len(text.encode()) <= limit:
            return text
        longest //= 2
    value = _shorten(value, 64)
    while isinstance(value, list) and len(value) > 2:
        value = _drop_middle(value)
        text = dump_json(value)
        if len(text.encode()) <= limit:
            return text
    text, size = dump_json(value), limit
    while True:  # quotes and control characters are escaped once more, which makes the text longer
        size -= 64
        result = dump_json({"$truncated": cut_text(text, max(0, size))})
        if len(result.encode()) <= limit or size <= 0:
            return result


def _shorten(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return cut_text(value, longest)
    if isinstance(value, list):
        return [_shorten(item, longest) for item in value]
    if isinstance(value, dict):
        return {key: _shorten(item, longest) for key, item in value.items()}
    return value


def _drop_middle(items: list[Any]) -> list[Any]:
    """Halve a list: its first item (often the system message), a note, and its newest items stay."""
    kept = max(1, (len(items) - 1) // 2)
    left_out = len(items) - 1 - kept
    note = {"role": "system", "parts": [{"type": "text", "content": _NOTE.format(f"{left_out} items")}]}
    is_messages = isinstance(items[0], dict) and "role" in items[0]
    return [items[0], *([note] if is_messages and kept > 1 else []), *items[-kept:]]
