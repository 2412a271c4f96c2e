"""Whether a rewrite is kept."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from tracer_hooks.schema import Record, RunOutcome, Text


class AcceptanceDecision(Record):
    """Whether a rewrite is kept, and why."""

    kept: bool
    """True when the new prompt stays."""
    reason: Text
    """Why, in one sentence."""


@runtime_checkable
class AcceptanceRule(Protocol):
    """Decides on a rewrite from the runs without it and with it."""

    def accept(self, before: RunOutcome, after: RunOutcome) -> AcceptanceDecision:
        """Compare the run with the old prompt and the run with the new one."""
        ...


class Acceptance:
    """Keeps a rewrite only if the run failed without it and passes with it.

    An outcome that is not known speaks for nothing: without a check, no rewrite is kept.
    """

    def accept(self, before: RunOutcome, after: RunOutcome) -> AcceptanceDecision:
        """Compare the run with the old prompt and the run with the new one."""
        if after is not RunOutcome.SUCCEEDED:
            ended = "failed again" if after is RunOutcome.FAILED else "ended without a verdict"
            return AcceptanceDecision(kept=False, reason=f"the run with the new prompt {ended}")
        if before is RunOutcome.FAILED:
            return AcceptanceDecision(
                kept=True, reason="the run failed with the old prompt and passes with the new one"
            )
        held = "passed" if before is RunOutcome.SUCCEEDED else "ended without a verdict"
        return AcceptanceDecision(kept=False, reason=f"the run {held} with the old prompt, so nothing shows a gain")
