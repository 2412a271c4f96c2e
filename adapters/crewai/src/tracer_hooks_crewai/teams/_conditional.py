"""Tasks that are carried out only when it is their agent's turn: loops and choices in a sequential crew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crewai import Agent, Crew, Task
from crewai.tasks.conditional_task import ConditionalTask

from tracer_hooks.suites.architectures import Blueprint, Said
from tracer_hooks_crewai.teams._agents import crew, crew_agents, part


def planned_crew(plan: Blueprint, first: Sequence[str], again: Sequence[str]) -> Crew:
    """A sequential crew in which the plan chooses by what was said which tasks are carried out.

    Args:
        plan: The team.
        first: The agents that act in any case, in order.
        again: The agents that may act in one round of the loop, in order.
    """
    agents = crew_agents(plan)
    tasks: list[Task] = []
    for name in first:
        tasks.append(Task(**part(agents[name], plan.cue(name, []), context=[*tasks])))
    for left in reversed(range(plan.rounds)):
        for name in again:
            cue = plan.cue(name, []) if left or name != again[-1] else plan.architecture.last_cue
            tasks.append(_when_chosen(plan, agents[name], [*tasks], cue))
    return crew(plan, list(agents.values()), tasks)


def _when_chosen(plan: Blueprint, agent: Agent, before: list[Task], cue: str) -> Task:
    def is_chosen(previous: Any) -> bool:
        chosen = plan.next_agent(_said(before)) == agent.role
        if not chosen:
            task.output = None  # CrewAI keeps that of an earlier kickoff
        return chosen

    task = ConditionalTask(condition=is_chosen, **part(agent, cue, context=before))
    return task


def _said(tasks: Sequence[Task]) -> list[Said]:
    done = [(task.agent, task.output) for task in tasks]
    return [Said(agent.role, output.raw) for agent, output in done if agent is not None and output is not None]
