"""What the store holds of a team's prompts: versions, what their runs said, and what was done with them."""

from __future__ import annotations

from enum import StrEnum

from pydantic import AwareDatetime, Field

from tracer_hooks.schema import Json, Record, Text


class PromptState(StrEnum):
    """How far a version of a team's prompts has come."""

    PROPOSED = "proposed"
    """Written, and not tried yet."""
    ON_TRIAL = "on trial"
    """Being compared with what it would replace."""
    ACCEPTED = "accepted"
    """Found better; the version that was accepted last is the current one."""
    ROLLED_BACK = "rolled back"
    """Not used any more, or never: it failed its trial, got worse later, or somebody took it back."""


class PromptArm(StrEnum):
    """Which prompts a run had."""

    NEW = "new"
    """Those of the version."""
    OLD = "old"
    """Those that were current before it."""


class PromptPhase(StrEnum):
    """When a run counted for or against a version."""

    TRIAL = "trial"
    """In its trial, before it was accepted."""
    LIVE = "live"
    """In the user's own work, after it was accepted."""


class PromptOutcome(Record):
    """One run that counts for or against a version."""

    run_id: Text = Field(min_length=1)
    """The run; it counts once for a version."""
    arm: PromptArm
    """Which prompts the run had."""
    phase: PromptPhase
    """Whether it was part of the trial."""
    passed: bool
    """Whether it passed the check."""
    score: float = Field(ge=0, le=1)
    """The check's score; 1 or 0 where it only says passed or not."""
    counted_at: AwareDatetime
    """When it was counted (UTC)."""
    task: Text = ""
    """An id of the task, not its text."""


class PromptTally(Record):
    """Sums over the runs of one phase."""

    new_runs: int = Field(default=0, ge=0)
    """Runs on the version's prompts."""
    new_passes: int = Field(default=0, ge=0)
    """Those of them that passed."""
    new_score: float = Field(default=0.0, ge=0)
    """Sum of their scores."""
    old_runs: int = Field(default=0, ge=0)
    """Runs on the prompts before it."""
    old_passes: int = Field(default=0, ge=0)
    """Those of them that passed."""
    old_score: float = Field(default=0.0, ge=0)
    """Sum of their scores."""

    @property
    def new_rate(self) -> float | None:
        """Share of runs on the version's prompts that passed; None without any."""
        return self.new_passes / self.new_runs if self.new_runs else None

    @property
    def old_rate(self) -> float | None:
        """Share of runs on the prompts before it that passed; None without any."""
        return self.old_passes / self.old_runs if self.old_runs else None


class PromptVersion(Record):
    """One version of a team's prompts."""

    team: Text
    """The team's fingerprint."""
    team_name: Text = ""
    """The team's name."""
    framework: Text = ""
    """Its framework."""
    number: int = Field(ge=1)
    """Counted from 1 for each team."""
    parent: int | None = None
    """The version that was current when this one was proposed; None for the team's own prompts."""
    texts: dict[Text, Text]
    """The new instructions by agent, for every agent that does not have the team's own."""
    own: dict[Text, Text]
    """The team's own instructions of the same agents."""
    state: PromptState
    """How far it has come."""
    reason: Text = ""
    """Why it is in this state."""
    is_pinned: bool = False
    """Whether it is current whatever comes."""
    provenance: dict[str, Json] = Field(default_factory=dict)
    """Where it comes from: who proposed it, from which failures, with which model."""
    evidence: dict[str, Json] = Field(default_factory=dict)
    """What its tests found."""
    created_at: AwareDatetime
    """When it was proposed (UTC)."""
    changed_at: AwareDatetime
    """When its state changed last (UTC)."""
    accepted_at: AwareDatetime | None = None
    """When it was accepted (UTC); stays when it is rolled back."""
    trial: PromptTally = PromptTally()
    """Its trial in figures."""
    live: PromptTally = PromptTally()
    """The user's own runs since it was accepted, in figures."""


class PromptEvent(Record):
    """One thing that was done with a version."""

    team: Text
    """The team's fingerprint."""
    number: int | None = None
    """The version."""
    what: Text
    """``proposed``, ``put on trial``, ``accepted``, ``rolled back``, ``pinned`` or ``unpinned``."""
    reason: Text = ""
    """Why."""
    at: AwareDatetime
    """When (UTC)."""
