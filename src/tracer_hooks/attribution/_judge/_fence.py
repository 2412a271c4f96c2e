"""Text of a run that cannot pass for lines of the prompt around it."""

from __future__ import annotations

import re

from tracer_hooks._safe_text import in_prompt

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
    return _OWN_LINE.sub("| ", in_prompt(text))


def flat(text: str, limit: int = 200) -> str:
    """``text`` in one line of about ``limit`` characters at most, for names and short notes."""
    words = " ".join(in_prompt(text).split())
    return words if len(words) <= limit else f"{words[:limit]}…"
