"""What stands between two attempts in a stream."""

from __future__ import annotations

from dataclasses import dataclass

from tracer_hooks._api.runs import Attempt
from tracer_hooks.repairs import Repair


@dataclass(frozen=True, kw_only=True)
class RetryBoundary:
    """Stands in a stream between a failed attempt and the next one (``retry_streams=True``)."""

    attempt: int
    """The attempt that begins."""
    reason: str | None
    """Why the last one failed."""
    repair: Repair | None
    """What it changes."""

    @classmethod
    def after(cls, attempt: Attempt, repair: Repair | None) -> RetryBoundary:
        """The boundary behind a failed attempt, before one with ``repair``."""
        return cls(attempt=attempt.number + 1, reason=attempt.outcome_reason, repair=repair)
