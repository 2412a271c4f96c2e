"""How code did in its tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Isolation = Literal["bubblewrap", "process"]
"""What held the code: ``bubblewrap``, or ``process``, a process of its own with limits and an audit hook."""


@dataclass(frozen=True, kw_only=True)
class AssertOutcome:
    """How one test ended."""

    test: str
    """The test as it was given."""
    passed: bool
    """Whether the left side gave the right side's value."""
    value: str | None = None
    """What the left side gave, as ``repr``; None when it gave nothing."""
    error: str | None = None
    """What went wrong; None for a test that passed."""


@dataclass(frozen=True, kw_only=True)
class SandboxResult:
    """How code did in its tests."""

    outcomes: tuple[AssertOutcome, ...]
    """One for each test, in their order."""
    error: str | None
    """The first thing that went wrong, in the code or in a test; None when all passed."""
    output: str
    """What the code printed, cut to the limit."""
    timed_out: bool
    """Whether it was killed for its wall-clock limit."""
    elapsed_s: float
    """Seconds that it took, starting the interpreter included."""
    had_network: bool
    """Whether the kernel let it keep the machine's network; the audit hook then is all that holds it back."""
    isolation: Isolation
    """What held the code."""

    @property
    def passed(self) -> bool:
        """Whether all tests passed."""
        return all(outcome.passed for outcome in self.outcomes)
