"""What a report is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tracer_hooks.repairs import RepairLog
from tracer_hooks.schema import Attribution, Trajectory


@dataclass(frozen=True, kw_only=True)
class ReportAttempt:
    """One attempt of a call."""

    number: int
    """Position among the attempts, from 1."""
    trajectory: Trajectory
    """What happened."""
    attribution: Attribution | None = None
    """The diagnosis, when one was made."""
    prompts: str = ""
    """Which accepted prompts it was made on, in words; empty where there were none."""
    notes: Sequence[str] = ()
    """Sentences to read with the diagnosis: who said how the run ended, and what the trace lacks."""


@dataclass(frozen=True, kw_only=True)
class ReportRun:
    """One call of a team with all its attempts."""

    attempts: Sequence[ReportAttempt]
    """The attempts, the first one first."""
    repair: RepairLog | None = None
    """What was tried to recover the run; None when nothing failed, or no retry was asked for."""
    team: str = ""
    """The team's name; the first trajectory's when empty."""
    framework: str = ""
    """The framework; the first trajectory's when empty."""
    task: str = ""
    """What the team was asked to do; the first trajectory's when empty."""
    generated_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When the report was made."""
