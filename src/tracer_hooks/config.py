"""Settings: an argument wins over an environment variable, which wins over the default.

===============================  =======================================================================
variable                         meaning
===============================  =======================================================================
``TRACER_HOOKS_CAPTURE``         content on exported spans: ``off`` (default), ``redacted`` or ``full``
``TRACER_HOOKS_RECORD``          content in the local record that diagnosis reads: same values, default ``full``
``TRACER_HOOKS_MAX_BYTES``       cap of one exported content attribute, in bytes (default 16384)
``TRACER_HOOKS_OPENINFERENCE``   ``1``: OpenInference's input and output values beside the GenAI keys
``TRACER_HOOKS_SUPPRESS``        ``1``: ask other LLM instrumentations to stay silent inside our chat spans
``TRACER_HOOKS_STORE``           path of the run store, or ``off`` (default ``.tracer_hooks/runs.sqlite``)
``TRACER_HOOKS_MAX_FILE_MB``     most megabytes of a file of traces that is read (default 128; see the guide)
``TRACER_HOOKS_STRICT``          ``1``: raise our own bugs instead of logging them
``TRACER_HOOKS_PREFILL_MODEL``   folder or GGUF file of the language model that the attributor ``prefill`` reads with
``TRACER_HOOKS_JUDGE_*``         options of the attributor ``judge``, such as ``TRACER_HOOKS_JUDGE_MODEL``
===============================  =======================================================================

``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` (``SPAN_ONLY``, ``SPAN_AND_EVENT`` or ``true``) turns full
capture on as well, as in other GenAI instrumentations.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from tracer_hooks.errors import ConfigError

DEFAULT_STORE = Path(".tracer_hooks") / "runs.sqlite"


class ContentCapture(StrEnum):
    """How much of what people and models wrote is kept."""

    OFF = "off"
    """Nothing: names, times, counts and status only."""
    REDACTED = "redacted"
    """Text with keys, tokens, e-mail addresses and the user's patterns blanked."""
    FULL = "full"
    """Everything."""


@dataclass(frozen=True, kw_only=True)
class CaptureConfig:
    """What goes onto exported spans, and what stays in the local record."""

    export: ContentCapture = ContentCapture.OFF
    """Content on the spans that leave the process."""
    record: ContentCapture = ContentCapture.FULL
    """Content in the local record, which diagnosis reads; it never leaves the machine."""
    max_attribute_bytes: int = 16_384
    """Size that one exported content attribute is cut to; what is cut stays valid JSON."""
    patterns: tuple[re.Pattern[str], ...] = ()
    """The user's own patterns to blank, beside the built-in ones."""
    openinference: bool = False
    """Whether OpenInference's ``input.value`` and ``output.value`` stand beside the GenAI keys."""
    suppress_others: bool = False
    """Whether other LLM instrumentations are asked to stay silent inside our chat spans."""

    @classmethod
    def from_env(cls, *, capture: str | ContentCapture | None = None) -> CaptureConfig:
        """Settings from the environment; ``capture`` overrides ``TRACER_HOOKS_CAPTURE``.

        Raises:
            ConfigError: A variable holds a value that cannot be used.
        """
        return cls(
            export=_capture("TRACER_HOOKS_CAPTURE", capture, _genai_capture()),
            record=_capture("TRACER_HOOKS_RECORD", None, ContentCapture.FULL),
            max_attribute_bytes=_positive("TRACER_HOOKS_MAX_BYTES", cls.max_attribute_bytes),
            openinference=_flag("TRACER_HOOKS_OPENINFERENCE"),
            suppress_others=_flag("TRACER_HOOKS_SUPPRESS"),
        )


@dataclass(frozen=True, kw_only=True)
class HookConfig:
    """Settings of one hooked team."""

    capture: CaptureConfig = field(default_factory=CaptureConfig)
    """What is kept of content."""
    store: Path | None = DEFAULT_STORE
    """The run store's file; None keeps runs in memory only."""

    @classmethod
    def from_env(cls, *, capture: str | CaptureConfig | None = None, store: str | Path | None = None) -> HookConfig:
        """Settings from the environment, each overridden by its argument; ``store="off"`` keeps no store.

        A :class:`CaptureConfig` is taken as it is, and overrides every variable for capture.

        Raises:
            ConfigError: An argument or a variable holds a value that cannot be used.
        """
        if not isinstance(capture, CaptureConfig):
            capture = CaptureConfig.from_env(capture=capture)
        return cls(capture=capture, store=store_path(store))


def store_path(store: str | Path | None = None) -> Path | None:
    """The run store's file by argument, environment or default; None when it is switched off."""
    value = store if store is not None else os.environ.get("TRACER_HOOKS_STORE") or DEFAULT_STORE
    return None if str(value).lower() == "off" else Path(value)


def _capture(variable: str, argument: object, default: ContentCapture) -> ContentCapture:
    value = argument if argument is not None else os.environ.get(variable, "")
    if not value:
        return default
    try:
        return ContentCapture(str(value).lower())
    except ValueError as error:
        raise ConfigError(f"{variable} or capture= is {value!r}, expected 'off', 'redacted' or 'full'") from error


def _genai_capture() -> ContentCapture:
    value = os.environ.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").upper()
    return ContentCapture.FULL if value in ("SPAN_ONLY", "SPAN_AND_EVENT", "TRUE") else ContentCapture.OFF


def _positive(variable: str, default: int) -> int:
    value = os.environ.get(variable, "")
    if not value:
        return default
    if not value.isdigit() or int(value) < 256:
        raise ConfigError(f"{variable} is {value!r}, expected a whole number of bytes, 256 or more")
    return int(value)


def _flag(variable: str) -> bool:
    value = os.environ.get(variable, "").lower()
    if value not in ("", "0", "1", "false", "true"):
        raise ConfigError(f"{variable} is {value!r}, expected '0' or '1'")
    return value in ("1", "true")
