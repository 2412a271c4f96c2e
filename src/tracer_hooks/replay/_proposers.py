"""Proposers of corrections for a step, and the corrections made from what they propose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from tracer_hooks.endpoint import Chat, ask
from tracer_hooks.errors import ConfigError, ReplayError
from tracer_hooks.repair import (
    Failure,
    Repair,
    RepairTarget,
    Resample,
    Secrets,
    WrittenGuidance,
    attempt_failed,
    cut,
    error_mode_at,
    leaks,
    masked_feedback,
    notes_on,
    steps_as_text,
    tools_as_text,
)
from tracer_hooks.replay._correction import Correction
from tracer_hooks.replay._counterfactual import CorrectionOf, StepReplay
from tracer_hooks.schema import Attribution
from tracer_hooks.telemetry import suppressed


class Proposer(Protocol):
    """Writes corrections. Any :class:`~tracer_hooks.repair.RepairStrategy` is one."""

    name: str
    """Becomes :attr:`Correction.source`."""

    def propose(self, failure: Failure, step: int) -> Repair | None:
        """The correction of one step.

        Args:
            failure: The failed run. Its trajectory has no reference answer, unless the caller asked for it to be shown.
            step: The step to correct.

        Returns:
            What its agent is told, or says instead; None where there is nothing to propose. It is checked: what gives
            the expected answer away is not run.

        Raises:
            ReplayError: There is no correction; the message says why.
        """
        ...


ResampleProposer = Resample
"""Asks the agent the very same again: a correction by chance, and for teams whose fault came from outside."""
GuidanceProposer = WrittenGuidance
"""Lets the agent try again with one or two sentences that a language model wrote, which saw the failed run."""


class TemplateProposer:
    """Lets the agent try again with a word of guidance, made from the diagnosis without any language model."""

    name = "template"

    def propose(self, failure: Failure, step: int) -> Repair | None:
        """See :class:`Proposer`."""
        lines = [
            "Take particular care with this reply. Read the task again, go through everything that the others wrote,",
            "work each point out anew instead of taking it over, and check your result before you give it.",
        ]
        mode = error_mode_at(failure, step)
        if mode is not None:
            lines.append(f"A mistake to avoid: {mode.definition}")
        lines += [f"Look twice at this: {note}" for note in notes_on(failure, step)]
        return _message(self.name, failure, step, "\n".join(lines))


class FeedbackProposer:
    """Lets the agent try again and tells it what the check said, the expected answer hidden."""

    name = "feedback"

    def propose(self, failure: Failure, step: int) -> Repair | None:
        """See :class:`Proposer`."""
        text = attempt_failed(failure.feedback)
        if text is None:
            raise ReplayError(
                "the check said nothing that may be told to the team, expected a reason besides the expected answer. "
                "Give one with Verdict(reason=...), or use the proposer 'template'"
            )
        return _message(self.name, failure, step, text)


class LLMProposer:
    """Has a language model write the reply that the agent should have given.

    It sees the task and the run; never the expected answer, unless the caller of the replay asked for it.

    Args:
        chat: Asks the model.
    """

    name = "llm"

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def propose(self, failure: Failure, step: int) -> Repair | None:
        """See :class:`Proposer`.

        Raises:
            ReplayError: The model wrote no other reply.
        """
        written = ask(self._chat, _messages(failure, step))
        faulty = failure.trajectory.steps[step]
        if not written.text or written.text == faulty.content.strip():
            raise ReplayError(
                f"the model wrote no other reply for step {step}; expected a corrected one. Use another "
                "model, or the proposer 'template'"
            )
        return Repair(
            strategy=self.name,
            target=RepairTarget.REPLY,
            agent=faulty.agent,
            text=written.text,
            resume_from=step,
            usage=written.usage,
        )


PROPOSERS: Mapping[str, Callable[[], Proposer]] = {
    "resample": Resample,
    "template": TemplateProposer,
    "feedback": FeedbackProposer,
}
"""The proposers that need nothing, by name."""


def proposers_of(named: str | Proposer | Sequence[str | Proposer]) -> tuple[Proposer, ...]:
    """The proposers that are meant, in order."""
    if isinstance(named, str):
        found = tuple(_named(name.strip()) for name in named.split(","))
    elif isinstance(named, Sequence):
        found = tuple(one for each in named for one in proposers_of(each))
    elif callable(getattr(named, "propose", None)):
        found = (named,)
    else:
        raise ConfigError(f"proposer is {named!r}, expected a name or a Proposer, with a method propose()")
    if not found:
        raise ConfigError("there is no proposer, expected one at least")
    return found


def _named(name: str) -> Proposer:
    if name == GuidanceProposer.name:
        raise ConfigError(
            "proposer 'guidance' needs a language model, expected tracer_hooks.replay.GuidanceProposer(chat); on the "
            "command line --base-url URL and --model NAME"
        )
    if name not in PROPOSERS:
        known = ", ".join(map(repr, PROPOSERS))
        raise ConfigError(
            f"unknown proposer {name!r}, expected {known}, or a Proposer such as tracer_hooks.replay.LLMProposer(chat)"
        )
    return PROPOSERS[name]()


def _message(name: str, failure: Failure, step: int, text: str) -> Repair:
    agent = failure.trajectory.steps[step].agent
    return Repair(strategy=name, target=RepairTarget.MESSAGE, agent=agent, text=text, resume_from=step)


def _messages(failure: Failure, at: int) -> list[dict[str, str]]:
    run, step = failure.trajectory, failure.trajectory.steps[at]
    parts = [f"Task of the team:\n{run.task}"]
    instructions = failure.instructions(step.agent)
    if instructions:
        parts.append(f"Instructions of the agent {step.agent}:\n{instructions}")
    before = run.steps[:at]
    if before:
        parts.append(f"What was done before:\n{steps_as_text(before)}")
    parts.append(f"The reply of {step.agent} that has to be corrected:\n{cut(step.content) or tools_as_text(step)}")
    after = run.steps[at + 1 :]
    if after:
        parts.append(f"How it went on, and failed:\n{steps_as_text(after)}")
    mode = error_mode_at(failure, at)
    if mode is not None:
        parts.append(f"Suspected mistake: {mode.definition}")
    parts += [f"Suspicious: {note}" for note in notes_on(failure, at)]
    if run.reference is not None:
        parts.append(f"The right final answer of the whole task:\n{run.reference}")
    parts.append(
        f"Write the reply that {step.agent} should have given at this point. Change as little as possible, keep its "
        "form and length, do only this agent's part, and write nothing but the reply."
    )
    told = "You correct single replies in the work of a team of assistants."
    return [{"role": "system", "content": told}, {"role": "user", "content": "\n\n".join(parts)}]


def corrections_by(
    proposer: Proposer, replay: StepReplay, *, attribution: Attribution | None = None, reference: str | None = None
) -> CorrectionOf:
    """Return what gives the correction of each step, as ``proposer`` writes it; each one is written once.

    It raises ReplayError for a step without a correction, and for one whose correction gives the expected answer away.
    The tokens that it takes to write one are counted as spent.
    """
    failure = _failure(replay, attribution, reference)
    secrets = Secrets(None) if reference is not None else Secrets.of(replay.recorded.trajectory)
    written: dict[int, Correction] = {}

    def correction_of(step: int) -> Correction:
        if step not in written:
            with suppressed():
                repair = _expect_repair(proposer, proposer.propose(failure, step), failure, step)
            replay.spending.charge(repair.usage)
            if leaks(repair, secrets, instructions=failure.instructions(repair.agent or "")):
                raise ReplayError(
                    f"what the proposer {proposer.name!r} wrote for step {step} gives the expected answer away, and "
                    "was not run. Use another proposer, or let it see the answer with show_reference=True"
                )
            written[step] = Correction.of(repair)
        return written[step]

    return correction_of


def _failure(replay: StepReplay, attribution: Attribution | None, reference: str | None) -> Failure:
    """The failed run as proposers see it."""
    run = replay.recorded.trajectory
    told = masked_feedback(run.outcome_reason, run.reference, answer=run.final_output or "")
    failure = Failure.of(run, attribution, feedback=told.text, steps=replay.steps)
    if reference is None:
        return failure
    shown = failure.trajectory.model_copy(update={"reference": reference})
    return replace(failure, trajectory=shown, attribution=attribution)


def _expect_repair(proposer: Proposer, repair: object, failure: Failure, step: int) -> Repair:
    """Return what the proposer gave, if it can be carried out at the step."""
    if repair is None:
        raise ReplayError(
            f"the proposer {proposer.name!r} has nothing to propose for step {step}. Use another proposer"
        )
    if not isinstance(repair, Repair):
        raise ReplayError(
            f"the proposer {proposer.name!r} gave {type(repair).__name__!r} for step {step}, expected a "
            "tracer_hooks.repair.Repair or None"
        )
    agent = failure.agent_at(step)
    if repair.agent not in (None, agent) or repair.resume_from not in (None, step):
        raise ReplayError(
            f"the proposer {proposer.name!r} proposed something for {repair.agent!r} at step {repair.resume_from}, "
            f"expected it for {agent!r} at step {step}"
        )
    return repair
