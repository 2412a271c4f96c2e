"""Capture: the content that may leave the process or be kept, in sized attributes, in records and in log lines."""

from __future__ import annotations

import json
import logging
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tracer_hooks import semconv
from tracer_hooks._background import process_lock
from tracer_hooks._guard import look_first
from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.schema import (
    MAX_FINDING_QUOTE,
    Attribution,
    FindingValues,
    Record,
    Trajectory,
    to_json_value,
    to_text,
)
from tracer_hooks.telemetry._records import message_text, without_none
from tracer_hooks.telemetry._redact import Redactor

WITHHELD = "[withheld]"
"""Stands for a text that a record must have and the mode ``off`` keeps back."""
_MAX_CACHED_NAMES = 1024


class ContentPolicy:
    """Lets content through as one mode says.

    Args:
        mode: ``full`` lets everything through, ``redacted`` blanks secrets, ``off`` lets no content through.
        redactor: Blanks.
    """

    def __init__(self, mode: ContentCapture, redactor: Redactor) -> None:
        self.mode = mode
        self._redactor = redactor
        self._names: dict[str, str] = {}

    @classmethod
    def of_record(cls, config: CaptureConfig | None = None) -> ContentPolicy:
        """The policy for what is kept on this machine; by default as the environment says."""
        config = config if config is not None else CaptureConfig.from_env()
        return cls(config.record, Redactor(config.patterns))

    @property
    def allows_all(self) -> bool:
        """Tell whether everything passes as it is."""
        return self.mode is ContentCapture.FULL

    @property
    def blocks_all(self) -> bool:
        """Tell whether no content passes at all."""
        return self.mode is ContentCapture.OFF

    def blanked(self, text: str) -> str:
        """``text`` with secrets blanked, whatever the mode."""
        return self._redactor.text(text)

    def text(self, text: str) -> str:
        """Filter a text; empty where nothing may pass."""
        if self.allows_all:
            return text
        return "" if self.blocks_all else self._redactor.text(text)

    def optional(self, text: str | None) -> str | None:
        """Filter a text that may be absent; None where nothing may pass."""
        return None if text is None or self.blocks_all else self.text(text)

    def needed(self, text: str) -> str:
        """Filter a text that must stand there; a note in its place where nothing may pass."""
        return WITHHELD if self.blocks_all and text else self.text(text)

    def value(self, value: object) -> object:
        """Filter any data; None where nothing may pass."""
        if self.allows_all:
            return value
        return None if self.blocks_all else self._redactor.value(value)

    def name(self, name: str) -> str:
        """A name, a reason of our own or the like: no content, but a secret in it is blanked."""
        if self.allows_all:
            return name
        known = self._names.get(name)
        if known is None:  # the same few names stand on every span
            if len(self._names) >= _MAX_CACHED_NAMES:
                self._names.clear()
            known = self._names[name] = self._redactor.text(name)
        return known

    def names(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The same for every string among ``values``; those that are None are left out."""
        return {
            key: self.name(value) if isinstance(value, str) else value for key, value in without_none(values).items()
        }


def redacted_trajectory(trajectory: Trajectory, policy: ContentPolicy) -> Trajectory:
    """``trajectory`` as ``policy`` allows it: its mode decides how much of it there is."""
    if policy.allows_all:
        return trajectory
    return _redacted(
        trajectory,
        team=policy.name,
        task=policy.text,
        agents=_each(
            name=policy.name, instructions=policy.optional, tools=lambda tools: tuple(map(policy.name, tools))
        ),
        steps=_each(
            agent=policy.name,
            content=policy.text,
            inputs=_each(source=policy.name, text=policy.optional),
            tool_calls=_each(
                name=policy.name, arguments=policy.value, result=policy.optional, error=_if_any(policy.needed)
            ),
            recipient=_if_any(policy.name),
            error=_if_any(policy.needed),
        ),
        outcome_reason=policy.optional,
        stop_reason=policy.optional,
        final_output=policy.optional,
        reference=policy.optional,
    )


def redacted_attribution(attribution: Attribution, policy: ContentPolicy) -> Attribution:
    """``attribution`` as ``policy`` allows it; in the mode ``off`` without evidence, which quotes."""
    if policy.allows_all:
        return attribution
    fields = {
        "evidence": _each(quote=policy.text, why=policy.text),
        "spread": _each(quote=policy.text, why=policy.text),
        "provenance": _each(value=policy.text, note=policy.text, operands=lambda texts: tuple(map(policy.text, texts))),
        "findings": _each(
            agent=_if_any(policy.name),
            quote=lambda quote: policy.text(quote)[:MAX_FINDING_QUOTE],
            text=policy.text,
            values=_finding_values(policy),
        ),
    }
    return _redacted(
        attribution,
        agent=_if_any(policy.name),
        abstained_reason=_if_any(policy.name),
        candidates=_each(agent=policy.name),
        faults=_each(agent=policy.name),
        advice=policy.text,
        expected=policy.optional,
        got=policy.optional,
        explanation=lambda found: (
            None
            if found is None or policy.blocks_all
            else _redacted(found, text=policy.text, quotes=_each(text=policy.text))
        ),
        **(dict.fromkeys(fields, lambda _: ()) if policy.blocks_all else fields),
    )


def _finding_values(policy: ContentPolicy) -> Callable[[FindingValues | None], FindingValues | None]:
    def redacted(values: FindingValues | None) -> FindingValues | None:
        if values is None:
            return None
        return _redacted(values, claimed=policy.optional, right=policy.optional, subject=policy.optional)

    return redacted


_R = TypeVar("_R", bound=Record)


def _redacted(record: _R, **fields: Callable[[Any], Any]) -> _R:
    """``record`` with what each function makes of its field."""
    return record.model_copy(update={name: allowed(getattr(record, name)) for name, allowed in fields.items()})


def _each(**fields: Callable[[Any], Any]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """:func:`_redacted` for a field that holds several records."""
    return lambda records: tuple(_redacted(record, **fields) for record in records)


def _if_any(allowed: Callable[[str], str]) -> Callable[[str | None], str | None]:
    return lambda text: None if text is None else allowed(text)


class Content(str):
    """A text in a log line that people, models or their code wrote."""


class _LogFilter(logging.Filter):
    """Holds log lines to the strictest record mode of the teams in the process.

    A log line does not say which team it is about, and a process seldom has teams of two modes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._policies: weakref.WeakSet[ContentPolicy] = weakref.WeakSet()
        self._lock = process_lock()

    def hold(self, policy: ContentPolicy) -> None:
        """Take ``policy`` into account for as long as it is in use."""
        with self._lock:
            self._policies.add(policy)

    def clear(self) -> None:
        """Forget every policy."""
        with self._lock:
            self._policies.clear()

    def filter(self, record: logging.LogRecord) -> bool:
        """Put what policies allow in the place of the message; no line is left out."""
        with self._lock:
            policies = list(self._policies)
        if not policies or getattr(record, "tracer_hooks_gated", False):
            return True
        blocks_all = any(policy.blocks_all for policy in policies)
        message = _without_content(record) if blocks_all else record.getMessage()
        trace = "" if blocks_all or not record.exc_info else logging.Formatter().formatException(record.exc_info)
        for policy in policies:
            message, trace = policy.blanked(message), policy.blanked(trace)
        record.msg, record.args = message, None
        record.exc_info, record.exc_text = None, trace or None
        record.tracer_hooks_gated = True
        return True


def _without_content(record: logging.LogRecord) -> str:
    """The message with the class alone of every exception, and a note in the place of every content."""
    args = record.args
    if isinstance(args, tuple):
        record.args = tuple(_loggable(arg) for arg in args)
    return record.getMessage()


def _loggable(value: object) -> object:
    if isinstance(value, BaseException):
        return type(value).__name__
    return WITHHELD if isinstance(value, Content) else value


_LOG_FILTER = _LogFilter()


def hold_logs(policy: ContentPolicy) -> None:
    """Hold the log lines of this process to ``policy``, for as long as it is in use."""
    if policy.allows_all:
        return
    _LOG_FILTER.hold(policy)
    look_first(_LOG_FILTER)


def release_logs() -> None:
    """Let log lines through as they are, until the next policy that blocks something; for tests."""
    _LOG_FILTER.clear()


_CUT_NOTE = "[{} left out]"
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
    note = "… " + _CUT_NOTE.format(f"{len(data) - limit} bytes")
    kept = data[: max(0, limit - len(note.encode()))].decode("utf-8", "ignore")
    return kept + note


def cut_json(value: object, limit: int) -> str:
    """``value`` as JSON of at most ``limit`` bytes: long strings are shortened first, then middle items of lists go."""
    value = to_json_value(value)
    longest = limit
    while longest >= 64:
        text = dump_json(_shorten_strings(value, longest))
        if len(text.encode()) <= limit:
            return text
        longest //= 2
    value = _shorten_strings(value, 64)
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


def _shorten_strings(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return cut_text(value, longest)
    if isinstance(value, list):
        return [_shorten_strings(item, longest) for item in value]
    if isinstance(value, dict):
        return {key: _shorten_strings(item, longest) for key, item in value.items()}
    return value


def _drop_middle(items: list[Any]) -> list[Any]:
    """Halve a list: its first item (often the system message), a note, and its newest items stay."""
    kept = max(1, (len(items) - 1) // 2)
    left_out = len(items) - 1 - kept
    note = {"role": "system", "parts": [{"type": "text", "content": _CUT_NOTE.format(f"{left_out} items")}]}
    is_messages = isinstance(items[0], dict) and "role" in items[0]
    return [items[0], *([note] if is_messages and kept > 1 else []), *items[-kept:]]


def openinference_values(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """``input.value`` and ``output.value`` with their MIME types, and the keys of a model or tool call."""
    kind, get, more = attributes.get(semconv.OI_SPAN_KIND), attributes.get, {}
    if kind == semconv.OI_KIND_TOOL:
        given, answer = get(semconv.TOOL_CALL_ARGUMENTS), get(semconv.TOOL_CALL_RESULT)
        more = {semconv.OI_TOOL_NAME: get(semconv.TOOL_NAME)}
    elif kind == semconv.OI_KIND_CHAIN:
        given, answer = get(semconv.RUN_TASK), get(semconv.RUN_FINAL_OUTPUT)
    else:
        given, answer = _last_text(get(semconv.INPUT_MESSAGES)), _last_text(get(semconv.OUTPUT_MESSAGES))
    if kind == semconv.OI_KIND_AGENT:
        more = dict.fromkeys((semconv.OI_AGENT_NAME, semconv.OI_GRAPH_NODE_ID), get(semconv.AGENT_NAME))
    elif kind == semconv.OI_KIND_LLM:
        more = {
            semconv.OI_LLM_MODEL: get(semconv.REQUEST_MODEL),
            semconv.OI_LLM_TOKENS_PROMPT: get(semconv.USAGE_INPUT_TOKENS),
            semconv.OI_LLM_TOKENS_COMPLETION: get(semconv.USAGE_OUTPUT_TOKENS),
        }
    return {
        **_openinference_value(given, semconv.OI_INPUT_VALUE, semconv.OI_INPUT_MIME),
        **_openinference_value(answer, semconv.OI_OUTPUT_VALUE, semconv.OI_OUTPUT_MIME),
        **more,
    }


def _openinference_value(value: Any, key: str, mime: str) -> dict[str, Any]:
    kind = semconv.MIME_TEXT if isinstance(value, str) else semconv.MIME_JSON
    return {} if value is None else {key: value, mime: kind}


def _last_text(messages: Any) -> str | None:
    return to_text(message_text(messages[-1])) if isinstance(messages, list) and messages else None


Exported = dict[str, str | bool | int | float | list[str]]


class Capture:
    """Applies one :class:`CaptureConfig` to attributes on their way to a span or to the local record."""

    def __init__(self, config: CaptureConfig) -> None:
        self.config = config
        redactor = Redactor(config.patterns)
        self.export_policy = ContentPolicy(config.export, redactor)
        """Policy for what leaves the process on spans."""
        self.record_policy = ContentPolicy(config.record, redactor)
        """Policy for what is kept: the local record, and all that is written of it or sent from it."""
        hold_logs(self.record_policy)

    def exported(self, attributes: Mapping[str, Any], encoded: dict[int, tuple[Any, str]] | None = None) -> Exported:
        """``attributes`` as OpenTelemetry takes them: content by the capture mode, structures as capped JSON.

        Args:
            attributes: What to export.
            encoded: Messages that were encoded before, by id; new ones are added. Only full capture makes use of it.
        """
        result: Exported = {}
        if self.config.openinference:
            attributes = {**attributes, **openinference_values(attributes)}
        allows_all = self.export_policy.allows_all
        for key, value in attributes.items():
            kind = type(value)
            if value is None:
                continue
            if key in semconv.CONTENT_KEYS:
                self._export_content(result, key, value, encoded)
            elif kind is str:
                name = value if allows_all else self.export_policy.name(value)
                result[key] = name if name.isascii() else _exported_scalar(name)
            else:
                result[key] = value if kind is int else self._listed(value)
        return result

    def recorded(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """``attributes`` for the local record: content by the record mode, nothing encoded or cut."""
        if self.record_policy.allows_all:
            return without_none(attributes)
        content = {key: value for key, value in attributes.items() if key in semconv.CONTENT_KEYS and value is not None}
        result = self.record_policy.names({key: value for key, value in attributes.items() if key not in content})
        if not self.record_policy.blocks_all:
            result.update({key: self.record_policy.value(value) for key, value in content.items()})
        return result

    def cut(self, text: str) -> str:
        """``text`` cut to the size that one exported attribute may have."""
        return cut_text(text, self.config.max_attribute_bytes)

    def _listed(self, value: object) -> str | bool | int | float | list[str]:
        scalar = _exported_scalar(value)
        if isinstance(scalar, list):
            return [self.export_policy.name(item) for item in scalar]
        return self.export_policy.name(scalar) if isinstance(scalar, str) else scalar

    def _export_content(
        self, result: Exported, key: str, value: object, encoded: dict[int, tuple[Any, str]] | None
    ) -> None:
        if self.export_policy.blocks_all:
            return
        if not self.export_policy.allows_all:
            value, encoded = self.export_policy.value(value), None
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


def _exported_scalar(value: object) -> str | bool | int | float | list[str]:
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
