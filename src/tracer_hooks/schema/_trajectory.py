"""Records of a run, free of any framework: trajectory, steps, tool calls, usage; and any object as plain JSON.

Teams put everything into messages and tool arguments: bytes, numpy arrays, sockets, objects that refer to themselves,
lone surrogates. A record of the run must hold them without failing and without growing without bound.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import math
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date, datetime, time
from enum import StrEnum
from html import escape
from typing import Annotated, Any, Self, cast

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    field_validator,
    model_validator,
)

MAX_DEPTH = 32


def to_text(value: object) -> str:
    """``value`` as a string that every JSON and protobuf encoder accepts.

    Bytes are decoded as UTF-8 (undecodable bytes become backslash escapes); lone surrogates become U+FFFD; an object
    that cannot be printed becomes a note. Never raises.
    """
    if type(value) is str:  # nearly always
        text = value
    elif isinstance(value, (bytes, bytearray, memoryview)):
        text = bytes(value).decode("utf-8", "backslashreplace")
    else:
        text = value if isinstance(value, str) else _safe_str(value)
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _safe_str(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # a user's exception or object may fail while it is printed
        return f"<{type(value).__name__}: not printable ({type(error).__name__})>"


def to_json_value(value: object) -> JsonValue:
    """``value`` as JSON-compatible plain data; never raises for odd input.

    Models, dataclasses, mappings, sequences and sets are opened; bytes become base64 in ``{"$bytes": ...}``; non-finite
    numbers become strings; anything else becomes its ``repr``. What lies deeper than 32 levels, or inside itself, is
    replaced by a note.
    """
    return _to_plain(value, 0, ())


def _to_plain(value: object, depth: int, ancestors: tuple[int, ...]) -> JsonValue:
    kind = type(value)
    # By the exact type first: nearly everything is plain, and the checks that follow cost ten times as much.
    if kind is str:
        return to_text(value)
    if value is None or kind is bool or kind is int:
        return cast(JsonValue, value)
    if isinstance(value, str):
        return to_text(value.value if isinstance(value, enum.Enum) else value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else repr(float(value))
    if id(value) in ancestors:
        return "<circular>"
    if depth >= MAX_DEPTH:
        return "<nested too deeply>"
    try:
        return _container_to_plain(value, depth + 1, (*ancestors, id(value)))
    except Exception as error:  # a user's object may fail in any way while it is looked at
        return f"<{type(value).__name__}: not serialisable ({type(error).__name__})>"


def _container_to_plain(value: object, depth: int, ancestors: tuple[int, ...]) -> JsonValue:
    if isinstance(value, dict) or isinstance(value, Mapping):  # noqa: SIM101 - the second, an ABC, is the slow one
        return {to_text(key): _to_plain(item, depth, ancestors) for key, item in value.items()}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$bytes": base64.b64encode(bytes(value)).decode("ascii")}
    if isinstance(value, (list, tuple)) or isinstance(value, Sequence):  # noqa: SIM101
        return [_to_plain(item, depth, ancestors) for item in value]
    if isinstance(value, Set):
        return sorted((_to_plain(item, depth, ancestors) for item in value), key=repr)
    if isinstance(value, enum.Enum):
        return _to_plain(value.value, depth, ancestors)
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    return _object_to_plain(value, lambda item: _to_plain(item, depth, ancestors))


def _object_to_plain(value: object, inner: Callable[[object], JsonValue]) -> JsonValue:
    if isinstance(value, BaseModel):
        return {name: inner(getattr(value, name)) for name in type(value).model_fields}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: inner(getattr(value, field.name)) for field in dataclasses.fields(value)}
    item = getattr(value, "tolist", None)  # numpy arrays and scalars, torch tensors
    if callable(item) and type(value).__module__.partition(".")[0] in ("numpy", "torch"):
        return inner(cast(Any, item)())
    return to_text(repr(value))


Text = Annotated[str, BeforeValidator(to_text)]
"""A string field that accepts bytes and repairs lone surrogates."""
Json = Annotated[JsonValue, BeforeValidator(to_json_value)]
"""A field of plain JSON data that accepts, and converts, any Python object."""
SCHEMA_VERSION = 2
"""Version of every record in this package; raised when a field changes meaning, with a migration in the codec."""


class Record(BaseModel):
    """Base of every record: frozen, and closed to unknown fields so that a typing error in a file is noticed."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class RunOutcome(StrEnum):
    """Outcome of a run."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


class RunKind(StrEnum):
    """Reason why a run takes place."""

    LIVE = "live"
    """The user's own call."""
    RETRY = "retry"
    """A later attempt of a call whose earlier attempt failed."""
    REPLAY = "replay"
    """A recorded run, run again with a change."""
    IMPORTED = "imported"
    """A run that was read from a file, whoever made it: it tells nothing of how a hooked team fares."""


class StepKind(StrEnum):
    """Kind of act that a step is."""

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
    cache_read_tokens: int = Field(default=0, ge=0)
    """Of the tokens read, those that came out of the provider's cache."""
    cache_write_tokens: int = Field(default=0, ge=0)
    """Of the tokens read, those that were put into it."""
    reasoning_tokens: int = Field(default=0, ge=0)
    """Of the tokens written, those of the model's reasoning."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: count + getattr(other, name) for name, count in self})

    def __sub__(self, other: Usage) -> Usage:
        """Subtract ``other``; never below 0."""
        return Usage(**{name: max(0, count - getattr(other, name)) for name, count in self})

    @property
    def total(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens

    def cost(self, input_price: float, output_price: float) -> float:
        """Cost of the tokens, at these prices of a million."""
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
    error_type: Text | None = None
    """Class of the exception that kept it from a reply, such as ``httpx.ConnectError``; None where it is not known."""
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


_MOST_ROWS = 200
_MOST_WORDS = 120


def _first_words(step: Step) -> str:
    text = step.error or step.content or ", ".join(call.name for call in step.tool_calls)
    line = " ".join(text[: 4 * _MOST_WORDS].split())
    return line if len(line) <= _MOST_WORDS else f"{line[: _MOST_WORDS - 1]}…"


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
    stop_reason: Text | None = None
    """Why the framework stopped, where it says so and the outcome has a reason of its own."""
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

    def _repr_html_(self) -> str:
        shown = self.steps[:_MOST_ROWS]
        rows = "".join(
            f"<tr><td>{step.index}</td><td>{escape(step.agent)}</td><td>{escape(_first_words(step))}</td></tr>"
            for step in shown
        )
        left = f"<p>and {len(self.steps) - len(shown)} more</p>" if len(self.steps) > len(shown) else ""
        head = f"<p>{escape(self.team or self.run_id)}: {self.outcome}, {len(self.steps)} steps</p>"
        return f"{head}<table><tr><th>step</th><th>agent</th><th>first words</th></tr>{rows}</table>{left}"

    def instructions_of(self, agent: str | None) -> str | None:
        """The instructions of a member of the team; None where they are not known."""
        return next((spec.instructions for spec in self.agents if spec.name == agent), None)

    @property
    def agent_names(self) -> tuple[str, ...]:
        """Names of the team's members, then of any other agent that acted, each once."""
        return tuple(dict.fromkeys([*(spec.name for spec in self.agents), *(step.agent for step in self.steps)]))
