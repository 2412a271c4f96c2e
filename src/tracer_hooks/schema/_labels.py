"""Trajectories whose fault is known."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from tracer_hooks.schema._attribution import AgentFault
from tracer_hooks.schema._error_modes import ErrorMode
from tracer_hooks.schema._json import Json, Text
from tracer_hooks.schema._trajectory import SCHEMA_VERSION, Record, Trajectory


class LabelSource(StrEnum):
    """Where a label comes from."""

    INJECTED = "injected"
    """We put the fault there."""
    COUNTERFACTUAL = "counterfactual"
    """Replays with a correction at this step succeeded."""
    HUMAN = "human"
    """A person read the run."""
    MODEL = "model"
    """A model read the run."""


class DecisiveStep(Record):
    """The decisive error step as labelled."""

    agent: Text
    """The labelled agent, in the label's own spelling."""
    step: int = Field(ge=0)
    """Index of the step."""
    error_mode: ErrorMode | None = None
    """How it went wrong, when labelled."""
    reason: Text | None = None
    """The labeller's explanation."""


class LabeledTrajectory(Record):
    """A trajectory with its gold label: one decisive step, or a set of faulty agents with their modes."""

    schema_version: int = SCHEMA_VERSION
    """Version of the record format."""
    trajectory: Trajectory
    """What happened."""
    decisive: DecisiveStep | None = None
    """The decisive error step; None when the label names only agents, or when nothing went wrong."""
    faults: tuple[AgentFault, ...] = ()
    """Faulty agents and modes, for data sets that label those."""
    label_source: LabelSource
    """Where the label comes from."""
    weight: float = Field(default=1.0, gt=0.0, le=1.0)
    """How much the label counts when something is fitted to it. Below 1 it is weak: replays point at the step and do
    not prove it. Weak labels are learnt from, and never judged by."""
    question_id: Text | None = None
    """Groups the trajectories of one question, for splits."""
    seed: int | None = None
    """Seed of the injection."""
    fault_id: Text | None = None
    """Identifies the injected fault."""
    verification: dict[str, Json] = Field(default_factory=dict)
    """Counts that support the label: trials and failures with the fault and without it."""

    @property
    def is_weak(self) -> bool:
        """Whether the label is a suspicion."""
        return self.weight < 1.0
