"""CrewAI's ``ConditionalTask``: one whose condition holds, and one whose condition does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crewai.tasks.conditional_task import ConditionalTask
from crewai.tasks.task_output import TaskOutput

from tracer_hooks.testing import Rule, ScriptedLLM, When

from ..teams.crewai_teams import agent, chat_model, crew, part
from ._crewai import CrewAIKind
from ._kind import said


def is_unsure(output: TaskOutput) -> bool:
    """Whether the task before needs another opinion."""
    return "not sure" in output.raw


class ConditionalTaskKind(CrewAIKind):
    """writer -> expert, who is asked since the writer is not sure -> beta, who is not asked -> lead."""

    team = "conditional"
    agents = frozenset({"writer", "expert", "beta", "lead"})
    # A task that is skipped has no act: its agent is never called.
    courses = ((said("writer"), said("expert"), said("lead")),)
    requests = 3

    def rules(self) -> Sequence[Rule]:
        return [
            When(agent="writer").then("It may be 42 in <case>, I am not sure."),
            When(agent="expert").then("It is 42 in <case>."),
            When(agent="lead").then("In short, 42 in <case>."),
        ]

    def build(self, llm: ScriptedLLM) -> Any:
        model = chat_model(llm)
        writer, expert, beta, lead = (agent(model, name) for name in ("writer", "expert", "beta", "lead"))
        opinions = [
            ConditionalTask(description="{task}", expected_output="An answer.", agent=one, condition=is_unsure)
            for one in (expert, beta)
        ]
        return crew("conditional", writer, expert, beta, lead, tasks=[part(writer), *opinions, part(lead)])


KIND = ConditionalTaskKind()
