"""What labelled data is built from: a team, and tasks that it works on."""

from __future__ import annotations

from typing import Protocol

from tracer_hooks.replay import TeamRunner
from tracer_hooks.suites import SuiteTask


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
