"""LangChain's ``batch`` and ``abatch`` on a graph: several inputs at the same time, each a run of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from tracer_hooks.testing import Rule, ScriptedLLM, When

from ..teams.langgraph_teams import agent, chain
from ._kind import said
from ._langgraph import LangGraphKind, messages_of


class BatchKind(LangGraphKind):
    """writer -> reviewer, for three inputs in threads, then for three in tasks."""

    team = "batched"
    agents = frozenset({"writer", "reviewer"})
    courses = ((said("writer"), said("reviewer")),) * 6
    requests = 12

    def rules(self) -> Sequence[Rule]:
        return [
            When(agent="writer").then("Six times seven is 42 in <case>."),
            When(agent="reviewer").then("Approved: 42 in <case>."),
        ]

    def build(self, llm: ScriptedLLM) -> Any:
        return chain("batched", writer=agent(llm, "writer"), reviewer=agent(llm, "reviewer"))

    async def arun(self, team: Any, task: str) -> Any:
        """Both ways."""
        inputs = [messages_of(f"{task} Time {number}.") for number in (1, 2, 3)]
        first = await asyncio.to_thread(team.batch, inputs)
        return [*first, *await team.abatch(inputs)]


KIND = BatchKind()
