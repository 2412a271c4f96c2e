"""CrewAI's kinds of team."""

import json
from typing import Any

from crewai import Flow, Task
from crewai.flow import listen, router, start
from crewai.tasks.conditional_task import ConditionalTask
from crewai.tasks.task_output import TaskOutput

from tracer_hooks.testing import ScriptedLLM, When
from tracer_hooks_testing import lookup

from ..teams.crewai_teams import Teams, agent, chat_model, crew, part
from ._case import looks_up
from ._kind import BlockingKind, called, said


class CrewAIKind(BlockingKind):
    """A team that is run with ``team.kickoff(inputs={"task": ...})``."""

    teams = Teams()

    def run(self, team: Any, task: str) -> Any:
        return team.kickoff(inputs={"task": task})


def is_unsure(output: TaskOutput) -> bool:
    """Whether the task before needs another opinion."""
    return "not sure" in output.raw


# CrewAI's ``ConditionalTask``: one whose condition holds, and one whose condition does not.
class ConditionalTaskKind(CrewAIKind):
    """writer -> expert, who is asked since the writer is not sure -> beta, who is not asked -> lead."""

    team = "conditional"
    agents = frozenset({"writer", "expert", "beta", "lead"})
    # A task that is skipped has no act: its agent is never called.
    courses = ((said("writer"), said("expert"), said("lead")),)
    requests = 3

    rules = (
        When(agent="writer").then("It may be 42 in <case>, I am not sure."),
        When(agent="expert").then("It is 42 in <case>."),
        When(agent="lead").then("In short, 42 in <case>."),
    )

    def build(self, llm: ScriptedLLM) -> Any:
        model = chat_model(llm)
        writer, expert, beta, lead = (agent(model, name) for name in ("writer", "expert", "beta", "lead"))
        opinions = [
            ConditionalTask(description="{task}", expected_output="An answer.", agent=one, condition=is_unsure)
            for one in (expert, beta)
        ]
        return crew("conditional", writer, expert, beta, lead, tasks=[part(writer), *opinions, part(lead)])


# A CrewAI flow: a crew, a router that looks at its answer, and a second crew behind one of two labels.
class FlowWithRouterKind(CrewAIKind):
    """researcher -> (router) -> writer, reviewer; the router is plain code."""

    team = "router"
    # A flow has no members until its methods make some; those behind the other label are never made.
    agents = frozenset({"researcher", "writer", "reviewer"})
    courses = ((called("researcher", "lookup"), said("researcher"), said("writer"), said("reviewer")),)
    requests = 4

    rules = (
        *looks_up("researcher", "The table says 42 in <case>."),
        When(agent="writer").then("Six times seven is 42 in <case>."),
        When(agent="reviewer").then("Approved: 42 in <case>."),
    )

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


def is_right(output: TaskOutput) -> tuple[bool, Any]:
    """The guardrail, as CrewAI's documentation writes one."""
    return (True, output.raw) if "42" in output.raw else (False, "That number is wrong.")


# A CrewAI task whose guardrail sends the first output back.
class GuardrailRetryKind(CrewAIKind):
    """writer, once more after the guardrail's objection, then reviewer."""

    team = "guarded"
    agents = frozenset({"writer", "reviewer"})
    # The task is executed again with the objection as its context: two acts, for the model answered both times.
    courses = ((said("writer"), said("writer"), said("reviewer")),)
    requests = 3

    rules = (
        When(agent="writer", contains="That number is wrong").then("It is 42 in <case>."),
        When(agent="writer").then("It is 24 in <case>."),
        When(agent="reviewer").then("Approved: 42 in <case>."),
    )

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


# A CrewAI crew that is run once for each of several inputs, on copies of itself.
class KickoffForEachKind(CrewAIKind):
    """researcher -> writer, for two inputs: two runs."""

    team = "each"
    agents = frozenset({"researcher", "writer"})
    courses = ((called("researcher", "lookup"), said("researcher"), said("writer")),) * 2
    requests = 6

    rules = (
        *looks_up("researcher", "The table says 42 in <case>."),
        When(agent="writer", contains="Once more").then("As before, 42 in <case>."),
        When(agent="writer").then("Six times seven is 42 in <case>."),
    )

    def build(self, llm: ScriptedLLM) -> Any:
        model = chat_model(llm)
        return crew("each", agent(model, "researcher", tools=[lookup]), agent(model, "writer"))

    def run(self, team: Any, task: str) -> Any:
        return team.kickoff_for_each(inputs=[{"task": task}, {"task": f"Once more: {task}"}])

    def plain(self, result: Any) -> Any:
        return [self.teams.plain(one) for one in result]


PLANNER = "Task Execution Planner"
"""The role of the agent that CrewAI makes."""


# A CrewAI crew with ``planning=True``: an agent that the crew makes itself plans the tasks before they begin.
class PlanningKind(CrewAIKind):
    """The planner -> writer -> reviewer."""

    team = "planned"
    agents = frozenset({PLANNER, "writer", "reviewer"})
    courses = ((said(PLANNER), said("writer"), said("reviewer")),)
    requests = 3

    plans = (
        {"task_number": 1, "task": "write", "plan": "Multiply first."},
        {"task_number": 2, "task": "review", "plan": "Look twice."},
    )
    rules = (
        When(agent=PLANNER).then(json.dumps({"list_of_plans_per_task": plans})),
        When(agent="writer", contains="Multiply first").then("Six times seven is 42 in <case>."),
        When(agent="reviewer", contains="Look twice").then("Approved: 42 in <case>."),
    )

    def build(self, llm: ScriptedLLM) -> Any:
        model = chat_model(llm)
        members = [agent(model, name) for name in ("writer", "reviewer")]
        return crew("planned", *members, planning=True, planning_llm=chat_model(llm))


# A CrewAI agent that is run without a crew: ``agent.kickoff(...)``.
class SingleAgentKind(CrewAIKind):
    """solo, with a tool."""

    team = "solo"
    agents = frozenset({"solo"})
    courses = ((called("solo", "lookup"), said("solo")),)
    requests = 2

    rules = looks_up("solo", "The table says 42 in <case>.")

    def build(self, llm: ScriptedLLM) -> Any:
        return agent(chat_model(llm), "solo", tools=[lookup])

    def run(self, team: Any, task: str) -> Any:
        """The agent's own entry point takes the task as a message."""
        return team.kickoff(task)

    def plain(self, result: Any) -> Any:
        """Its answer, who gave it, and what it took."""
        usage = result.usage_metrics or {}
        return [result.raw, result.agent_role, sorted(usage.items())]


KINDS = {
    "crewai_conditional_task": ConditionalTaskKind(),
    "crewai_flow_with_router": FlowWithRouterKind(),
    "crewai_guardrail_retry": GuardrailRetryKind(),
    "crewai_kickoff_for_each": KickoffForEachKind(),
    "crewai_planning": PlanningKind(),
    "crewai_single_agent": SingleAgentKind(),
}
