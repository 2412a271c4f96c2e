"""Planner, solver and checker as a group chat whose next speaker follows from what the checker says."""

from __future__ import annotations

from autogen_agentchat.teams import BaseGroupChat

from tracer_hooks.suites.architectures import Blueprint
from tracer_hooks_autogen.teams._members import assistants, model_client, planned_chat


def planner_solver_checker(plan: Blueprint) -> BaseGroupChat:
    """The checker may give the floor back to the solver."""
    client = model_client(plan)
    return planned_chat(plan, assistants(plan, client), client)
