"""Blank secrets in text and in plain data."""

from __future__ import annotations

import re

from pydantic import JsonValue

from tracer_hooks.schema import to_json_value

BLANK = "[redacted]"

_PATTERNS = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}"),  # OpenAI, Anthropic, Stripe-like keys
    re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|hf_)[A-Za-z0-9_-]{10,}"),
    re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
    re.compile(r"\bAIza[0-9A-Za-z_-]{35}"),
    re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),  # JSON web tokens
    re.compile(r"(?i)\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{12,}"),
    # Lengths as in RFC 5321, so that a megabyte of "a.a.a." takes no quadratic time.
    re.compile(r"[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,63}\b"),
)

_SECRET_KEY = re.compile(
    r"(?i)(?:api[_-]?key|secret|password|passwd|token|authorization|credential|private[_-]?key)s?$"
)
_ASSIGNMENT = re.compile(
    r"(?i)(?P<key>\b[\w-]{0,40}(?:api[_-]?key|secret|password|passwd|access[_-]?token|auth[_-]?token)\b[\"']?\s*[:=]\s*)"
    r"(?P<value>\"[^\"]{4,}\"|'[^']{4,}'|[^\s,;&\"'}]{4,})"
)


class Redactor:
    """Blanks API keys, tokens, passwords, e-mail addresses and the user's own patterns.

    Args:
        patterns: More patterns to blank.
    """

    def __init__(self, patterns: tuple[re.Pattern[str], ...] = ()) -> None:
        self.patterns = patterns
        self._patterns = (*_PATTERNS, *patterns)

    def text(self, value: str) -> str:
        """``value`` with every secret replaced by ``[redacted]``."""
        for pattern in self._patterns:
            value = pattern.sub(BLANK, value)
        return _ASSIGNMENT.sub(lambda match: match["key"] + BLANK, value)

    def value(self, value: object) -> object:
        """``value`` as plain data with every string redacted; values of keys such as ``password`` are blanked whole."""
        return self._plain(to_json_value(value))  # opens models and dataclasses, which would else be opened at export

    def _plain(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            result: dict[str, JsonValue] = {}
            for key, item in value.items():
                shown = self.text(key)
                if shown != key and shown in result:  # two keys with nothing left to tell them apart
                    shown = f"{shown} {len(result) + 1}"
                result[shown] = self._blanked(item) if _SECRET_KEY.search(key) else self._plain(item)
            return result
        if isinstance(value, list):
            return [self._plain(item) for item in value]
        return value

    def _blanked(self, value: JsonValue) -> JsonValue:
        if isinstance(value, list):
            return [self._blanked(item) for item in value]
        return BLANK if isinstance(value, str) else self._plain(value)
