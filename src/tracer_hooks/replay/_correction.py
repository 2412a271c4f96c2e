"""Corrections of a recorded run: changed requests and replies, and repairs injected into requests."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import Field

from tracer_hooks.errors import ConfigError, ReplayError
from tracer_hooks.frameworks import Intervention, ModelRequest, ToolRequest, with_instructions
from tracer_hooks.repair import Repair, RepairTarget
from tracer_hooks.replay._tape import Tape, TapedModelCall, TapedToolRequest, model_digest
from tracer_hooks.schema import Record, Text
from tracer_hooks.telemetry import ChatReply, Message, RequestedTool, message_text, text_message


def with_message(request: ModelRequest, text: str) -> ModelRequest | None:
    """``request`` with ``text`` at the end of what the model is to answer; None where it shows no message.

    That is the user's last message; where there is none, the system's.
    """
    for role in ("user", "system"):
        places = [place for place, message in enumerate(request.messages) if message.get("role") == role]
        if places:
            return with_addition(request, places[-1], text)
    return None


def with_addition(request: ModelRequest, place: int, text: str) -> ModelRequest:
    """``request`` with ``text`` as a paragraph of its own at the end of one message."""
    messages = list(request.messages)
    old = messages[place]
    told = f"{message_text(old)}\n\n{text}".strip()
    messages[place] = text_message(str(old.get("role", "user")), told, name=old.get("name"))
    return replace(request, messages=tuple(messages), covert=True)


class Correction(Record):
    """Act of an agent at one step in place of what it did: a given reply, or another try of its own.

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
        """Tell whether it gives the reply itself."""
        return self.content is not None or bool(self.tool_calls)

    @property
    def is_resample(self) -> bool:
        """Tell whether nothing is changed: the agent is asked the very same again."""
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
        """The request of the first model call of a step."""
        calls = tape.at_step(step)
        if not calls:
            steps = sorted({call.step for call in tape.model_calls})
            raise ReplayError(
                f"step {step} of run {tape.run_id!r} has no model call on the tape, expected one of the steps {steps}. "
                f"Run: tracer-hooks runs show {tape.run_id}"
            )
        return cls(calls[0])

    def matches(self, request: ModelRequest | ToolRequest) -> bool:
        """Tell whether ``request`` is this one; a tool call never is."""
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


class RepairInjector(Intervention):
    """Adds the text of one :class:`~tracer_hooks.repair.Repair` to what the team's models are shown.

    It comes behind a :class:`TapePlayer`, which answers the requests of the kept steps itself. The change is covert:
    the record keeps what the team itself asked, so that a later trial can begin from this one's record.

    Args:
        repair: What is told to whom.
        task: The task, as the team was given it.
        tape: The record of the failed run; it shows whether the agents see the task in its own words.

    Attributes:
        told: How many requests the text was added to.
    """

    def __init__(self, repair: Repair, task: str, tape: Tape) -> None:
        self.told = 0
        self._repair = repair
        self._task = _repair_text(task)
        self._shows_task = bool(self._task) and any(self._holds_task(message) for message in tape.messages)

    def before_model(self, request: ModelRequest) -> ModelRequest | None:
        changed = self._changed(request)
        self.told += changed is not None
        return changed

    def _changed(self, request: ModelRequest) -> ModelRequest | None:
        """The request with what is told; None where this one is not meant."""
        repair = self._repair
        if repair.agent is not None and repair.agent != request.agent:
            return None
        if repair.target is RepairTarget.INSTRUCTIONS:
            return with_instructions(request, repair.text, covert=True)
        if repair.target is RepairTarget.TASK and self._shows_task:
            place = next((i for i, message in enumerate(request.messages) if self._holds_task(message)), None)
            return None if place is None else with_addition(request, place, repair.text)
        return with_message(request, repair.text)

    def _holds_task(self, message: Message) -> bool:
        return message.get("role") != "assistant" and self._task in _repair_text(message_text(message))


def _repair_text(text: str) -> str:
    return " ".join(text.split())
