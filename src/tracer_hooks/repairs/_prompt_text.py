"""Text that may stand in a prompt which a framework fills in."""

from __future__ import annotations

_NO_BRACES = str.maketrans("{}", "()")


def for_prompt(text: str) -> str:
    """``text`` without curly braces: CrewAI and LangChain fill in ``{names}`` in tasks and instructions."""
    return text.translate(_NO_BRACES)
