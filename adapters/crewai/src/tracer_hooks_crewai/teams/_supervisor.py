"""The supervisor's orders, their execution and its next words as tasks; those that it did not order are skipped."""

from __future__ import annotations

from crewai import Crew

from tracer_hooks.suites.architectures import Blueprint
from tracer_hooks_crewai.teams._conditional import planned_crew


def supervisor(plan: Blueprint) -> Crew:
    """A sequence of tasks, not CrewAI's hierarchical process.

    There an order is a call of a delegation tool with three arguments, at which small models often fail, and then the
    manager does all the work itself. An order in words is read the same way in every framework.
    """
    chief, *workers = plan.instructions
    return planned_crew(plan, first=[chief], again=[*workers, chief])
