"""A CrewAI crew that is run once for each of several inputs, on copies of itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracer_hooks.testing import Rule, ScriptedLLM, When
from tracer_hooks_testing import lookup

from ..teams.crewai_teams import agent, chat_model, crew
from ._crewai import CrewAIKind
from ._kind import called, said
from ._rules import looks_up


class KickoffForEachKind(CrewAIKind):
    """researcher -> writer, for two inputs: two runs."""

    team = "each"
    agents = frozenset({"researcher", "writer"})
    courses = ((called("researcher", "lookup"), said("researcher"), said("writer")),) * 2
    requests = 6

    def rules(self) -> Sequence[Rule]:
        return [
            *looks_up("researcher", "The table says 42 in <case>."),
            When(agent="writer", contains="Once more").then("As before, 42 in <case>."),
            When(agent="writer").then("Six times seven is 42 in <case>."),
        ]

    def build(self, llm: ScriptedLLM) -> Any:
        model = chat_model(llm)
        return crew("each", agent(model, "researcher", tools=[lookup]), agent(model, "writer"))

    def run(self, team: Any, task: str) -> Any:
        """Both inputs, one after the other."""
        return team.kickoff_for_each(inputs=[{"task": task}, {"task": f"Once more: {task}"}])

    def plain(self, result: Any) -> Any:
        """One result for each input."""
        return [self.teams.plain(one) for one in result]


KIND = KickoffForEachKind()
