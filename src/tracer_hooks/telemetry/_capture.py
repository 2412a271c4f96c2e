"""What of an operation's attributes is exported, within size limits, always as valid JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracer_hooks import semconv
from tracer_hooks.config import CaptureConfig
from tracer_hooks.schema import to_text
from tracer_hooks.telemetry._content_gate import ContentGate
from tracer_hooks.telemetry._cutting import cut_json, cut_text, dump_json
from tracer_hooks.telemetry._log_gate import hold_logs
from tracer_hooks.telemetry._openinference import openinference_values
from tracer_hooks.telemetry._redact import Redactor

Exported = dict[str, str | bool | int | float | list[str]]


class Capture:
    """Applies one :class:`CaptureConfig` to attributes on their way to a span or to the local record."""

    def __init__(self, config: CaptureConfig) -> None:
        self.config = config
        redactor = Redactor(config.patterns)
        self.leaving = ContentGate(config.export, redactor)
        """The gate of what leaves the process on spans."""
        self.kept = ContentGate(config.record, redactor)
        """The gate of what is kept: the local record, and all that is written of it or sent from it."""
        hold_logs(self.kept)

    def exported(self, attributes: Mapping[str, Any], encoded: dict[int, tuple[Any, str]] | None = None) -> Exported:
        """``attributes`` as OpenTelemetry takes them: content by the capture mode, structures as capped JSON.

        Args:
            attributes: What to export.
            encoded: Messages that were encoded before, by id; new ones are added. Only full capture makes use of it.
        """
        result: Exported = {}
        if self.config.openinference:
            attributes = {**attributes, **openinference_values(attributes)}
        is_open = self.leaving.is_open
        for key, value in attributes.items():
            kind = type(value)
            if value is None:
                continue
            if key in semconv.CONTENT_KEYS:
                self._export_content(result, key, value, encoded)
            elif kind is str:
                name = value if is_open else self.leaving.name(value)
                result[key] = name if name.isascii() else _scalar(name)
            else:
                result[key] = value if kind is int else self._listed(value)
        return result

    def recorded(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """``attributes`` for the local record: content by the record mode, nothing encoded or cut."""
        if self.kept.is_open:
            return {key: value for key, value in attributes.items() if value is not None}
        content = {key: value for key, value in attributes.items() if key in semconv.CONTENT_KEYS and value is not None}
        result = self.kept.names({key: value for key, value in attributes.items() if key not in content})
        if not self.kept.is_shut:
            result.update({key: self.kept.value(value) for key, value in content.items()})
        return result

    def message(self, text: str) -> str:
        """An exception's message as it may be exported, cut to size; empty where no content is."""
        return self.cut(self.leaving.text(text))

    def cut(self, text: str) -> str:
        """``text`` cut to the size that one exported attribute may have."""
        return cut_text(text, self.config.max_attribute_bytes)

    def _listed(self, value: object) -> str | bool | int | float | list[str]:
        scalar = _scalar(value)
        if isinstance(scalar, list):
            return [self.leaving.name(item) for item in scalar]
        return self.leaving.name(scalar) if isinstance(scalar, str) else scalar

    def _export_content(
        self, result: Exported, key: str, value: object, encoded: dict[int, tuple[Any, str]] | None
    ) -> None:
        if self.leaving.is_shut:
            return
        if not self.leaving.is_open:
            value, encoded = self.leaving.value(value), None
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


def _dump_messages(messages: list[Any], encoded: dict[int, tuple[Any, str]]) -> str:
    texts = []
    for message in messages:
        known = encoded.get(id(message))
        if known is None:  # kept with the message itself, so that its id stays its own
            known = encoded[id(message)] = (message, dump_json(message))
        texts.append(known[1])
    return f"[{','.join(texts)}]"
