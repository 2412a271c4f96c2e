"""The team architectures of :mod:`tracer_hooks.suites.architectures` as AutoGen's own teams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from autogen_agentchat.teams import BaseGroupChat

from tracer_hooks.suites import Endpoint
from tracer_hooks.suites.architectures import Blueprint, Tool, blueprint
from tracer_hooks_autogen.teams._debate import debate
from tracer_hooks_autogen.teams._planner_solver_checker import planner_solver_checker
from tracer_hooks_autogen.teams._sop_pipeline import sop_pipeline
from tracer_hooks_autogen.teams._supervisor import supervisor

__all__ = ["build_team"]

_BUILDERS: Final[Mapping[str, Callable[[Blueprint], BaseGroupChat]]] = {
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
) -> BaseGroupChat:
    """A group chat.

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
