"""Planner, solver and checker as a sequence of tasks, the last ones of which depend on what the checker says."""

from __future__ import annotations

from crewai import Crew

from tracer_hooks.suites.architectures import Blueprint
from tracer_hooks_crewai.teams._conditional import planned_crew


def planner_solver_checker(plan: Blueprint) -> Crew:
    """Solving and checking again are tasks that are skipped unless the checker sent the work back."""
    return planned_crew(plan, first=["planner", "solver", "checker"], again=["solver", "checker"])
