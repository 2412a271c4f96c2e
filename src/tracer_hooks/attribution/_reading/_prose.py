"""What a text states in prose, beside the code, records and addresses in it."""

from __future__ import annotations

import re

_NOT_PROSE = re.compile(
    r"```.*?(?:```|\Z)"  # code
    r"|`[^`\n]{1,200}`"
    r"|(?:https?://|www\.)[^\s<>\"')\]]+"  # addresses and their parameters
    r"|\]\([^)\s]{1,2000}\)"
    r"|[?&][\w-]{1,40}=[^\s&]*"
    r"|[\w./-]{1,200}\.[a-z]{1,4}:\d+|\bline \d+\b"  # places in programs
    r"|\b\d{1,6}\s?[x\u00d7]\s?\d{1,6}\s?(?:px|pixels?)\b|\b\d{1,6}\s?(?:px|pixels?)\b"  # sizes of images
    r"|\b[\w:-]{0,40}(?:width|height|size)\W{1,5}\d+"
    r"|\{[^{}\n]{0,400}\}|\[[^\[\]\n]{0,400}\](?!\()"  # JSON
    r"|^[ \t]{0,40}[\"'][^\"'\n]{1,80}[\"'] ?:[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
_LONGEST = 20_000


def prose_of(text: str) -> str:
    """``text`` with code, JSON, addresses and image sizes blanked; every place stays where it was."""
    return _NOT_PROSE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text[:_LONGEST])
