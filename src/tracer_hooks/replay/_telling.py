"""Carrying out a repair: its text is added to the live requests that it is meant for."""

from __future__ import annotations

from tracer_hooks.frameworks import Intervention, ModelRequest, with_instructions
from tracer_hooks.repairs import Repair, RepairTarget
from tracer_hooks.replay._changed_request import with_addition, with_message
from tracer_hooks.replay._tape import Tape
from tracer_hooks.telemetry import Message, message_text


class Teller(Intervention):
    """Adds the text of one :class:`~tracer_hooks.repairs.Repair` to what the team's models are shown.

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
        self._task = _plain(task)
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
        return message.get("role") != "assistant" and self._task in _plain(message_text(message))


def _plain(text: str) -> str:
    return " ".join(text.split())
