"""The types of rows that models are trained on."""

from __future__ import annotations

from dataclasses import dataclass

from tracer_hooks.attribution.teaching import ChatMessage
from tracer_hooks.schema import ErrorMode, LabeledTrajectory, Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """What is known of the fault of a run, in the spelling of its log."""

    agent: str
    """The agent to blame: the one that made the decisive error, or the first of those at fault."""
    step: int | None = None
    """The decisive error step; None when the label names agents only."""
    pairs: tuple[tuple[str, ErrorMode | None], ...] = ()
    """Every agent at fault with its error mode, each pair once; a mode is None where the label says nothing of it."""
    reason: str | None = None
    """The labeller's explanation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabeledRow:
    """A labelled trajectory with what the label means in terms of its log."""

    source: str
    """File and line, for messages."""
    labeled: LabeledTrajectory
    """The record."""
    gold: Gold
    """Its label."""
    team: str
    """What is left out together: the team's name, or for Aegis the kind of team."""

    @property
    def trajectory(self) -> Trajectory:
        """What happened."""
        return self.labeled.trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class SFTRow:
    """A question to the judge and the reply that it should give."""

    source: str
    """File and line of the labelled trajectory."""
    messages: tuple[ChatMessage, ...]
    """The prompt, word for word as the attributor ``judge`` writes it."""
    completion: str
    """The reply: one JSON object."""
    options: tuple[int | None, ...] = ()
    """Of a choice, the step that each label stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRow:
    """A question to the judge and the label that its replies are rewarded by."""

    source: str
    """File and line of the labelled trajectory."""
    messages: tuple[ChatMessage, ...]
    """The prompt, word for word as the attributor ``judge`` writes it."""
    gold: Gold
    """The label."""
    trajectory: Trajectory
    """The run, which replies are checked against."""
    options: tuple[int | None, ...] = ()
    """Of a choice, the step that each label stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastiveBag:
    """A run as a bag of steps, one or several of which show the fault."""

    source: str
    """File and line of the labelled trajectory."""
    labeled: LabeledTrajectory
    """The record; agents and steps are labelled in the terms of its own roster."""
    question: str
    """Groups the runs of one question."""
    team: str
    """The kind of team."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastivePair:
    """A bag and the passing run of the same team on the same task, which is free of the fault."""

    bag: ContrastiveBag
    """The failed run."""
    clean: Trajectory
    """The passing run."""
