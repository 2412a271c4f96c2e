"""The pipeline as a round robin of one round."""

from __future__ import annotations

from autogen_agentchat.teams import BaseGroupChat, RoundRobinGroupChat

from tracer_hooks.suites.architectures import Blueprint
from tracer_hooks_autogen.teams._members import assistants, model_client


def sop_pipeline(plan: Blueprint) -> BaseGroupChat:
    """Each hands its document on to the next."""
    members = assistants(plan, model_client(plan))
    return RoundRobinGroupChat(list(members), name=plan.name, max_turns=len(members))
