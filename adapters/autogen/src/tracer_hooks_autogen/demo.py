"""The demo's team in AutoGen: three assistants in a round-robin group chat."""

from __future__ import annotations

from collections.abc import Mapping

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import MaxMessageTermination, SourceMatchTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.models import ModelFamily, ModelInfo
from autogen_ext.models.openai import OpenAIChatCompletionClient

from tracer_hooks.testing.ticket_office import Endpoint, instructions, ticket_price


def build_team(endpoint: Endpoint, prompts: Mapping[str, str] | None = None) -> RoundRobinGroupChat:
    """Researcher, calculator and writer, one after the other."""
    agent_instructions = instructions(prompts)
    client = OpenAIChatCompletionClient(
        model=endpoint.model,
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        model_info=ModelInfo(
            vision=False, function_calling=True, json_output=False, family=ModelFamily.UNKNOWN, structured_output=False
        ),
    )
    agents = [
        AssistantAgent(
            name,
            client,
            tools=[ticket_price] if name == "researcher" else None,
            system_message=text,
            reflect_on_tool_use=name == "researcher",
        )
        for name, text in agent_instructions.items()
    ]
    return RoundRobinGroupChat(
        list(agents),
        name="ticket_office",
        termination_condition=SourceMatchTermination(["writer"]) | MaxMessageTermination(12),
    )
