"""A CrewAI task whose guardrail sends the first output back."""

# Not ``from __future__ import annotations``: CrewAI looks at the guardrail's annotations themselves, not at their text.
from collections.abc import Sequence
from typing import Any

from crewai import Task
from crewai.tasks.task_output import TaskOutput

from tracer_hooks.testing import Rule, ScriptedLLM, When

from ..teams.crewai_teams import agent, chat_model, crew, part
from ._crewai import CrewAIKind
from ._kind import said


def is_right(output: TaskOutput) -> tuple[bool, Any]:
    """The guardrail, as CrewAI's documentation writes one."""
    return (True, output.raw) if "42" in output.raw else (False, "That number is wrong.")


class GuardrailRetryKind(CrewAIKind):
    """writer, once more after the guardrail's objection, then reviewer."""

    team = "guarded"
    agents = frozenset({"writer", "reviewer"})
    # The task is executed again with the objection as its context: two acts, for the model answered both times.
    courses = ((said("writer"), said("writer"), said("reviewer")),)
    requests = 3

    def rules(self) -> Sequence[Rule]:
        return [
            When(agent="writer", contains="That number is wrong").then("It is 42 in <case>."),
            When(agent="writer").then("It is 24 in <case>."),
            When(agent="reviewer").then("Approved: 42 in <case>."),
        ]

    def build(self, llm: ScriptedLLM) -> Any:
        model = chat_model(llm)
        writer, reviewer = agent(model, "writer"), agent(model, "reviewer")
        guarded = Task(
            description="{task}",
            expected_output="A number.",
            agent=writer,
            guardrail=is_right,  # type: ignore[arg-type]
            guardrail_max_retries=2,
        )
        return crew("guarded", writer, reviewer, tasks=[guarded, part(reviewer)])


KIND = GuardrailRetryKind()
