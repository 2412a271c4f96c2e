"""The one gate that content passes on its way out of the process or into what is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.telemetry._redact import Redactor

WITHHELD = "[withheld]"
"""Stands for a text that a record must have and the mode ``off`` keeps back."""

_NAMES_KEPT = 1024


class ContentGate:
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
    def of_record(cls, config: CaptureConfig | None = None) -> ContentGate:
        """The gate of what is kept on this machine; by default as the environment says.

        Raises:
            ConfigError: A variable holds a value that cannot be used.
        """
        config = config if config is not None else CaptureConfig.from_env()
        return cls(config.record, Redactor(config.patterns))

    @property
    def is_open(self) -> bool:
        """Whether everything passes as it is."""
        return self.mode is ContentCapture.FULL

    @property
    def is_shut(self) -> bool:
        """Whether no content passes at all."""
        return self.mode is ContentCapture.OFF

    def blanked(self, text: str) -> str:
        """``text`` with secrets blanked, whatever the mode."""
        return self._redactor.text(text)

    def text(self, text: str) -> str:
        """What may pass of a text; empty where nothing may."""
        if self.is_open:
            return text
        return "" if self.is_shut else self._redactor.text(text)

    def optional(self, text: str | None) -> str | None:
        """What may pass of a text that may be absent; None where nothing may."""
        return None if text is None or self.is_shut else self.text(text)

    def needed(self, text: str) -> str:
        """What may pass of a text that must stand there; a note in its place where nothing may."""
        return WITHHELD if self.is_shut and text else self.text(text)

    def value(self, value: object) -> object:
        """What may pass of any data; None where nothing may."""
        if self.is_open:
            return value
        return None if self.is_shut else self._redactor.value(value)

    def name(self, name: str) -> str:
        """A name, a reason of our own or the like: no content, but a secret in it is blanked."""
        if self.is_open:
            return name
        known = self._names.get(name)
        if known is None:  # the same few names stand on every span
            if len(self._names) >= _NAMES_KEPT:
                self._names.clear()
            known = self._names[name] = self._redactor.text(name)
        return known

    def names(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The same for every string among ``values``; those that are None are left out."""
        return {
            key: self.name(value) if isinstance(value, str) else value
            for key, value in values.items()
            if value is not None
        }
