"""What the store holds of one run, whole and in short."""

from __future__ import annotations

from pydantic import AwareDatetime, Field, SkipValidation

from tracer_hooks.schema import Attribution, ErrorMode, Json, Record, RunKind, RunOutcome, Text, Trajectory, Usage
from tracer_hooks.store._prompt_records import PromptArm


class RunPrompts(Record):
    """Which of a team's prompts a run was made on, where a version of them is accepted."""

    version: int = Field(ge=1)
    """The version that was current: the run counts for or against it."""
    arm: PromptArm
    """Whether the agents were told its texts, or what was current before it."""
    told: int | None = Field(default=None, ge=1)
    """The version whose texts they were told; None for the team's own prompts."""

    @property
    def words(self) -> str:
        """In words, for people."""
        if self.arm is PromptArm.NEW:
            return f"version {self.version} (accepted)"
        told = "the team's own" if self.told is None else f"version {self.told}"
        return f"{told} (compared with version {self.version})"


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
    prompts: RunPrompts | None = None
    """Which accepted prompts it was made on; None where there were none, or they were not asked for."""


class StoredRun(_RunHead):
    """One run as the store keeps it."""

    trajectory: Trajectory
    """What happened."""
    attribution: Attribution | None = None
    """The diagnosis, when one was made."""
    repair: dict[str, Json] | None = None
    """What was tried to recover the call, as :class:`~tracer_hooks.repairs.RepairLog` writes it; with the last attempt
    of a call alone."""
    tape: SkipValidation[dict[str, Json] | None] = None
    """Every model and tool reply as plain data, for replays; ``tracer_hooks.replay.Tape.model_validate`` reads it. None
    when the run was recorded without full content."""


class Learnt(Record):
    """What is left of runs in a store once they are deleted: their ids, beside what was learnt from them."""

    counts: int = 0
    """Times that one of them counts for or against a version of prompts."""


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
    has_repair: bool = False
    """Whether something was tried to recover the call; said with its last attempt."""
    has_tape: bool = False
    """Whether the run can be replayed."""
