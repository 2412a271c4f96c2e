"""What of an operation's attributes is exported, within size limits, always as valid JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.schema import to_json_value, to_text
from tracer_hooks.telemetry._openinference import openinference_values
from tracer_hooks.telemetry._redact import Redactor

Exported = dict[str, str | bool | int | float | list[str]]

_NOTE = "[{} left out]"


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
"""One encoder for all: ``json.dumps`` makes a new one at each call."""


class Capture:
    """Applies one :class:`CaptureConfig` to attributes on their way to a span or to the local record."""

    def __init__(self, config: CaptureConfig) -> None:
        self.config = config
        self._redactor = Redactor(config.patterns)

    def exported(self, attributes: Mapping[str, Any], encoded: dict[int, tuple[Any, str]] | None = None) -> Exported:
        """``attributes`` as OpenTelemetry takes them: content by the capture mode, structures as capped JSON.

        Args:
            attributes: What to export.
            encoded: Messages that were encoded before, by id; new ones are added. Only full capture makes use of it.
        """
        result: Exported = {}
        if self.config.openinference:
            attributes = {**attributes, **openinference_values(attributes)}
        for key, value in attributes.items():
            if value is None:
                continue
            if key in semconv.CONTENT_KEYS:
                self._export_content(result, key, value, encoded)
            else:
                result[key] = value if type(value) is str and value.isascii() else _scalar(value)
        return result

    def recorded(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """``attributes`` for the local record: content by the record mode, nothing encoded or cut."""
        if self.config.record is ContentCapture.FULL:
            return {key: value for key, value in attributes.items() if value is not None}
        result: dict[str, Any] = {}
        for key, value in attributes.items():
            if value is None or (key in semconv.CONTENT_KEYS and self.config.record is ContentCapture.OFF):
                continue
            result[key] = self._redactor.value(value) if key in semconv.CONTENT_KEYS else value
        return result

    def message(self, text: str) -> str:
        """An exception's message as it may be exported: redacted unless capture is full, and cut to size."""
        if self.config.export is not ContentCapture.FULL:
            text = self._redactor.text(text)
        return cut_text(text, self.config.max_attribute_bytes)

    def recorded_message(self, text: str) -> str:
        """An exception's message as it may be kept in the local record."""
        return text if self.config.record is ContentCapture.FULL else self._redactor.text(text)

    def _export_content(
        self, result: Exported, key: str, value: object, encoded: dict[int, tuple[Any, str]] | None
    ) -> None:
        if self.config.export is ContentCapture.OFF:
            return
        if self.config.export is ContentCapture.REDACTED:
            value, encoded = self._redactor.value(value), None
        limit = self.config.max_attribute_bytes
        if isinstance(value, str):
            text = to_text(value)
        elif encoded is not None and key == semconv.INPUT_MESSAGES and isinstance(value, list):
            text = _dump_messages(value, encoded)
        else:
            text = dump_json(value)
        size = len(text) if text.isascii() else len(text.encode())
        if size > limit:
            text = cut_text(text, limit) if isinstance(value, str) else cut_json(value, limit)
            result[key + semconv.TRUNCATED_SUFFIX] = True
            result[key + semconv.ORIGINAL_SIZE_SUFFIX] = size
        result[key] = text


def _scalar(value: object) -> str | bool | int | float | list[str]:
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [to_text(item) for item in value]
    return to_text(value)


def dump_json(value: object) -> str:
    """``value`` as compact JSON; what is not JSON is converted first."""
    try:
        return to_text(_encode(value))
    except (TypeError, ValueError, RecursionError):
        return json.dumps(to_json_value(value), ensure_ascii=False, separators=(",", ":"))


def _dump_messages(messages: list[Any], encoded: dict[int, tuple[Any, str]]) -> str:
    texts = []
    for message in messages:
        known = encoded.get(id(message))
        if known is None:  # kept with the message itself, so that its id stays its own
            known = encoded[id(message)] = (message, dump_json(message))
        texts.append(known[1])
    return f"[{','.join(texts)}]"


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
