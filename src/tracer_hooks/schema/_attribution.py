"""The answer to "which agent, at which step, made the run fail"."""

from __future__ import annotations

from pydantic import Field

from tracer_hooks.schema._error_modes import ErrorMode
from tracer_hooks.schema._json import Text
from tracer_hooks.schema._trajectory import SCHEMA_VERSION, Record, Usage


class Candidate(Record):
    """One possible decisive error step, with its share of the belief."""

    agent: Text
    """The agent that acted."""
    step: int = Field(ge=0)
    """The step's index."""
    score: float = Field(ge=0, le=1)
    """Belief that this is the decisive step; the scores of all candidates sum to at most 1."""


class AgentFault(Record):
    """An agent that went wrong and how, for runs with several faults."""

    agent: Text
    """The agent's name."""
    error_mode: ErrorMode | None = None
    """How it went wrong."""
    score: float = Field(default=1.0, ge=0, le=1)
    """Belief in this pair."""


class Evidence(Record):
    """A passage of a step that speaks for the diagnosis."""

    step: int = Field(ge=0)
    """The step that the passage stands in."""
    quote: Text
    """Text that stands in the step word for word: in its content, error, tool arguments, result or tool error."""
    why: Text
    """What the passage shows."""


class Attribution(Record):
    """A diagnosis of one failed run."""

    schema_version: int = SCHEMA_VERSION
    """Version of the record format."""
    run_id: Text
    """The run that was diagnosed."""
    agent: Text | None = None
    """The agent that made the decisive error; None after an abstention."""
    step: int | None = Field(default=None, ge=0)
    """Index of the decisive error step; None after an abstention."""
    error_mode: ErrorMode | None = None
    """How the agent went wrong, when it can be told."""
    confidence: float = Field(default=0.0, ge=0, le=1)
    """Probability that agent and step are right."""
    candidates: tuple[Candidate, ...] = ()
    """Ranked alternatives, the answer first."""
    faults: tuple[AgentFault, ...] = ()
    """Every agent and mode above the threshold, for runs with several faults."""
    evidence: tuple[Evidence, ...] = ()
    """Why, with quotations."""
    spread: tuple[Evidence, ...] = ()
    """How the error travelled on: later steps that took it over, in order."""
    abstained: bool = False
    """Whether no agent is named."""
    abstained_reason: Text | None = None
    """Why not: ``no fault found``, ``environment fault`` or ``trace too incomplete``."""
    attributor: Text = ""
    """Name and version of the model that answered."""
    elapsed_s: float = Field(default=0.0, ge=0)
    """Seconds that the diagnosis took."""
    usage: Usage | None = None
    """Tokens that the attributor itself used; None when it uses no language model."""
