"""One programming exercise."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """A function to write, with its tests."""

    name: str
    """The function's name."""
    signature: str
    """Its first line, without the colon."""
    text: str
    """What it has to do."""
    shown: tuple[str, ...]
    """Tests that the team sees, as ``assert EXPRESSION == LITERAL``."""
    hidden: tuple[str, ...]
    """Tests that only the grader has."""
    solution: str
    """The body of a right solution, without the first line, not indented."""

    @property
    def code(self) -> str:
        """A right solution."""
        body = "\n".join(f"    {line}" if line else "" for line in self.solution.strip().splitlines())
        return f"{self.signature}:\n{body}\n"
