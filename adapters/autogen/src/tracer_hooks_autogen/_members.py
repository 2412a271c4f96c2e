"""Members of a team: its agents, model clients, tools and inner teams, found by AutoGen's classes.

Importing this package must not import the framework, so no module here imports AutoGen at its top.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from tracer_hooks.schema import AgentSpec, to_text


@functools.cache
def types() -> SimpleNamespace:
    """Classes of AutoGen 0.7, all public; imports AutoGen on the first call."""
    from autogen_agentchat import messages
    from autogen_agentchat.base import ChatAgent, Response, TaskResult, Team
    from autogen_core import CancellationToken, FunctionCall, models, tools

    return SimpleNamespace(
        team=Team,
        chat_agent=ChatAgent,
        model_client=models.ChatCompletionClient,
        tool=tools.BaseTool,
        stream_tool=tools.BaseStreamTool,
        function_tool=tools.FunctionTool,
        workbench=tools.Workbench,
        static_workbench=tools.StaticWorkbench,
        chat_message=messages.BaseChatMessage,
        handoff_message=messages.HandoffMessage,
        tool_request=messages.ToolCallRequestEvent,
        tool_execution=messages.ToolCallExecutionEvent,
        response=Response,
        task_result=TaskResult,
        create_result=models.CreateResult,
        function_call=FunctionCall,
        request_usage=models.RequestUsage,
        system_message=models.SystemMessage,
        assistant_message=models.AssistantMessage,
        function_results=models.FunctionExecutionResultMessage,
        tool_result=tools.ToolResult,
        text_result=tools.TextResultContent,
        cancellation_token=CancellationToken,
    )


@dataclass
class Members:
    """Parts found in a team, each thing once, in the order of the participants."""

    teams: list[Any] = field(default_factory=list)
    """Inner teams; without the team itself."""
    agents: list[Any] = field(default_factory=list)
    clients: list[Any] = field(default_factory=list)
    tools: list[Any] = field(default_factory=list)
    workbenches: list[Any] = field(default_factory=list)
    """Those that run tools of their own (MCP...), not the static ones, whose tools are listed."""


def find_members(team: Any) -> Members:
    """Look through a team, or a single agent, and everything it holds.

    Members are recognised by their base class in the attributes of a team, agent, tool or static workbench, and in
    lists and dicts there. That covers AutoGen's own classes (participants, ``SocietyOfMindAgent``, ``AgentTool``,
    ``MessageFilterAgent``, ...) as well as a user's subclass that keeps its client under a name of its own.
    """
    known = types()
    members = Members()
    # The order matters: a team is no agent, but a static workbench is a workbench.
    places: tuple[tuple[Any, list[Any], bool], ...] = (
        (known.team, members.teams, True),
        (known.chat_agent, members.agents, True),
        (known.model_client, members.clients, False),
        (known.tool, members.tools, True),
        (known.static_workbench, [], True),
        (known.workbench, members.workbenches, False),
    )
    seen = {id(team)}
    if isinstance(team, known.chat_agent):
        members.agents.append(team)

    def visit(holder: Any) -> None:
        for value in _held_objects(holder):
            for kind, found, is_holder in places:
                if not isinstance(value, kind):
                    continue
                if id(value) not in seen:
                    seen.add(id(value))
                    found.append(value)
                    if is_holder:
                        visit(value)
                break

    visit(team)
    return members


def _held_objects(holder: Any) -> Iterator[Any]:
    for value in list(vars(holder).values()):
        if isinstance(value, dict):
            yield from list(value.values())
        elif isinstance(value, (list, tuple)):
            yield from list(value)
        else:
            yield value


class RosterEntry:
    """An agent's roster entry, as far as it can be seen; built anew only when its instructions have changed."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent
        self._spec: AgentSpec | None = None

    def spec(self) -> AgentSpec:
        """Return the entry as it is now."""
        instructions = instructions_of(self.agent)
        if self._spec is None or self._spec.instructions != instructions:
            tools = tuple(_tool_names(self.agent))
            self._spec = AgentSpec(name=self.agent.name, instructions=instructions, tools=tools)
        return self._spec


def instructions_of(agent: Any) -> str | None:
    """An agent's system prompt; None when it has none or keeps it where we do not know."""
    messages = getattr(agent, "_system_messages", None)  # AssistantAgent, CodeExecutorAgent; private in 0.7
    if isinstance(messages, list):
        texts = [to_text(getattr(message, "content", "")) for message in messages]
        return texts[0] if len(texts) == 1 else "\n".join(texts) or None
    instruction = getattr(agent, "_instruction", None)  # SocietyOfMindAgent; private in 0.7
    return instruction if isinstance(instruction, str) else None


def handoff_target(agent: Any, tool: str) -> str | None:
    """The agent that ``tool`` hands over to, when it is one of ``agent``'s hand-off tools, whatever it is called."""
    handoffs = getattr(agent, "_handoffs", None)  # AssistantAgent; private in 0.7
    handoff = handoffs.get(tool) if isinstance(handoffs, dict) else None
    return None if handoff is None else to_text(handoff.target)


def model_name(client: Any) -> str:
    """The model that a client asks for, else the client's class."""
    inner = getattr(client, "client", None)
    if isinstance(inner, types().model_client):  # ChatCompletionCache
        return model_name(inner)
    for holder in ("_create_args", "_raw_config"):  # OpenAI, Azure, Anthropic and Ollama clients; private in 0.7
        name = (getattr(client, holder, None) or {}).get("model")
        if isinstance(name, str):
            return name
    name = getattr(client, "model", None)
    return name if isinstance(name, str) else type(client).__name__


def _tool_names(agent: Any) -> Iterator[str]:
    known = types()
    for value in _held_objects(agent):
        if isinstance(value, known.static_workbench):
            for tool in _held_objects(value):
                if isinstance(tool, known.tool):
                    yield tool.name
    for tool in getattr(agent, "_handoff_tools", ()):
        yield tool.name
