"""The debate as a sequence of tasks; each names the tasks whose results its agent is shown."""

from __future__ import annotations

from crewai import Crew, Task

from tracer_hooks.suites.architectures import Blueprint, Said
from tracer_hooks_crewai.teams._agents import crew, crew_agents, part


def debate(plan: Blueprint) -> Crew:
    """The order and the contexts are fixed when the crew is built."""
    agents = crew_agents(plan)
    said: list[Said] = []
    tasks: list[Task] = []
    while (name := plan.next_agent(said)) is not None:
        seen = {id(one) for one in plan.seen_by(name, said)}
        context = [task for task, one in zip(tasks, said, strict=True) if id(one) in seen]
        tasks.append(Task(**part(agents[name], plan.cue(name, said), context=context)))
        said.append(Said(name, ""))
    return crew(plan, list(agents.values()), tasks)
