"""The architectures as AutoGen's own teams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import httpx
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import TerminationCondition
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, StopMessage
from autogen_agentchat.teams import BaseGroupChat, RoundRobinGroupChat, SelectorGroupChat
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import AssistantMessage, LLMMessage, ModelFamily, ModelInfo, UserMessage
from autogen_ext.models.openai import OpenAIChatCompletionClient

from tracer_hooks.endpoint import Endpoint
from tracer_hooks_lab.teams import Blueprint, TeamUtterance, Tool, blueprint

__all__ = ["build_team"]


class PlannedContext(UnboundedChatCompletionContext):
    """Shows an agent of the others' messages what the plan lets it see, and what it is asked for after them.

    A group chat gives every message to all its members.

    Args:
        plan: The team.
        agent: Whose context it is.
    """

    def __init__(self, plan: Blueprint, agent: str) -> None:
        super().__init__()
        self._plan = plan
        self._agent = agent

    async def get_messages(self) -> list[LLMMessage]:
        """The messages so far, without those that the agent is not to see."""
        spoken, asked = self._spoken()
        seen = {id(one) for one in self._plan.seen_by(self._agent, [*spoken.values()])}
        hidden = {place for place, one in spoken.items() if id(one) not in seen}
        shown: list[LLMMessage] = []
        for place, message in enumerate(self._messages):
            if place not in hidden:
                shown.append(message)
            if place == asked:
                shown.append(UserMessage(content=self._plan.cue(self._agent, [*spoken.values()]), source="user"))
        return shown

    def _spoken(self) -> tuple[dict[int, TeamUtterance], int]:
        """Collect what was said since the last task, by place; and the place after which the agent's turn begins."""
        spoken: dict[int, TeamUtterance] = {}
        asked = -1
        for place, message in enumerate(self._messages):
            if isinstance(message, UserMessage):
                asked = place
            if isinstance(message, (UserMessage, AssistantMessage)) and isinstance(message.content, str):
                if message.source in self._plan.instructions:
                    spoken[place] = TeamUtterance(message.source, message.content)
                else:
                    spoken.clear()  # a new task: what was said of an earlier one is no secret
        return spoken, asked


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


def said(plan: Blueprint, thread: Sequence[Item]) -> list[TeamUtterance]:
    """Collect what the plan's agents said since the last task, tool calls left out.

    A team that runs again without a reset goes on with its conversation.
    """
    spoken: list[TeamUtterance] = []
    for item in thread:
        if isinstance(item, BaseChatMessage):
            if item.source in plan.instructions:
                spoken.append(TeamUtterance(item.source, item.to_text()))
            else:
                spoken.clear()
    return spoken


class PlanEnds(TerminationCondition):
    """Stops a team when nobody is to act next."""

    def __init__(self, plan: Blueprint) -> None:
        self._plan = plan
        self._said: list[TeamUtterance] = []
        self._ended = False

    @property
    def terminated(self) -> bool:
        """Tell whether the plan has come to its end."""
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


def debate(plan: Blueprint) -> BaseGroupChat:
    """One debater after the other; their contexts keep the answers of a round apart."""
    client = model_client(plan)
    return planned_chat(plan, assistants(plan, client), client)


def planner_solver_checker(plan: Blueprint) -> BaseGroupChat:
    """The checker may give the floor back to the solver."""
    client = model_client(plan)
    return planned_chat(plan, assistants(plan, client), client)


def sop_pipeline(plan: Blueprint) -> BaseGroupChat:
    """Each hands its document on to the next."""
    members = assistants(plan, model_client(plan))
    return RoundRobinGroupChat(list(members), name=plan.name, max_turns=len(members))


def supervisor(plan: Blueprint) -> BaseGroupChat:
    """A selector chat whose choice is the supervisor's own message.

    AutoGen's selector asks its model for nothing but a name, and hand-offs are tool calls, at which small models often
    fail. An order in words is read the same way in every framework, and it is a step that can be right or wrong.
    """
    client = model_client(plan)
    return planned_chat(plan, assistants(plan, client), client)


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
        architecture: One of :data:`tracer_hooks_lab.teams.ARCHITECTURES`.
        endpoint: Where the model is.
        tools: Plain functions with a docstring, for the agents that use tools.
        prompts: Instructions in place of the architecture's own, by agent.
        rounds: How often the loop may go round; see :func:`tracer_hooks_lab.teams.blueprint`.

    Raises:
        ConfigError: An argument cannot be used; see :func:`tracer_hooks_lab.teams.blueprint`.
    """
    plan = blueprint(architecture, endpoint, tools=tools, prompts=prompts, rounds=rounds)
    return _BUILDERS[plan.name](plan)
