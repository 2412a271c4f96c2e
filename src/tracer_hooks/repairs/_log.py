"""What was tried to recover a failed run, at what price, and what helped."""

from __future__ import annotations

from tracer_hooks.repairs._past_trial import PastTrial
from tracer_hooks.schema import DecisiveStep, Record, Text, Usage


class RepairLog(Record):
    """The repairs of one call."""

    trials: tuple[PastTrial, ...] = ()
    """Every trial, in order."""
    stopped: Text = ""
    """Why there were no more."""
    verified: DecisiveStep | None = None
    """The step that the recovery speaks for: the run passed when it was resumed there, with all before it as it was.
    None where nothing was recovered, or by a run from scratch, which says nothing of a step."""
    kept_usage: Usage = Usage()
    """Tokens that were not spent, since the steps before the resumed one came from the record."""

    @property
    def recovered(self) -> bool:
        """Tell whether the last trial passed."""
        return bool(self.trials) and self.trials[-1].passed

    @property
    def usage(self) -> Usage:
        """Tokens of all trials."""
        return sum((trial.usage for trial in self.trials), Usage())

    @property
    def seconds(self) -> float:
        """Seconds that all trials took."""
        return sum(trial.seconds for trial in self.trials)
