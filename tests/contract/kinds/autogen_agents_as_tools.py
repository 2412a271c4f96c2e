"""AutoGen's ``AgentTool`` and ``TeamTool``: an agent that calls another agent, and a team, like tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_agentchat.tools import AgentTool, TeamTool
from autogen_core import CancellationToken

from tracer_hooks.testing import Reply, Rule, ScriptedLLM, ToolCallReply, When

from ..teams.autogen_teams import _start_anew, assistant, client
from ._autogen import AutoGenKind
from ._kind import handed, said


def asks(tool: str) -> Reply:
    """A reply that asks a tool to do a task."""
    return Reply(tool_calls=[ToolCallReply(tool, {"task": "What is six times seven, in <case>?"})])


class AgentsAsToolsKind(AutoGenKind):
    """lead calls the agent "solo", then the team "experts" (expert, reviewer), then answers."""

    team = "outer"
    agents = frozenset({"lead", "solo", "experts", "expert", "reviewer"})
    # A call of an agent or a team is work that is delegated to it: its turns lie inside that step.
    courses = (
        (
            handed("lead", "solo", "solo"),
            said("solo"),
            handed("lead", "experts", "experts"),
            said("expert"),
            said("reviewer"),
            said("lead"),
        ),
    )
    requests = 6

    def rules(self) -> Sequence[Rule]:
        return [
            When(agent="lead", tool_result="approved").then("Both say 42 in <case>."),
            When(agent="lead", tool_result="alone").then(asks("experts")),
            When(agent="lead").then(asks("solo")),
            When(agent="solo").then("I say 42, alone in <case>."),
            When(agent="expert").then("I say 42 in <case>."),
            When(agent="reviewer").then("That is approved in <case>."),
        ]

    def build(self, llm: ScriptedLLM) -> Any:
        model = client(llm)
        inside = [assistant(model, "expert"), assistant(model, "reviewer")]
        experts = RoundRobinGroupChat(inside, name="experts", max_turns=2)  # type: ignore[arg-type]
        solo = assistant(model, "solo")
        tools = [
            AgentTool(solo, return_value_as_last_message=True),
            TeamTool(experts, name="experts", description="Asks the experts.", return_value_as_last_message=True),
        ]
        # As AutoGen's documentation asks for with these tools: never two calls at once.
        lead: AssistantAgent = assistant(
            client(llm, parallel_tool_calls=False), "lead", tools=tools, max_tool_iterations=5
        )
        team = RoundRobinGroupChat([lead], name="outer", max_turns=1)
        team.behind_tools = (experts, solo)  # type: ignore[attr-defined]
        return team

    async def arun(self, team: Any, task: str) -> Any:
        """Those behind tools keep their own memory, which the team's reset does not reach."""
        experts, solo = team.behind_tools
        await _start_anew(experts)
        await solo.on_reset(CancellationToken())
        return await super().arun(team, task)


KIND = AgentsAsToolsKind()
