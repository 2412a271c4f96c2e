"""Text of a run that cannot pass for lines of the prompt around it."""

from __future__ import annotations

import re
import unicodedata

# Every character that some reader takes for the end of a line, as str.splitlines() has them.
_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")
_KEPT_CONTROLS = frozenset("\n\t")
# Joiners are part of emoji and of several scripts.
_KEPT_FORMATS = frozenset("\u200c\u200d\u00ad")
# The lines that the templates and the transcript write themselves.
_OWN_LINE = re.compile(
    r"^(?=[ \t]*(?:={3,}|\[steps?\b|(?:task|agents|how it ended|steps|end of the record)[ \t:]*$"
    r"|the (?:run's|expected) answer:))",
    re.IGNORECASE | re.MULTILINE,
)


def fenced(text: str) -> str:
    """``text`` with one kind of line break, visible control characters, and a mark before lines like the prompt's own.

    Control characters and those that change the direction of writing are shown as their code, such as ``<U+202E>``.
    """
    return _OWN_LINE.sub("| ", shown(_BREAKS.sub("\n", text)))


def flat(text: str, limit: int = 200) -> str:
    """``text`` in one line of about ``limit`` characters at most, for names and short notes."""
    words = " ".join(shown(_BREAKS.sub("\n", text)).split())
    return words if len(words) <= limit else f"{words[:limit]}…"


def shown(text: str) -> str:
    """``text`` with its invisible characters written as codes."""
    if text.isprintable():
        return text
    return "".join(f"<U+{ord(char):04X}>" if _is_invisible(char) else char for char in text)


def _is_invisible(char: str) -> bool:
    category = unicodedata.category(char)
    if category == "Cc":
        return char not in _KEPT_CONTROLS
    return category == "Cf" and char not in _KEPT_FORMATS
