"""Blank secrets in text and in plain data."""

from __future__ import annotations

import re

BLANK = "[redacted]"

_PATTERNS = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}"),  # OpenAI, Anthropic, Stripe-like keys
    re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|hf_)[A-Za-z0-9_-]{10,}"),
    re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
    re.compile(r"\bAIza[0-9A-Za-z_-]{35}"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),  # JSON web tokens
    re.compile(r"(?i)\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{12,}"),
    re.compile(r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b"),
)

_SECRET_KEY = re.compile(r"(?i)(?:api[_-]?key|secret|password|passwd|token|authorization|credential|private[_-]?key)s?$")
_ASSIGNMENT = re.compile(
    r"(?i)(?P<key>\b[\w-]*(?:api[_-]?key|secret|password|passwd|access[_-]?token|auth[_-]?token)\b[\"']?\s*[:=]\s*)"
    r"(?P<value>\"[^\"]{4,}\"|'[^']{4,}'|[^\s,;&\"'}]{4,})"
)


class Redactor:
    """Blanks API keys, tokens, passwords, e-mail addresses and the user's own patterns.

    Args:
        patterns: More patterns to blank.
    """

    def __init__(self, patterns: tuple[re.Pattern[str], ...] = ()) -> None:
        self._patterns = (*_PATTERNS, *patterns)

    def text(self, value: str) -> str:
        """``value`` with every secret replaced by ``[redacted]``."""
        for pattern in self._patterns:
            value = pattern.sub(BLANK, value)
        return _ASSIGNMENT.sub(lambda match: match["key"] + BLANK, value)

    def value(self, value: object) -> object:
        """Plain data with every string redacted; values of keys such as ``password`` are blanked whole."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: BLANK if _holds_secret(key, item) else self.value(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        return value


def _holds_secret(key: object, value: object) -> bool:
    return isinstance(key, str) and isinstance(value, str) and _SECRET_KEY.search(key) is not None

