"""A CrewAI crew with ``planning=True``: an agent that the crew makes itself plans the tasks before they begin."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tracer_hooks.testing import Rule, ScriptedLLM, When

from ..teams.crewai_teams import agent, chat_model, crew
from ._crewai import CrewAIKind
from ._kind import said

PLANNER = "Task Execution Planner"
"""The role of the agent that CrewAI makes."""


class PlanningKind(CrewAIKind):
    """The planner -> writer -> reviewer."""

    team = "planned"
    agents = frozenset({PLANNER, "writer", "reviewer"})
    courses = ((said(PLANNER), said("writer"), said("reviewer")),)
    requests = 3

    def rules(self) -> Sequence[Rule]:
        plans = [
            {"task_number": 1, "task": "write", "plan": "Multiply first."},
            {"task_number": 2, "task": "review", "plan": "Look twice."},
        ]
        return [
            When(agent=PLANNER).then(json.dumps({"list_of_plans_per_task": plans})),
            When(agent="writer", contains="Multiply first").then("Six times seven is 42 in <case>."),
            When(agent="reviewer", contains="Look twice").then("Approved: 42 in <case>."),
        ]

    def build(self, llm: ScriptedLLM) -> Any:
        model = chat_model(llm)
        members = [agent(model, name) for name in ("writer", "reviewer")]
        return crew("planned", *members, planning=True, planning_llm=chat_model(llm))


KIND = PlanningKind()
