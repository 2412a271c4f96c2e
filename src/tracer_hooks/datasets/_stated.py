"""Outcomes stated by a person for runs that do not state their own, and what a trace leaves out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tracer_hooks.errors import ConfigError
from tracer_hooks.schema import RunOutcome, Step, StepKind, Trajectory
from tracer_hooks.values import compare_values

OutcomeSource = Literal["trace", "stated", "expected answer"]
"""Who decided how a run ended: the trace itself, the person who asks, or the comparison with the expected answer."""
WITHOUT_CONTENT = "texts (recorded without content)"
_FAREWELL = re.compile(r"\W*(?:terminate|exit|done|tasks? (?:is )?complete[d]?)?\W*", re.IGNORECASE)
"""A message that says no more than that the conversation is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverriddenRun:
    """A run with what was said of it."""

    trajectory: Trajectory
    """The run, with the outcome that counts."""
    source: OutcomeSource = "trace"
    """Who decided that outcome."""
    note: str = ""
    """In a sentence, what decided; empty where the trace alone did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeOverride:
    """Statement about runs; it holds for each of them.

    An outcome that is said counts, whatever the trace says. Without one an expected answer decides: a final answer that
    differs makes a run a failed one, and one that agrees makes a run of unknown outcome a succeeded one. A run whose
    trace says that it failed stays failed.

    Raises:
        ConfigError: There is a reason, and nothing that can make a run a failed one.
    """

    outcome: RunOutcome | None = None
    """How the runs ended."""
    reason: str | None = None
    """Why they failed."""
    expected: str | None = None
    """The answer that they should have given."""

    def __post_init__(self) -> None:
        if self.reason is None:
            return
        if self.outcome in (RunOutcome.SUCCEEDED, RunOutcome.UNKNOWN):
            raise ConfigError(
                f"the outcome is {self.outcome.value!r} and a reason is given, expected a reason only for runs that "
                "failed. Next: leave the reason out, or say that they failed"
            )
        if self.outcome is None and self.expected is None:
            raise ConfigError(
                "a reason is given and no outcome, expected both: it is the reason why runs failed. Next: say that "
                "they failed, too"
            )

    def of(self, trajectory: Trajectory) -> OverriddenRun:
        """``trajectory`` with the outcome that counts, and who decided it."""
        if self.outcome is None and self.expected is None:
            return OverriddenRun(trajectory=trajectory)
        answer, place = final_answer(trajectory)
        difference = compare_values(self.expected, answer).reason if self.expected is not None and answer else None
        if self.outcome is not None:
            outcome, source = self.outcome, "stated"
            note = f"Outcome: {outcome}, as you say.{self._contradictions(trajectory, answer, difference)}"
        else:
            outcome, source, note = _compared(trajectory, answer, place, difference)
        told = self._reason(trajectory, outcome, difference)
        changes = {"outcome": outcome, "outcome_reason": told, "reference": self.expected or trajectory.reference}
        return OverriddenRun(trajectory=trajectory.model_copy(update=changes), source=source, note=note)  # type: ignore[arg-type]

    def _contradictions(self, trajectory: Trajectory, answer: str, difference: str | None) -> str:
        """Return what speaks against the outcome that is said."""
        found = []
        if trajectory.outcome not in (self.outcome, RunOutcome.UNKNOWN):
            found.append(f" The trace itself says that it {trajectory.outcome}; what you say counts.")
        if self.expected is not None and answer:
            if self.outcome is RunOutcome.FAILED and difference is None:
                found.append(" Its final answer states the expected one.")
            if self.outcome is RunOutcome.SUCCEEDED and difference is not None:
                found.append(f" Its final answer does not state the expected one: {difference}.")
        return "".join(found)

    def _reason(self, trajectory: Trajectory, outcome: RunOutcome, difference: str | None) -> str | None:
        if outcome is not RunOutcome.FAILED:
            return trajectory.outcome_reason if trajectory.outcome is outcome else None
        of_trace = trajectory.outcome_reason if trajectory.outcome is not RunOutcome.SUCCEEDED else None
        why = self.reason if self.reason is not None else of_trace
        if why and difference and difference not in why:
            return f"{why} ({difference})"
        return why or difference


def final_answer(trajectory: Trajectory) -> tuple[str, int | None]:
    """Return what the run answered; and the step whose words those are, where the trace names no answer.

    Returns:
        The answer, empty where there is none; None for the step where the trace itself names the answer.
    """
    if trajectory.final_output and trajectory.final_output.strip():
        return trajectory.final_output, None
    for step in reversed(trajectory.steps):
        if step.error is None and not _FAREWELL.fullmatch(step.content):
            return step.content, step.index
    return "", None


def _compared(
    trajectory: Trajectory, answer: str, place: int | None, difference: str | None
) -> tuple[RunOutcome, OutcomeSource, str]:
    """The outcome that the expected answer decides."""
    if not answer:
        note = f"Outcome: {trajectory.outcome}. There is no final answer to compare with the expected one."
        return trajectory.outcome, "trace", note
    where = "its final answer" if place is None else f"its last message (step {place}), taken for its final answer,"
    if difference is not None:
        note = f"Outcome: failed, since {where} does not state the expected one: {difference}."
        return RunOutcome.FAILED, "expected answer", note
    if trajectory.outcome is RunOutcome.FAILED:
        note = f"Outcome: failed, as the trace says, although {where} states the expected one."
        return RunOutcome.FAILED, "trace", note
    note = f"Outcome: succeeded, since {where} states the expected one."
    return RunOutcome.SUCCEEDED, "expected answer", note


_UNNAMED = "assistant"
"""What an agent is called whose spans give no name, in a trace without a team."""


def lacks(trajectory: Trajectory) -> tuple[str, ...]:
    """Name what ``trajectory`` lacks, in words to be read after "the trace lacks"; empty where nothing is missing.

    Traces hold what their instrumentation chose to write. What is not there can be no evidence, so say it beside a
    diagnosis. Words that stand alone ("inputs", "tool results") mean that none is there; "some inputs" that part is.
    """
    steps = trajectory.steps
    if not steps:
        return ("steps",)
    found = ["agent names"] if _is_unnamed(trajectory) else []
    if not _has_text(trajectory):
        return (*found, WITHOUT_CONTENT)
    calls = [call for step in steps for call in step.tool_calls]
    found += [] if any(step.content for step in steps) else ["texts"]
    found += _part("inputs", [any(item.text for item in step.inputs) for step in _first_steps(steps)])
    found += ["tool calls"] if _hides_tool_calls(trajectory) else []
    found += _part("tool arguments", [call.arguments is not None for call in calls])
    calls = [call for step in steps if step.kind is not StepKind.HANDOFF for call in step.tool_calls]
    found += _part("tool results", [call.result is not None or call.error is not None for call in calls])
    found += [] if trajectory.task else ["the task"]
    found += [] if trajectory.final_output else ["the final answer"]
    return tuple(found)


def _part(what: str, present: Sequence[bool]) -> list[str]:
    if all(present):
        return []
    return [f"some {what}" if any(present) else what]


def _is_unnamed(trajectory: Trajectory) -> bool:
    """Tell whether the only agent bears the name that is given where none is known, and nothing else is known of it."""
    names = {step.agent for step in trajectory.steps}
    told = any(spec.instructions for spec in trajectory.agents)
    return names <= {_UNNAMED, trajectory.team} and not told


def _hides_tool_calls(trajectory: Trajectory) -> bool:
    """Tell whether members have tools but no calls, nor any model call, which would show that none was asked for."""
    seen = any(step.tool_calls or step.model or step.usage is not None for step in trajectory.steps)
    return not seen and any(spec.tools for spec in trajectory.agents)


def _has_text(trajectory: Trajectory) -> bool:
    """Tell whether any content was recorded: names, counts and errors stand in a trace without content, too."""
    return any(
        step.content
        or any(item.text for item in step.inputs)
        or any(call.arguments is not None or call.result for call in step.tool_calls)
        for step in trajectory.steps
    )


def _first_steps(steps: Sequence[Step]) -> list[Step]:
    """Each agent's first step: something must have reached it before. Its later ones may follow without a word."""
    return list({step.agent: step for step in reversed(steps)}.values())
