"""Pieces of a run's own text, as they may stand before a reader."""

from __future__ import annotations

import re
from collections.abc import Sequence

_FENCE = re.compile(r"[`~]{3,}[\w+-]*")
_SHORT = 120


def readable(quote: str | None) -> str:
    """``quote`` when there is something in it to read; empty for none, a bare code fence, or mere punctuation."""
    text = (quote or "").strip()
    if _FENCE.fullmatch(text) or not any(char.isalnum() for char in text):
        return ""
    return text


def sentence(text: str) -> str:
    """``text`` with a capital at its beginning and a full stop at its end."""
    plain = text.strip()
    return plain[:1].upper() + plain[1:] + ("" if plain.endswith((".", "!", "?")) or not plain else ".")


def one_line(text: str, longest: int = _SHORT) -> str:
    """The beginning of ``text`` on one line."""
    line = " ".join(text[: 4 * longest].split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def words_listed(words: Sequence[str], most: int = 4) -> str:
    """The first of ``words`` in quotation marks: ``"'a', 'b' and 2 more"``."""
    shown = ", ".join(repr(word) for word in words[:most])
    return shown if len(words) <= most else f"{shown} and {len(words) - most} more"
