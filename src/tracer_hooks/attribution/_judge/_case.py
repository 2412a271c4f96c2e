"""One trajectory as the judge is asked about it: who may be named, and what is known of the outcome."""

from __future__ import annotations

from dataclasses import dataclass

from tracer_hooks._cached_property import cached_property
from tracer_hooks.attribution._judge._excerpt import cut, shares
from tracer_hooks.attribution._judge._fence import fenced, flat
from tracer_hooks.attribution._reading._roles import fold, is_person
from tracer_hooks.schema import AgentSpec, RunOutcome, Trajectory

FAULT, NO_FAULT, ENVIRONMENT_FAULT = "fault", "no fault", "environment fault"
UNNAMED = "(unnamed)"
NOBODY = "no agent made a decisive error"
"""How a choice offers that there is no fault."""
_MOST_AGENTS = 40


class ReplyError(Exception):
    """A reply cannot be used; the text is for the judge, which gets one chance to repair it."""


@dataclass(frozen=True, slots=True)
class Member:
    """One agent as the prompt introduces it."""

    name: str
    instructions: str
    tools: str
    note: str


class Case:
    """A trajectory with what may be answered about it.

    Args:
        trajectory: What happened.
        reference: The expected answer, when the judge may know it.
        header_chars: Characters that task, final answer and instructions may take in a prompt.
    """

    def __init__(self, trajectory: Trajectory, reference: str | None, *, header_chars: int) -> None:
        self.trajectory = trajectory
        self.steps = trajectory.steps
        texts = [trajectory.task, trajectory.outcome_reason, trajectory.final_output, reference]
        given = shares([len(text or "") for text in texts], header_chars * 2 // 3)
        shown = [fenced(cut(text or "", share)) for text, share in zip(texts, given, strict=True)]
        self.task, self.reason, self.final_output, self.reference = shown
        self.outcome = trajectory.outcome.value
        self._header_chars = header_chars

    @cached_property
    def answerable(self) -> tuple[int, ...]:
        """The steps that may be the answer: those of the team's members, or all when only people acted."""
        own = tuple(step.index for step in self.steps if not is_person(step.agent))
        return own or tuple(step.index for step in self.steps)

    @cached_property
    def agents(self) -> tuple[str, ...]:
        """The agents that may be the answer, in order of their first step."""
        return tuple(dict.fromkeys(self.steps[index].agent for index in self.answerable))

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """The team as the prompt introduces it; of a very large team those that acted first."""
        acted = {step.agent for step in self.steps}
        specs = {spec.name: spec for spec in self.trajectory.agents}
        names = sorted(self.trajectory.agent_names, key=lambda name: name not in acted)[:_MOST_AGENTS]
        room = self._header_chars // 3 // max(1, len(names))
        notes = {name: "a person" if is_person(name) else "" if name in acted else "never acted" for name in names}
        return tuple(_member(name, specs.get(name), notes[name], room) for name in names)

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdicts that make sense: a run that is known to have failed has a fault somewhere."""
        known = self.trajectory.outcome is RunOutcome.FAILED
        return (FAULT, ENVIRONMENT_FAULT) if known else (FAULT, NO_FAULT, ENVIRONMENT_FAULT)

    @property
    def is_failure(self) -> bool:
        """Whether the run is known to have failed."""
        return self.trajectory.outcome is RunOutcome.FAILED

    def owner(self, step: int) -> str:
        """The agent that acted in a step."""
        return self.steps[step].agent

    def shown_owner(self, step: int) -> str:
        """The same as the prompts write it."""
        return flat(self.owner(step)) or UNNAMED

    def check_step(self, step: int) -> int:
        """``step`` itself.

        Raises:
            ReplyError: The record has no such step, or a person acted in it.
        """
        if not 0 <= step < len(self.steps):
            raise ReplyError(f"there is no step {step}: the record has the steps 0 to {len(self.steps) - 1}")
        if step not in self.answerable:
            raise ReplyError(f"step {step} is by {self.owner(step)!r}, a person and no member of the team")
        return step

    def agent_named(self, name: str, *, at: int | None = None) -> str:
        """The agent that a reply means by ``name``, whatever its case, spaces and punctuation.

        Args:
            name: As the judge wrote it.
            at: A step; when several agents fit the name, the one that acted there is meant.

        Raises:
            ReplyError: No agent of the run has that name.
        """
        if name in self.agents:
            return name
        as_shown = [agent for agent in self.agents if flat(agent) == name]
        if len(as_shown) == 1:
            return as_shown[0]
        folded = {fold(name), fold(name.partition("(")[0])} - {""}
        fitting = [agent for agent in self.agents if fold(agent) in folded]
        if not fitting:
            raise ReplyError(f"no agent is called {name!r}: expected one of {', '.join(map(repr, self.agents))}")
        return self.owner(at) if at is not None and self.owner(at) in fitting else fitting[0]


def _member(name: str, spec: AgentSpec | None, note: str, room: int) -> Member:
    instructions = (spec.instructions or "") if spec is not None else ""
    return Member(
        name=flat(name),
        instructions=fenced(cut(" ".join(instructions.split()), room)),
        tools=fenced(cut(", ".join(map(flat, spec.tools)), room)) if spec is not None else "",
        note=note,
    )
