"""What the store holds of one run, whole and in short."""

from __future__ import annotations

from pydantic import AwareDatetime, Field, SkipValidation

from tracer_hooks.schema import Attribution, ErrorMode, Json, Record, RunKind, RunOutcome, Text, Trajectory, Usage


class _RunHead(Record):
    """The fields that a summary and a whole run share."""

    run_id: Text
    """Identifies the run."""
    team: Text = ""
    """The team's name."""
    framework: Text = "unknown"
    """The framework, as in the trajectory."""
    task: Text = ""
    """What the team was asked to do; cut in a summary."""
    outcome: RunOutcome = RunOutcome.UNKNOWN
    """How the run ended."""
    outcome_reason: Text | None = None
    """Why."""
    started_at: AwareDatetime
    """When the run began (UTC)."""
    ended_at: AwareDatetime | None = None
    """When it ended (UTC)."""
    session_id: Text
    """Groups the attempts of one call."""
    attempt: int = Field(default=1, ge=1)
    """Position among the attempts of the call, from 1."""
    kind: RunKind = RunKind.LIVE
    """Why the run was made."""


class StoredRun(_RunHead):
    """One run as the store keeps it."""

    trajectory: Trajectory
    """What happened."""
    attribution: Attribution | None = None
    """The diagnosis, when one was made."""
    rewrite: dict[str, Json] | None = None
    """The prompt rewrite that followed: agent, before, after, error_mode, reason, kept, decision."""
    tape: SkipValidation[dict[str, Json] | None] = None
    """Every model and tool reply as plain data, for replays; ``tracer_hooks.replay.Tape.model_validate`` reads it. None
    when the run was recorded without full content."""


class RunSummary(_RunHead):
    """One line about a run, read without its trajectory."""

    steps: int = Field(default=0, ge=0)
    """How many steps the trajectory has."""
    usage: Usage = Usage()
    """Tokens of the run; counts above 2**63 - 1 are shown as that number."""
    agent: Text | None = None
    """The agent that the diagnosis names."""
    step: int | None = Field(default=None, ge=0)
    """The step that the diagnosis names."""
    error_mode: ErrorMode | None = None
    """How the agent went wrong."""
    confidence: float | None = Field(default=None, ge=0, le=1)
    """The diagnosis' confidence; None when there is no diagnosis."""
    abstained: bool = False
    """Whether the diagnosis names no agent."""
    rewritten: bool = False
    """Whether a prompt rewrite followed this attempt."""
    has_tape: bool = False
    """Whether the run can be replayed."""
