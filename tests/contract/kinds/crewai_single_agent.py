"""A CrewAI agent that is run without a crew: ``agent.kickoff(...)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracer_hooks.testing import Rule, ScriptedLLM
from tracer_hooks_testing import lookup

from ..teams.crewai_teams import agent, chat_model
from ._crewai import CrewAIKind
from ._kind import called, said
from ._rules import looks_up


class SingleAgentKind(CrewAIKind):
    """solo, with a tool."""

    team = "solo"
    agents = frozenset({"solo"})
    courses = ((called("solo", "lookup"), said("solo")),)
    requests = 2

    def rules(self) -> Sequence[Rule]:
        return looks_up("solo", "The table says 42 in <case>.")

    def build(self, llm: ScriptedLLM) -> Any:
        return agent(chat_model(llm), "solo", tools=[lookup])

    def run(self, team: Any, task: str) -> Any:
        """The agent's own entry point takes the task as a message."""
        return team.kickoff(task)

    def plain(self, result: Any) -> Any:
        """Its answer, who gave it, and what it took."""
        usage = result.usage_metrics or {}
        return [result.raw, result.agent_role, sorted(usage.items())]


KIND = SingleAgentKind()
