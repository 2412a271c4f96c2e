"""One run of the team that says something for or against its prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pydantic import Field

from tracer_hooks.repairs import Failure, Secrets
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
    """Tokens that it took."""
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
        """One new run a task, in the order of the tasks.

        Raises:
            BudgetSpentError: What it may cost is spent; what was run so far is kept.
        """
        ...
