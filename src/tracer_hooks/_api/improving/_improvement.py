"""What an improvement came to, as it is reported and kept."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tracer_hooks.schema import Json, Record, Text, Usage

Outcome = Literal["accepted", "rejected", "on trial", "nothing found", "nothing to improve", "stopped"]
"""What became of the best prompts: accepted; rejected; still on trial, since the pairs say too little; none did better
than the present ones; too few runs failed; or the job was broken off before any were found, and can go on."""


class Refused(Record):
    """Instructions that were written and not kept."""

    agent: Text
    """Whose."""
    text: Text = ""
    """What was written; empty where it could not be used at all."""
    why: Text
    """Why they were not kept."""


class Share(Record):
    """How many runs passed."""

    runs: int = Field(ge=0)
    """How many there were."""
    passes: int = Field(ge=0)
    """How many of them passed."""
    score: float = Field(ge=0)
    """The sum of their scores."""

    @property
    def rate(self) -> float:
        """Passes by runs; 0 without any."""
        return self.passes / self.runs if self.runs else 0.0


class TrialPair(Record):
    """A task of the trial that was run with the new prompts and with the old ones."""

    task: Text
    """Its id."""
    new: float
    """Score with the new prompts."""
    old: float
    """Score with the old ones."""
    formerly_passed: bool = False
    """Whether it was chosen because it had passed before."""
    e_gain: float
    """The evidence of a gain after this pair; 20 is enough at the usual level of 5 %."""


class BeforeAfter(Record):
    """The same tasks with the old and with the new prompts, each task once."""

    before: Share
    """With the old ones."""
    after: Share
    """With the new ones."""
    low: float
    """Lower end of the 95 % interval of the difference in the share of passed runs."""
    high: float
    """Its upper end."""

    @property
    def gain(self) -> float:
        """Difference in the share of passed runs."""
        return self.after.rate - self.before.rate


class Improvement(Record):
    """What came of :func:`tracer_hooks.improve`."""

    team: Text
    """The team's fingerprint."""
    team_name: Text
    """The team's name."""
    framework: Text
    """Its framework."""
    outcome: Outcome
    """What became of the best prompts."""
    reason: Text
    """Why, in one sentence."""
    version: int | None = None
    """Its number in the store of prompts; None where no prompts were proposed."""
    texts: dict[str, Text] = Field(default_factory=dict)
    """The new instructions, by agent; empty where no prompts were proposed."""
    old: dict[str, Text] = Field(default_factory=dict)
    """The instructions before, of all agents."""
    tasks: dict[str, int] = Field(default_factory=dict)
    """How many tasks proposed, accepted, were formerly passed, and were never used before the end."""
    baseline: Share
    """The proposing tasks with the old prompts."""
    blame: dict[str, float] = Field(default_factory=dict)
    """Share of the blame for the failures, by agent."""
    candidates: int = 0
    """Prompts that were compared on all comparing tasks, the old ones included."""
    refused: tuple[Refused, ...] = ()
    """What was written and not kept."""
    search: Text = ""
    """Why the search ended."""
    evidence: dict[str, Json] = Field(default_factory=dict)
    """What the trial on other tasks found."""
    needed: float = 20.0
    """Evidence of a gain at which it counts as shown."""
    pairs: tuple[TrialPair, ...] = ()
    """The pairs of the trial, in their order."""
    notes: tuple[Text, ...] = ()
    """What the user should know besides."""
    provenance: dict[str, Json] = Field(default_factory=dict)
    """Who wrote, from which failures, with which seed, and in which folder."""
    unused: BeforeAfter | None = None
    """The tasks that were never used before; None where they were not run."""
    passed: BeforeAfter | None = None
    """The formerly passed tasks in the trial; None without any."""
    runs: int = 0
    """Runs of the team."""
    usage: Usage = Usage()
    """Tokens of them, and of the writing."""
    writing: Usage = Usage()
    """Tokens of the writing alone."""
    cost: float = 0.0
    """Money, where prices are known."""
    seconds: float = 0.0
    """How long it took, this session alone."""
    stopped: Text = ""
    """Which limit ended it; empty where none did."""
