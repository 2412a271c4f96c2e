"""The package langgraph-swarm: agents that hand over to each other; the last active one answers what comes next."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph_swarm import create_handoff_tool, create_swarm

from tracer_hooks.testing import Reply, Rule, ScriptedLLM, ToolCallReply, When

from ..teams.langgraph_teams import agent
from ._kind import handed, said
from ._langgraph import LangGraphKind, messages_of


class SwarmKind(LangGraphKind):
    """triage -> billing; the next question of the same conversation goes to billing at once."""

    team = "swarm"
    agents = frozenset({"triage", "billing"})
    courses = ((handed("triage", "billing", "transfer_to_billing"), said("billing")), (said("billing"),))
    requests = 3

    def rules(self) -> Sequence[Rule]:
        return [
            When(agent="triage").then(Reply(tool_calls=[ToolCallReply("transfer_to_billing", {})])),
            When(agent="billing", contains="Once more").then("As I said, 42 in <case>."),
            When(agent="billing").then("The refund of 42 is on its way in <case>."),
        ]

    def build(self, llm: ScriptedLLM) -> Any:
        members = [
            agent(llm, "triage", tools=[create_handoff_tool(agent_name="billing")]),
            agent(llm, "billing", tools=[create_handoff_tool(agent_name="triage")]),
        ]
        swarm = create_swarm(members, default_active_agent="triage")
        return swarm.compile(name="swarm", checkpointer=InMemorySaver())

    def run(self, team: Any, task: str) -> Any:
        """Two questions in one conversation."""
        thread: Any = {"configurable": {"thread_id": uuid.uuid4().hex}}
        return [team.invoke(messages_of(task), thread), team.invoke(messages_of(f"Once more: {task}"), thread)]


KIND = SwarmKind()
