"""The demo's team in CrewAI: three agents with a task each, in sequence."""

from __future__ import annotations

from collections.abc import Mapping

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool

from tracer_hooks.testing.ticket_office import Endpoint, instructions, ticket_price

_TASKS = {
    "researcher": ("Find out what one ticket costs for this request: {task}", "The price of a ticket and the fee."),
    "calculator": ("Work out the total for this request: {task}", "One line with the total."),
    "writer": ("Answer this request: {task}", "One sentence."),
}


def build_team(endpoint: Endpoint, prompts: Mapping[str, str] | None = None) -> Crew:
    """Researcher, calculator and writer, one after the other; a task is given as ``inputs={"task": ...}``."""
    llm = LLM(model=f"openai/{endpoint.model}", base_url=endpoint.base_url, api_key=endpoint.api_key)
    price = tool("ticket_price")(ticket_price)
    agents = {
        name: Agent(
            role=name,
            goal=f"Do the {name}'s part of the request.",
            backstory=text,
            llm=llm,
            tools=[price] if name == "researcher" else [],
            verbose=False,
        )
        for name, text in instructions(prompts).items()
    }
    tasks = [
        Task(description=description, expected_output=expected, agent=agents[name])
        for name, (description, expected) in _TASKS.items()
    ]
    return Crew(name="ticket_office", agents=list(agents.values()), tasks=tasks, verbose=False)
