"""A CrewAI flow: a crew, a router that looks at its answer, and a second crew behind one of two labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crewai import Flow
from crewai.flow import listen, router, start

from tracer_hooks.testing import Rule, ScriptedLLM, When
from tracer_hooks_testing import lookup

from ..teams.crewai_teams import agent, chat_model, crew
from ._crewai import CrewAIKind
from ._kind import called, said
from ._rules import looks_up


class FlowWithRouterKind(CrewAIKind):
    """researcher -> (router) -> writer, reviewer; the router is plain code."""

    team = "router"
    # A flow has no members until its methods make some; those behind the other label are never made.
    agents = frozenset({"researcher", "writer", "reviewer"})
    courses = ((called("researcher", "lookup"), said("researcher"), said("writer"), said("reviewer")),)
    requests = 4

    def rules(self) -> Sequence[Rule]:
        return [
            *looks_up("researcher", "The table says 42 in <case>."),
            When(agent="writer").then("Six times seven is 42 in <case>."),
            When(agent="reviewer").then("Approved: 42 in <case>."),
        ]

    def build(self, llm: ScriptedLLM) -> Any:
        model = chat_model(llm)

        class Router(Flow[Any]):
            name = "router"
            suppress_flow_events = True

            @start()
            def search(self) -> str:
                return crew("first", agent(model, "researcher", tools=[lookup])).kickoff(dict(self.state)).raw

            @router(search)
            def judge(self, found: str) -> str:
                return "found" if "42" in found else "missing"

            @listen("found")
            def write(self) -> str:
                second = crew("second", agent(model, "writer"), agent(model, "reviewer"))
                return second.kickoff(dict(self.state)).raw

            @listen("missing")
            def give_up(self) -> str:
                return crew("third", agent(model, "lead")).kickoff(dict(self.state)).raw

        return Router()


KIND = FlowWithRouterKind()
