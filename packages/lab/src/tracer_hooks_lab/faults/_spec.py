"""What is to go wrong in a run: one fault of one mode at one step of one agent."""

from __future__ import annotations

import hashlib
import json
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import ModelWrapValidatorHandler, ValidationError, model_validator

from tracer_hooks.errors import FaultError
from tracer_hooks.schema import ErrorMode, Record, Text


class FaultStrategy(StrEnum):
    """Way in which a fault is put into a run."""

    RESPONSE_CORRUPTION = "response_corruption"
    """The model's reply is changed after it was given."""
    PROMPT_INJECTION = "prompt_injection"
    """An instruction is laid into one request, so that the model itself errs; it does not show in the record."""
    TOOL = "tool"
    """The result of one tool call is changed or lost."""
    CHANNEL = "channel"
    """What the agent sees of the others in one request is changed; it does not show in the record."""


class ToolFault(StrEnum):
    """Fault of a tool call; see :func:`faulty_tool_reply`."""

    TIME_OUT = "time_out"
    ERROR = "error"
    WRONG_RESULT = "wrong_result"
    STALE_RESULT = "stale_result"
    TRUNCATED = "truncated"
    EMPTY = "empty"


class ChannelFault(StrEnum):
    """Fault of the channel between the agents; see :func:`faulty_messages`."""

    DROPPED = "dropped"
    DUPLICATED = "duplicated"
    REORDERED = "reordered"
    TRUNCATED = "truncated"


_CLOSED_KINDS: dict[FaultStrategy, type[StrEnum]] = {
    FaultStrategy.TOOL: ToolFault,
    FaultStrategy.CHANNEL: ChannelFault,
}


class FaultSpec(Record):
    """One fault: what, where, how, and the seed of every choice that is left open.

    Raises:
        FaultError: A field has an unusable value, or two fields do not go together.
    """

    strategy: FaultStrategy
    """How the fault is put in."""
    mode: ErrorMode | None = None
    """How the agent errs. Needed for replies and prompts; tool and channel faults may go without."""
    kind: Text | None = None
    """Name of the mutator, tool fault or channel fault; None lets the seed choose among those that fit the reply."""
    agent: Text | None = None
    """The agent that errs; None takes whichever acts at ``step``."""
    step: int | None = None
    """Index of the step; None leaves it to the plan, or to the injector's own ``matches``."""
    writer: Literal["programmatic", "llm"] = "programmatic"
    """Who writes the changed reply or the instruction."""
    seed: int = 0
    """Seed of every random choice."""

    @model_validator(mode="wrap")
    @classmethod
    def _say_clearly(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            spec = handler(data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "record"
            raise FaultError(f"FaultSpec: {where} = {first['input']!r}: {first['msg']}") from error
        problem = spec._problem()
        if problem is not None:
            raise FaultError(f"FaultSpec: {problem}")
        return spec

    def _problem(self) -> str | None:
        kinds = _CLOSED_KINDS.get(self.strategy)
        if self.mode is None and kinds is None:
            return f"strategy {self.strategy.value!r} needs a mode, such as ErrorMode.FM_2_6"
        if self.step is not None and self.step < 0:
            return f"step is {self.step}, expected 0 or more"
        if kinds is not None and self.kind is not None and self.kind not in {kind.value for kind in kinds}:
            names = ", ".join(kind.value for kind in kinds)
            return f"kind {self.kind!r} is no {self.strategy.value} fault, expected one of {names}"
        if kinds is not None and self.writer == "llm":
            return f"a {self.strategy.value} fault has no text to write, expected writer='programmatic'"
        if self.strategy is FaultStrategy.PROMPT_INJECTION and self.kind is not None:
            return f"kind {self.kind!r} does not go with prompt_injection, whose wording the seed chooses"
        if self.writer == "llm" and self.kind is not None:
            return f"kind {self.kind!r} names a mutator, which writer='llm' does not use"
        return None

    @property
    def fault_id(self) -> str:
        """Twelve hex digits that stand for all fields: the same in every process."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]
