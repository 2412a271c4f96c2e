"""LangChain's ``astream_events`` on a graph: every event of a run, replies token by token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracer_hooks.testing import Rule, ScriptedLLM, When
from tracer_hooks_testing import lookup

from ..teams.langgraph_teams import agent, as_tool, chain, last_message
from ._kind import called, said
from ._langgraph import LangGraphKind, messages_of
from ._rules import looks_up


class AstreamEventsKind(LangGraphKind):
    """researcher, with a tool -> writer."""

    team = "told"
    agents = frozenset({"researcher", "writer"})
    courses = ((called("researcher", "lookup"), said("researcher"), said("writer")),)
    requests = 3

    def rules(self) -> Sequence[Rule]:
        return [
            *looks_up("researcher", "The table says 42 in <case>."),
            When(agent="writer").then("Six times seven is 42 in <case>."),
        ]

    def build(self, llm: ScriptedLLM) -> Any:
        researcher = agent(llm, "researcher", tools=[as_tool(lookup)], streaming=True)
        writer = agent(llm, "writer", streaming=True)
        return chain("told", researcher=researcher | last_message, writer=writer | last_message)

    async def arun(self, team: Any, task: str) -> Any:
        """Read every event."""
        return [event async for event in team.astream_events(messages_of(task), version="v2")]

    def plain(self, result: Any) -> Any:
        """What happened to what, in order, and the text of each piece of a reply."""
        assert {"on_chain_start", "on_chat_model_stream", "on_tool_end"} <= {event["event"] for event in result}
        return [(event["event"], event["name"], _piece(event), event["tags"]) for event in result]


def _piece(event: Any) -> str:
    return str(getattr(event["data"].get("chunk"), "content", ""))


KIND = AstreamEventsKind()
