"""The pipeline as a sequence of tasks."""

from __future__ import annotations

from crewai import Crew, Task

from tracer_hooks.suites.architectures import Blueprint
from tracer_hooks_crewai.teams._agents import crew, crew_agents, part


def sop_pipeline(plan: Blueprint) -> Crew:
    """Each hands its document on to the next."""
    agents = crew_agents(plan)
    tasks = [Task(**part(agent, plan.cue(name, []))) for name, agent in agents.items()]
    return crew(plan, list(agents.values()), tasks)
