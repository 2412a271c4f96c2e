"""Writers of prompts: the judged runs that they learn from, and what they are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from pydantic import Field

from tracer_hooks.repair import Failure, Secrets
from tracer_hooks.schema import Attribution, Record, Text, Trajectory, Usage
from tracer_hooks.tasks import SuiteTask


class JudgedRun(Record):
    """A run with its verdict; of a failed one the diagnosis, and what the team may be told of the reason."""

    task: Text
    """Identifies the task."""
    score: float = Field(ge=0, le=1)
    """How good it was; 1 for a run that passed where the check gives no score."""
    passed: bool
    """Whether it did what it should."""
    trajectory: Trajectory
    """What happened, with the expected answer where it is known: see :meth:`failure` for what may be shown."""
    attribution: Attribution | None = None
    """The diagnosis of a failed run."""
    feedback: Text | None = None
    """What the team may be told of the check's reason."""
    usage: Usage = Usage()
    """Tokens that it took, with those of its diagnosis and of tries that its surroundings failed."""
    seconds: float = 0.0
    """How long it took."""

    @property
    def failure(self) -> Failure:
        """The run as those may see it who write prompts: without the expected answer."""
        return Failure.of(self.trajectory, self.attribution, feedback=self.feedback)

    @property
    def secrets(self) -> Secrets:
        """The expected answer, which no prompt may tell."""
        return Secrets.of(self.trajectory)

    @property
    def blamed(self) -> str | None:
        """The agent that the diagnosis names; None without one."""
        found = self.attribution
        return None if self.passed or found is None or found.abstained else found.agent


class Trials(Protocol):
    """Runs the team on tasks, with given prompts."""

    def run(self, tasks: Sequence[SuiteTask], prompts: Mapping[str, str]) -> list[JudgedRun]:
        """One new run a task, in the order of the tasks."""
        ...


class TriedPrompt(Record):
    """Instructions that were written and not kept."""

    agent: Text
    """Whose."""
    text: Text = ""
    """What was written; empty where it could not be used at all."""
    why: Text
    """Why they were not kept."""


@dataclass(frozen=True, kw_only=True)
class PromptCase:
    """Facts about an agent whose instructions are to be rewritten."""

    agent: str
    """Whose instructions."""
    instructions: str
    """They as they are now."""
    own: str
    """They as the team came with them; how long a rewrite may become is measured by them."""
    runs: tuple[JudgedRun, ...]
    """The runs to learn from."""
    tried: tuple[TriedPrompt, ...] = ()
    """What was tried before for this agent."""
    tools: tuple[str, ...] = ()
    """The names of its tools."""
    others: tuple[str, ...] = ()
    """The other agents of the team."""


@dataclass(frozen=True, kw_only=True)
class WrittenPrompt:
    """Result of the writing."""

    text: str | None = None
    """The new instructions; None where there are none that could be used."""
    rejected: str = ""
    """Why not, in words."""
    usage: Usage = field(default_factory=Usage)
    """Tokens that it took."""


@runtime_checkable
class PromptWriter(Protocol):
    """Writes new instructions for one agent from runs that it made fail."""

    name: str
    """Name that its prompts are signed with."""
    reads_only_blamed: bool
    """Whether it is shown only the failures that the diagnosis lays on this agent, or all runs."""

    def write(self, case: PromptCase) -> WrittenPrompt:
        """New instructions; a text that tells an expected answer is refused by the caller, too."""
        ...
