"""What the crews of all architectures share: the model, the agents, and the crew around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crewai import LLM, Agent, BaseLLM, Crew, Task
from crewai.tools import tool

from tracer_hooks.suites.architectures import Blueprint

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
    """What makes a task of an agent's part: the team's task, and what the agent is asked for."""
    return {"description": "{task}", "expected_output": expected, "agent": agent, **options}
