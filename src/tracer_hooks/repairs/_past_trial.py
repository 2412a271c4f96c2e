"""A trial to recover a failed run, once it was made."""

from __future__ import annotations

from tracer_hooks.repairs._repair import Repair
from tracer_hooks.schema import Record, RunOutcome, Text, Usage


class PastTrial(Record):
    """A trial that was made, and what came of it."""

    repair: Repair
    """What it changed."""
    outcome: RunOutcome
    """How it ended."""
    score: float | None = None
    """How good it was, 0 to 1, where the check says."""
    usage: Usage = Usage()
    """Tokens of its live model calls, and of writing the repair."""
    seconds: float = 0.0
    """How long it took."""
    note: Text = ""
    """What went otherwise than was planned."""
    attempt: int | None = None
    """The attempt of the call that it was; None for one that was not run, since its text told the answer."""

    @property
    def passed(self) -> bool:
        """Tell whether the run was recovered."""
        return self.outcome is RunOutcome.SUCCEEDED
