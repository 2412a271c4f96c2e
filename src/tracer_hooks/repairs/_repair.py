"""What one trial changes against the failed run."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, model_validator

from tracer_hooks.schema import Record, Text, Usage


class RepairScope(StrEnum):
    """For how long a repair holds."""

    ATTEMPT = "attempt"
    """For one trial; nothing of it outlives the call."""
    TEAM = "team"
    """For the team: a prompt that is proposed from several failures, and accepted by evidence."""


class RepairTarget(StrEnum):
    """Places of a repair's text: what it is added to, or stands in the place of."""

    NOTHING = "nothing"
    """There is no text: the team, or the agent, is asked the very same again."""
    TASK = "task"
    """Added to the task, for every agent that is shown it."""
    MESSAGE = "message"
    """Added to the last message that the agent is shown."""
    INSTRUCTIONS = "instructions"
    """The agent's new instructions."""
    REPLY = "reply"
    """What the agent says at the step; in replays alone, since such a run is no longer the team's own work."""


class Repair(Record):
    """One proposal to recover a failed run: what is said to whom, and from which step the run is live.

    Raises:
        pydantic.ValidationError: Target, agent and text do not fit each other.
    """

    strategy: Text
    """Name of the strategy that proposed it."""
    scope: RepairScope = RepairScope.ATTEMPT
    """For how long it holds."""
    target: RepairTarget = RepairTarget.NOTHING
    """What the text is added to."""
    agent: Text | None = None
    """Whom it is for; None for a text that is added to the task, and where there is no text."""
    text: Text = ""
    """What is added, or the whole new text of instructions and replies."""
    resume_from: int | None = Field(default=None, ge=0)
    """The first step that is live, those before it come from the record; None for a run from scratch."""
    usage: Usage = Usage()
    """Tokens that it took to write the text."""
    reason: Text = ""
    """Why this, in one sentence."""

    @model_validator(mode="after")
    def _fits(self) -> Repair:
        says_something = self.target is not RepairTarget.NOTHING
        if says_something != bool(self.text.strip()):
            raise ValueError(f"a repair with target {str(self.target)!r} has the text {self.text[:40]!r}")
        if says_something and self.target is not RepairTarget.TASK and self.agent is None:
            raise ValueError(f"a repair with target {str(self.target)!r} names no agent")
        return self

    @property
    def is_plain(self) -> bool:
        """Tell whether it is a plain retry: nothing is said, and nothing is kept of the failed run."""
        return self.target is RepairTarget.NOTHING and self.resume_from is None
