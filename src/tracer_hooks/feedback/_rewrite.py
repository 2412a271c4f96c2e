"""A proposed prompt, and what every rewriter offers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol, runtime_checkable

from pydantic import AwareDatetime, Field

from tracer_hooks.schema import Attribution, ErrorMode, Evidence, Record, Text, Trajectory


class PromptRewrite(Record):
    """A proposed change of one agent's prompt, with the reason for it."""

    agent: Text
    """The agent whose prompt it is."""
    before: Text = ""
    """The prompt as it was; empty when the agent had none."""
    after: Text
    """The prompt as proposed."""
    error_mode: ErrorMode | None = None
    """The error mode that it is meant to cure."""
    reason: Text = ""
    """In one sentence, why this agent and what for."""
    evidence: tuple[Evidence, ...] = ()
    """The passages that the proposal rests on."""
    rewriter: Text = ""
    """Name and version of what wrote it."""
    created_at: AwareDatetime = Field(default_factory=lambda: datetime.now(UTC))
    """When it was written (UTC)."""


@runtime_checkable
class Rewriter(Protocol):
    """Proposes a prompt for the agent that a diagnosis blames.

    The contract: no proposal holds the expected answer of the run, in the proposal's own words or in a quotation; an
    abstained diagnosis, or one that does not fit the trajectory, gives None; nothing raises for odd trajectories.
    """

    name: str
    """Name that a :class:`PromptRewrite` is signed with."""

    def rewrite(
        self, trajectory: Trajectory, attribution: Attribution, instructions: str | None
    ) -> PromptRewrite | None:
        """Propose a prompt.

        Args:
            trajectory: The failed run.
            attribution: Its diagnosis.
            instructions: The blamed agent's present prompt; None when it has none.

        Returns:
            The proposal, or None when there is nobody to rewrite or nothing to say.
        """
        ...
