"""What happened in one run of a team, free of any framework."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, field_validator, model_validator

from tracer_hooks.schema._json import Json, Text

SCHEMA_VERSION = 1
"""Version of every record in this package; raised when a field changes meaning, with a migration in the codec."""


class Record(BaseModel):
    """Base of every record: frozen, and closed to unknown fields so that a typing error in a file is noticed."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class RunOutcome(StrEnum):
    """How a run ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


class RunKind(StrEnum):
    """Why a run takes place."""

    LIVE = "live"
    """The user's own call."""
    RETRY = "retry"
    """A later attempt of a call whose earlier attempt failed."""
    REPLAY = "replay"
    """A recorded run, run again with a change."""
    IMPORTED = "imported"
    """A run that was read from a file, whoever made it: it tells nothing of how a hooked team fares."""


class StepKind(StrEnum):
    """What kind of act a step is."""

    MESSAGE = "message"
    """A text reply."""
    TOOL_CALL = "tool_call"
    """A model reply that calls tools, together with their results."""
    HANDOFF = "handoff"
    """A transfer or delegation to another agent, or a router's choice of the next agent."""
    ERROR = "error"
    """An act that gave no reply, since the model client or the agent's own code raised."""


class Usage(Record):
    """Tokens that model calls took."""

    input_tokens: int = Field(default=0, ge=0)
    """Tokens read, cached ones included."""
    output_tokens: int = Field(default=0, ge=0)
    """Tokens written, reasoning included."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )

    def __sub__(self, other: Usage) -> Usage:
        """What is left without ``other``; never below 0."""
        return Usage(
            input_tokens=max(0, self.input_tokens - other.input_tokens),
            output_tokens=max(0, self.output_tokens - other.output_tokens),
        )

    @property
    def total(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens

    def cost(self, input_price: float, output_price: float) -> float:
        """What they cost, at these prices of a million tokens."""
        return (self.input_tokens * input_price + self.output_tokens * output_price) / 1e6


class AgentSpec(Record):
    """One member of the team."""

    name: Text
    """Name that is unique in the team and the same in every run."""
    instructions: Text | None = None
    """The agent's system prompt, when known."""
    tools: tuple[Text, ...] = ()
    """Names of the tools it may call."""


class ToolCall(Record):
    """One tool call of a step, with what came of it."""

    name: Text
    """The tool's name."""
    arguments: Json = None
    """The arguments as plain JSON; a string when the model wrote something that is not JSON."""
    result: Text | None = None
    """What the tool returned, as the agent saw it; None when it raised or content was not kept."""
    error: Text | None = None
    """Why it failed; None when it did not."""
    call_id: Text | None = None
    """The model's id of the call."""
    attempts: int = Field(default=1, ge=1)
    """How often the framework really called the function for this one call."""


class StepInput(Record):
    """Something that an agent was shown before it acted."""

    source: Text
    """Who it came from: an agent's name, or ``"user"``."""
    step: int | None = None
    """Index of the step whose output it is; None when it is not the output of a step."""
    text: Text | None = None
    """The text, when content was kept."""


class Step(Record):
    """One act of one agent."""

    index: int = Field(ge=0)
    """Position in the run, counted from 0 over all agents."""
    agent: Text
    """Name of the agent that acted."""
    kind: StepKind = StepKind.MESSAGE
    """What kind of act it was."""
    content: Text = ""
    """The text that the agent wrote; empty for a bare tool call or when content was not kept."""
    inputs: tuple[StepInput, ...] = ()
    """What reached the agent since its previous step."""
    tool_calls: tuple[ToolCall, ...] = ()
    """The tools that the reply called, in order."""
    recipient: Text | None = None
    """The agent that a hand-off goes to."""
    model: Text | None = None
    """Name of the model that replied."""
    usage: Usage | None = None
    """Tokens of the model calls of this step; None when not reported."""
    started_at: AwareDatetime | None = None
    """When the act began (UTC)."""
    ended_at: AwareDatetime | None = None
    """When its last part, tool results included, ended (UTC)."""
    error: Text | None = None
    """Why the act gave no reply."""
    attempts: int = Field(default=1, ge=1)
    """How many model calls it took until a reply came or the framework gave up."""
    span_id: Text | None = None
    """The span of the model call (16 hex digits), or of the agent when it has none."""

    @field_validator("started_at", "ended_at")
    @classmethod
    def _in_utc(cls, value: datetime | None) -> datetime | None:
        from datetime import UTC

        try:
            return value.astimezone(UTC) if value is not None else None
        except OverflowError as error:  # in the first or last hours of what a calendar holds
            raise ValueError(f"{value} has no time in UTC") from error

    @property
    def failed_tools(self) -> tuple[ToolCall, ...]:
        """The tool calls of this step that failed."""
        return tuple(call for call in self.tool_calls if call.error is not None)


class Trajectory(Record):
    """The ordered steps of one run."""

    schema_version: int = Field(default=SCHEMA_VERSION, ge=1, le=SCHEMA_VERSION)
    """Version of the record format."""
    run_id: Text
    """Identifies the run."""
    team: Text = ""
    """The team's name."""
    framework: Text = "unknown"
    """``autogen``, ``crewai``, ``langgraph``, ``python``, or the name of the data set that the run comes from."""
    task: Text = ""
    """What the team was asked to do."""
    agents: tuple[AgentSpec, ...] = ()
    """The team's members; those that never acted included, when known."""
    steps: tuple[Step, ...] = ()
    """What they did, in order; ``steps[i].index == i``."""
    outcome: RunOutcome = RunOutcome.UNKNOWN
    """How the run ended."""
    outcome_reason: Text | None = None
    """Why: the check's reason, an exception, or the framework's stop reason."""
    final_output: Text | None = None
    """The run's answer."""
    reference: Text | None = None
    """The expected answer, when known."""
    trace_id: Text | None = None
    """The OpenTelemetry trace (32 hex digits)."""
    instrumentation: Text | None = None
    """The instrumentation scope of another library that recorded the trace; None for runs that are hooked, and where
    it is not known."""

    @model_validator(mode="after")
    def _indices_are_positions(self) -> Self:
        for position, step in enumerate(self.steps):
            if step.index != position:
                raise ValueError(f"steps[{position}].index is {step.index}, expected {position}")
        return self

    @property
    def usage(self) -> Usage:
        """Tokens of the whole run: the sum over its steps."""
        return sum((step.usage for step in self.steps if step.usage is not None), Usage())

    def instructions_of(self, agent: str | None) -> str | None:
        """The instructions of a member of the team; None where they are not known."""
        return next((spec.instructions for spec in self.agents if spec.name == agent), None)

    @property
    def agent_names(self) -> tuple[str, ...]:
        """Names of the team's members, then of any other agent that acted, each once."""
        return tuple(dict.fromkeys([*(spec.name for spec in self.agents), *(step.agent for step in self.steps)]))
