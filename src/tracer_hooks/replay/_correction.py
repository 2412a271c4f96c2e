"""The one change that a counterfactual replay makes, and the intervention that makes it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import Field

from tracer_hooks.errors import ConfigError, ReplayError
from tracer_hooks.frameworks import Intervention, ModelRequest, ToolRequest, with_instructions
from tracer_hooks.repairs import Repair, RepairTarget
from tracer_hooks.replay._changed_request import with_addition, with_message
from tracer_hooks.replay._tape import Tape, TapedModelCall, TapedToolRequest, model_digest
from tracer_hooks.schema import Record, Text
from tracer_hooks.telemetry import ChatReply, RequestedTool


class Correction(Record):
    """What an agent does at one step instead of what it did: a given reply, or another try of its own.

    With ``content`` or ``tool_calls`` the agent's model is not asked: that is its reply. Otherwise it is asked again,
    with ``guidance`` at the end of its instructions, with ``message`` at the end of its last message, or with other
    ``instructions``, in this one request.
    """

    content: Text | None = None
    """The text of the reply."""
    tool_calls: tuple[TapedToolRequest, ...] = ()
    """The tools that the reply calls."""
    guidance: Text = ""
    """What the agent is told before it tries again, at the end of its instructions."""
    message: Text = ""
    """What it is told at the end of the last message that it is shown."""
    instructions: Text | None = None
    """Its instructions in place of those that it has."""
    source: Text = Field(default="user")
    """Who wrote it: ``user``, or a proposer's name."""

    @property
    def is_reply(self) -> bool:
        """Whether it gives the reply itself."""
        return self.content is not None or bool(self.tool_calls)

    @property
    def is_resample(self) -> bool:
        """Whether nothing is changed: the agent is asked the very same again."""
        return not (self.is_reply or self.guidance or self.message or self.instructions is not None)

    def applied_to(self, request: ModelRequest) -> ModelRequest | None:
        """The request of another try; None where it is the very same."""
        if self.is_resample:
            return None
        if self.instructions is not None:
            request = with_instructions(request, self.instructions, covert=True) or request
        if self.guidance:
            request = with_guidance(request, self.guidance)
        return with_message(request, self.message) if self.message else request

    def reply(self) -> ChatReply:
        """The reply as adapters take it."""
        calls = tuple(
            RequestedTool(name=c.name, arguments=c.arguments, id=c.id or f"call_corrected_{i}")
            for i, c in enumerate(self.tool_calls)
        )
        return ChatReply(content=self.content or "", tool_calls=calls)

    @classmethod
    def of(cls, correction: Correction | Repair | str | Mapping[str, object]) -> Correction:
        """A correction from what a user writes: the reply as text, or the fields; or from a repair.

        Raises:
            ConfigError: It is none of these.
            ReplayError: The repair adds to the task, which more than one step reads.
        """
        if isinstance(correction, Correction):
            return correction
        if isinstance(correction, Repair):
            return cls._of_repair(correction)
        if isinstance(correction, str):
            return cls(content=correction)
        try:
            return cls.model_validate(dict(correction))
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"the correction {correction!r} cannot be used ({error}); expected the reply as text, or a mapping "
                "with 'content', 'tool_calls', 'guidance', 'message' or 'instructions'"
            ) from error

    @classmethod
    def _of_repair(cls, repair: Repair) -> Correction:
        match repair.target:
            case RepairTarget.NOTHING:
                return cls(source=repair.strategy)
            case RepairTarget.MESSAGE:
                return cls(message=repair.text, source=repair.strategy)
            case RepairTarget.INSTRUCTIONS:
                return cls(instructions=repair.text, source=repair.strategy)
            case RepairTarget.REPLY:
                return cls(content=repair.text, source=repair.strategy)
        raise ReplayError(
            f"the repair of {repair.strategy!r} adds to the task, expected a change of one step: a message, "
            "instructions, a reply, or nothing"
        )


@dataclass(frozen=True)
class TapedRequest:
    """Picks the request that a taped call was made with, wherever in the order of a replay it comes."""

    call: TapedModelCall

    @classmethod
    def at_step(cls, tape: Tape, step: int) -> TapedRequest:
        """The request of the first model call of a step.

        Raises:
            ReplayError: The step has no model call, so there is nothing that could be replayed with a change.
        """
        calls = tape.at_step(step)
        if not calls:
            steps = sorted({call.step for call in tape.model_calls})
            raise ReplayError(
                f"step {step} of run {tape.run_id!r} has no model call on the tape, expected one of the steps {steps}. "
                f"Run: tracer-hooks runs show {tape.run_id}"
            )
        return cls(calls[0])

    def matches(self, request: ModelRequest | ToolRequest) -> bool:
        """Whether ``request`` is this one; a tool call never is."""
        if isinstance(request, ToolRequest):
            return False
        return request.agent == self.call.agent and self.call.digest == model_digest(request.agent, request.messages)


class Corrector(Intervention):
    """Carries out one :class:`Correction` at one step, at every try of it.

    Args:
        correction: What to do.
        at: The request to do it at. A lenient replay may not see the very request: the step's number counts, too.
        lenient: Whether it does.

    Attributes:
        is_applied: Whether the request came.
        missed: The first other request of the same agent before it came.
    """

    def __init__(self, correction: Correction, at: TapedRequest, *, lenient: bool = False) -> None:
        self.is_applied = False
        self.missed: ModelRequest | None = None
        self._correction = correction
        self._at = at
        self._lenient = lenient
        self._step: int | None = None
        self._lock = threading.Lock()

    def before_model(self, request: ModelRequest) -> ModelRequest | ChatReply | None:
        with self._lock:
            if not self._is_meant(request):
                if not self.is_applied and self.missed is None and request.agent == self._at.call.agent:
                    self.missed = request
                return None
            self.is_applied, self._step = True, request.step
        if self._correction.is_reply:
            return self._correction.reply()
        return self._correction.applied_to(request)

    def _is_meant(self, request: ModelRequest) -> bool:
        if self._step is not None and request.step != self._step:
            return False  # the same question may be asked again at a later step
        numbered = self._lenient and (request.agent, request.step) == (self._at.call.agent, self._at.call.step)
        return numbered or self._at.matches(request)


def with_guidance(request: ModelRequest, guidance: str) -> ModelRequest:
    """``request`` with ``guidance`` at the end of its instructions, unseen by the trace.

    A request without a system message has it at the end of its last message.
    """
    messages = request.messages
    if not messages:
        return request
    place = next((i for i, message in enumerate(messages) if message.get("role") == "system"), len(messages) - 1)
    return with_addition(request, place, guidance)
