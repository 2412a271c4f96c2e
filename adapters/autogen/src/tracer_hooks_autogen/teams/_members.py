"""What the group chats of all architectures share: the model client, the assistants, and who speaks next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import TerminationCondition
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, StopMessage
from autogen_agentchat.teams import SelectorGroupChat
from autogen_core.models import ModelFamily, ModelInfo
from autogen_ext.models.openai import OpenAIChatCompletionClient

from tracer_hooks.suites.architectures import Blueprint, Said
from tracer_hooks_autogen.teams._context import PlannedContext

MAX_TOOL_REPLIES = 3
"""How many replies of one turn may call tools; the model is then asked without tools."""

Item = BaseAgentEvent | BaseChatMessage


def model_client(plan: Blueprint) -> OpenAIChatCompletionClient:
    """AutoGen's client for OpenAI's API, pointed at the plan's endpoint."""
    endpoint = plan.endpoint
    given = {"temperature": endpoint.temperature, "max_tokens": endpoint.max_tokens}
    options: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    # A connection that is kept belongs to one event loop: the team's next run may be in another.
    options["http_client"] = httpx.AsyncClient(limits=httpx.Limits(max_keepalive_connections=0))
    return OpenAIChatCompletionClient(
        model=endpoint.model,
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        max_retries=0,
        # Else who spoke is in a field beside the text, of which the templates of local models show nothing.
        add_name_prefixes=True,
        model_info=ModelInfo(
            vision=False, function_calling=True, json_output=False, family=ModelFamily.UNKNOWN, structured_output=False
        ),
        **options,
    )


def assistants(plan: Blueprint, client: OpenAIChatCompletionClient) -> list[AssistantAgent]:
    """The plan's agents on one model client."""
    return [_assistant(plan, name, client) for name in plan.instructions]


def _assistant(plan: Blueprint, name: str, client: OpenAIChatCompletionClient) -> AssistantAgent:
    tools: list[Any] = list(plan.tools_of(name))
    return AssistantAgent(
        name,
        client,
        description=f"The {name}.",
        system_message=plan.instructions[name],
        tools=tools or None,
        max_tool_iterations=MAX_TOOL_REPLIES,
        reflect_on_tool_use=bool(tools),
        model_context=PlannedContext(plan, name),
    )


def planned_chat(
    plan: Blueprint, members: Sequence[AssistantAgent], client: OpenAIChatCompletionClient
) -> SelectorGroupChat:
    """A group chat in which the plan chooses the speaker by what was said; the chat's own model is never asked."""
    return SelectorGroupChat(
        list(members),
        client,
        name=plan.name,
        selector_func=lambda thread: plan.next_agent(said(plan, thread)),
        termination_condition=PlanEnds(plan),
    )


def said(plan: Blueprint, thread: Sequence[Item]) -> list[Said]:
    """What the plan's agents said since the last task, tool calls left out.

    A team that runs again without a reset goes on with its conversation.
    """
    spoken: list[Said] = []
    for item in thread:
        if isinstance(item, BaseChatMessage):
            if item.source in plan.instructions:
                spoken.append(Said(item.source, item.to_text()))
            else:
                spoken.clear()
    return spoken


class PlanEnds(TerminationCondition):
    """Stops a team when nobody is to act next."""

    def __init__(self, plan: Blueprint) -> None:
        self._plan = plan
        self._said: list[Said] = []
        self._ended = False

    @property
    def terminated(self) -> bool:
        """Whether the plan has come to its end."""
        return self._ended

    async def __call__(self, messages: Sequence[Item]) -> StopMessage | None:
        """Look at what was said since the last call."""
        self._said += said(self._plan, messages)
        self._ended = self._plan.next_agent(self._said) is None
        return StopMessage(content="The last agent has spoken.", source=self._plan.name) if self._ended else None

    async def reset(self) -> None:
        """Begin anew."""
        self._said = []
        self._ended = False
