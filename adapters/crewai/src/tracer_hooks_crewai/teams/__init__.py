"""The team architectures of :mod:`tracer_hooks.suites.architectures` as CrewAI's own teams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from crewai import Crew

from tracer_hooks.suites import Endpoint
from tracer_hooks.suites.architectures import Blueprint, Tool, blueprint
from tracer_hooks_crewai.teams._debate import debate
from tracer_hooks_crewai.teams._planner_solver_checker import planner_solver_checker
from tracer_hooks_crewai.teams._sop_pipeline import sop_pipeline
from tracer_hooks_crewai.teams._supervisor import supervisor

__all__ = ["build_team"]

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
        architecture: One of :data:`tracer_hooks.suites.architectures.ARCHITECTURES`.
        endpoint: Where the model is.
        tools: Plain functions with a docstring, for the agents that use tools.
        prompts: Instructions in place of the architecture's own, by agent.
        rounds: How often the loop may go round; see :func:`tracer_hooks.suites.architectures.blueprint`.

    Raises:
        ConfigError: An argument cannot be used; see :func:`tracer_hooks.suites.architectures.blueprint`.
    """
    plan = blueprint(architecture, endpoint, tools=tools, prompts=prompts, rounds=rounds)
    return _BUILDERS[plan.name](plan)
