"""What changed between two prompts, as text."""

from __future__ import annotations

import difflib


def prompt_diff(before: str, after: str, *, before_name: str = "before", after_name: str = "after") -> str:
    """What changed between two prompts, as a unified diff; empty when nothing did."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), before_name, after_name, lineterm="")
    return "\n".join(lines)
