"""What a build works on: teams, the tasks that they get, and the ids of the units of work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tracer_hooks.replay import TeamRunner
from tracer_hooks.suites import SuiteTask

# What the id of a unit begins with, by what is done.
RUN = "run/"
PLAN = "plan/"
FAULT = "fault/"
NATURAL = "natural/"


class Subject(Protocol):
    """A team that can be run on tasks."""

    @property
    def name(self) -> str:
        """Identifies the team in the data set, such as ``"langgraph/debate"``; a part of the ids of units."""
        ...

    @property
    def architecture(self) -> str:
        """How the team is organised; empty where it is the user's own."""
        ...

    def runner(self, task: SuiteTask) -> TeamRunner:
        """What runs the team on one task.

        Raises:
            AdapterError: The team cannot be built.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class RunUnit:
    """One run of one team on one task."""

    subject: Subject
    task: SuiteTask
    repeat: int

    @property
    def name(self) -> str:
        """The unit's id."""
        return f"{self.subject.name}/{self.task.suite}/{self.task.id}/{self.repeat}"
