"""The architectures as CrewAI's own crews."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from crewai import LLM, Agent, BaseLLM, Crew, Task
from crewai.tasks.conditional_task import ConditionalTask
from crewai.tools import tool

from tracer_hooks.endpoint import Endpoint
from tracer_hooks_lab.teams import Blueprint, TeamUtterance, Tool, blueprint

__all__ = ["build_team"]

MAX_TOOL_REPLIES = 3
"""How many replies of one turn may call tools; CrewAI then asks for the answer."""


def chat_model(plan: Blueprint) -> BaseLLM:
    """CrewAI's own client for OpenAI's API, pointed at the plan's endpoint."""
    endpoint = plan.endpoint
    given = {"temperature": endpoint.temperature, "max_tokens": endpoint.max_tokens}
    options: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    model: BaseLLM = LLM(
        model=endpoint.model,
        provider="openai",
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        max_retries=0,
        **options,
    )
    return model


def crew_agent(plan: Blueprint, name: str, model: BaseLLM) -> Agent:
    """One of the plan's agents, whose backstory holds its instructions."""
    return Agent(
        role=name,
        goal="Do your part of the task.",
        backstory=plan.instructions[name],
        llm=model,
        tools=[tool(function.__name__)(function) for function in plan.tools_of(name)],
        max_iter=MAX_TOOL_REPLIES + 1,
        max_retry_limit=0,
        cache=False,
        # Else CrewAI has the model sum up a long conversation before it asks: calls that belong to no agent's turn.
        respect_context_window=False,
        verbose=False,
    )


def crew_agents(plan: Blueprint) -> dict[str, Agent]:
    """All of the plan's agents on one model."""
    model = chat_model(plan)
    return {name: crew_agent(plan, name, model) for name in plan.instructions}


def crew(plan: Blueprint, agents: Sequence[Agent], tasks: Sequence[Task]) -> Crew:
    """A sequential crew with none of CrewAI's extras."""
    return Crew(name=plan.name, agents=list(agents), tasks=list(tasks), cache=False, memory=False, verbose=False)


def part(agent: Agent, expected: str, **options: Any) -> dict[str, Any]:
    """Return the keywords for a task of an agent's part: the team's task, and what the agent is asked for."""
    return {"description": "{task}", "expected_output": expected, "agent": agent, **options}


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


def _said(tasks: Sequence[Task]) -> list[TeamUtterance]:
    done = [(task.agent, task.output) for task in tasks]
    return [TeamUtterance(agent.role, output.raw) for agent, output in done if agent is not None and output is not None]


def debate(plan: Blueprint) -> Crew:
    """The order and the contexts are fixed when the crew is built."""
    agents = crew_agents(plan)
    said: list[TeamUtterance] = []
    tasks: list[Task] = []
    while (name := plan.next_agent(said)) is not None:
        seen = {id(one) for one in plan.seen_by(name, said)}
        context = [task for task, one in zip(tasks, said, strict=True) if id(one) in seen]
        tasks.append(Task(**part(agents[name], plan.cue(name, said), context=context)))
        said.append(TeamUtterance(name, ""))
    return crew(plan, list(agents.values()), tasks)


def planner_solver_checker(plan: Blueprint) -> Crew:
    """Solving and checking again are tasks that are skipped unless the checker sent the work back."""
    return planned_crew(plan, first=["planner", "solver", "checker"], again=["solver", "checker"])


def sop_pipeline(plan: Blueprint) -> Crew:
    """Each hands its document on to the next."""
    agents = crew_agents(plan)
    tasks = [Task(**part(agent, plan.cue(name, []))) for name, agent in agents.items()]
    return crew(plan, list(agents.values()), tasks)


def supervisor(plan: Blueprint) -> Crew:
    """A sequence of tasks, not CrewAI's hierarchical process.

    There an order is a call of a delegation tool with three arguments, at which small models often fail, and then the
    manager does all the work itself. An order in words is read the same way in every framework.
    """
    chief, *workers = plan.instructions
    return planned_crew(plan, first=[chief], again=[*workers, chief])


_BUILDERS: Final[Mapping[str, Callable[[Blueprint], Crew]]] = {
    "planner_solver_checker": planner_solver_checker,
    "debate": debate,
    "sop_pipeline": sop_pipeline,
    "supervisor": supervisor,
}


def build_team(
    architecture: str,
    endpoint: Endpoint,
    *,
    tools: Sequence[Tool] = (),
    prompts: Mapping[str, str] | None = None,
    rounds: int | None = None,
) -> Crew:
    """A crew, whose task is the input ``task``.

    Two calls with equal arguments give two teams that share nothing and ask their model the same.

    Args:
        architecture: One of :data:`tracer_hooks_lab.teams.ARCHITECTURES`.
        endpoint: Where the model is.
        tools: Plain functions with a docstring, for the agents that use tools.
        prompts: Instructions in place of the architecture's own, by agent.
        rounds: How often the loop may go round; see :func:`tracer_hooks_lab.teams.blueprint`.

    Raises:
        ConfigError: An argument cannot be used; see :func:`tracer_hooks_lab.teams.blueprint`.
    """
    plan = blueprint(architecture, endpoint, tools=tools, prompts=prompts, rounds=rounds)
    return _BUILDERS[plan.name](plan)
