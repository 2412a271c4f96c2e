"""The supervisor in a group chat where its words choose the next speaker."""

from __future__ import annotations

from autogen_agentchat.teams import BaseGroupChat

from tracer_hooks.suites.architectures import Blueprint
from tracer_hooks_autogen.teams._members import assistants, model_client, planned_chat


def supervisor(plan: Blueprint) -> BaseGroupChat:
    """A selector chat whose choice is the supervisor's own message.

    AutoGen's selector asks its model for nothing but a name, and hand-offs are tool calls, at which small models often
    fail. An order in words is read the same way in every framework, and it is a step that can be right or wrong.
    """
    client = model_client(plan)
    return planned_chat(plan, assistants(plan, client), client)
