"""Who writes the correction of a step when the user gives none."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tracer_hooks.errors import ReplayError
from tracer_hooks.replay._correction import Correction
from tracer_hooks.schema import Attribution, ErrorMode, Step, Trajectory

Chat = Callable[[Sequence[dict[str, str]]], str]
"""Asks a language model: messages with ``role`` and ``content`` in, the reply's text out."""

_STEP_CHARS = 1_500


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """What a proposer is given."""

    trajectory: Trajectory
    """The failed run; without the expected answer, and without the check's reason, which may quote it."""
    step: int
    """The step to correct."""
    attribution: Attribution | None = None
    """The diagnosis, if there is one."""
    reference: str | None = None
    """The expected answer; None unless the caller asked for it to be shown."""

    @classmethod
    def of(
        cls, run: Trajectory, step: int, *, attribution: Attribution | None = None, reference: str | None = None
    ) -> Proposal:
        """A proposal without anything that gives the expected answer away.

        Args:
            run: The failed run.
            step: The step to correct.
            attribution: The diagnosis; evidence whose explanation names the run's expected answer is left out.
            reference: The expected answer, when it is to be shown after all.
        """
        if attribution is not None and reference is None and run.reference:
            told = run.reference.casefold()
            kept = tuple(item for item in attribution.evidence if told not in item.why.casefold())
            attribution = attribution.model_copy(update={"evidence": kept})
        hidden = run.model_copy(update={"reference": None, "outcome_reason": None})
        return cls(trajectory=hidden, step=step, attribution=attribution, reference=reference)

    @property
    def error_mode(self) -> ErrorMode | None:
        """How the step went wrong, if the diagnosis is about this step."""
        attribution = self.attribution
        return attribution.error_mode if attribution is not None and attribution.step == self.step else None

    @property
    def notes(self) -> list[str]:
        """What the diagnosis quotes from this step, with the reason."""
        evidence = self.attribution.evidence if self.attribution is not None else ()
        return [f"«{item.quote}»: {item.why}" for item in evidence if item.step == self.step]


class Proposer(Protocol):
    """Writes corrections."""

    name: str
    """Becomes :attr:`Correction.source`."""

    def propose(self, proposal: Proposal) -> Correction:
        """The correction for one step.

        Raises:
            ReplayError: There is none.
        """
        ...


class ResampleProposer:
    """Asks the agent the very same again: a correction by chance, and for teams whose fault came from outside."""

    name = "resample"

    def propose(self, proposal: Proposal) -> Correction:
        """See :class:`Proposer`."""
        return Correction(source=self.name)


class TemplateProposer:
    """Lets the agent try again with a word of guidance, made from the diagnosis without any language model."""

    name = "template"

    def propose(self, proposal: Proposal) -> Correction:
        """See :class:`Proposer`."""
        lines = [
            "Take particular care with this reply. Read the task again, go through everything that the others wrote,",
            "work each point out anew instead of taking it over, and check your result before you give it.",
        ]
        if proposal.error_mode is not None:
            lines.append(f"A mistake to avoid: {proposal.error_mode.definition}")
        lines += [f"Look twice at this: {note}" for note in proposal.notes]
        return Correction(guidance="\n".join(lines), source=self.name)


class LLMProposer:
    """Has a language model write the reply that the agent should have given.

    It sees the task, the run up to the step and, unless ``continues`` is false, how the run went on; never the expected
    answer, unless the caller of the replay asked for it.

    Args:
        chat: Asks the model.
        continues: Whether the rest of the run is shown.
    """

    name = "llm"

    def __init__(self, chat: Chat, *, continues: bool = True) -> None:
        self._chat = chat
        self._continues = continues

    def propose(self, proposal: Proposal) -> Correction:
        """See :class:`Proposer`."""
        text = self._chat(_messages(proposal, continues=self._continues)).strip()
        faulty = proposal.trajectory.steps[proposal.step].content.strip()
        if not text or text == faulty:
            raise ReplayError(
                f"the model wrote no other reply for step {proposal.step}; expected a corrected one. Use another "
                "model, or the proposer 'template'"
            )
        return Correction(content=text, source=self.name)


def _messages(proposal: Proposal, *, continues: bool) -> list[dict[str, str]]:
    run, step = proposal.trajectory, proposal.trajectory.steps[proposal.step]
    parts = [f"Task of the team:\n{run.task}"]
    instructions = next((spec.instructions for spec in run.agents if spec.name == step.agent), None)
    if instructions:
        parts.append(f"Instructions of the agent {step.agent}:\n{instructions}")
    before = run.steps[: proposal.step]
    if before:
        parts.append("What was done before:\n" + "\n".join(_line(item) for item in before))
    parts.append(f"The reply of {step.agent} that has to be corrected:\n{_cut(step.content) or _tools(step)}")
    after = run.steps[proposal.step + 1 :] if continues else ()
    if after:
        parts.append("How it went on, and failed:\n" + "\n".join(_line(item) for item in after))
    if proposal.error_mode is not None:
        parts.append(f"Suspected mistake: {proposal.error_mode.definition}")
    parts += [f"Suspicious: {note}" for note in proposal.notes]
    if proposal.reference is not None:
        parts.append(f"The right final answer of the whole task:\n{proposal.reference}")
    parts.append(
        f"Write the reply that {step.agent} should have given at this point. Change as little as possible, keep its "
        "form and length, do only this agent's part, and write nothing but the reply."
    )
    told = "You correct single replies in the work of a team of assistants."
    return [{"role": "system", "content": told}, {"role": "user", "content": "\n\n".join(parts)}]


def _line(step: Step) -> str:
    return f"[{step.index}] {step.agent}: {_cut(step.content)}{_tools(step)}".rstrip()


def _tools(step: Step) -> str:
    calls = [f"{c.name}({json.dumps(c.arguments)}) -> {c.result or c.error or ''}" for c in step.tool_calls]
    return "".join(f" [{_cut(call)}]" for call in calls)


def _cut(text: str) -> str:
    return text if len(text) <= _STEP_CHARS else text[:_STEP_CHARS] + " ..."
