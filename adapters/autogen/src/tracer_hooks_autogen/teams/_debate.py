"""The debaters in a group chat where nobody hears what the others say in the same round."""

from __future__ import annotations

from autogen_agentchat.teams import BaseGroupChat

from tracer_hooks.suites.architectures import Blueprint
from tracer_hooks_autogen.teams._members import assistants, model_client, planned_chat


def debate(plan: Blueprint) -> BaseGroupChat:
    """One debater after the other; their contexts keep the answers of a round apart."""
    client = model_client(plan)
    return planned_chat(plan, assistants(plan, client), client)
