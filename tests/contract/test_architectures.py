"""The four team architectures in plain Python and in every framework: one script, one expected course of each run."""

import gc
import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.endpoint import Endpoint
from tracer_hooks.errors import ConfigError
from tracer_hooks.frameworks import RecordReplies
from tracer_hooks.schema import RunOutcome, StepKind, Trajectory
from tracer_hooks.testing import Reply, Rule, ScriptedLLM, ScriptedRequest, ToolCallReply, When
from tracer_hooks_lab.teams import ARCHITECTURES, roles

FRAMEWORKS = ("plain", "autogen", "crewai", "langgraph")
TASK = "What is {six} times seven? End with a line `ANSWER: <number>`."
ANSWER = "I agree with it.\nANSWER: 42"

COURSE = {
    "planner_solver_checker": ["planner", "solver", "solver", "checker", "solver", "solver", "checker"],
    "debate": [f"debater_{number}" for number in (1, 1, 2, 2, 3, 3) * 2] + ["aggregator"],
    "sop_pipeline": ["analyst", "designer", "engineer", "engineer", "reviewer"],
    "supervisor": ["supervisor", "researcher", "researcher", "supervisor", "specialist", "supervisor"],
}
"""Who acts at each step of a run with tools: a tool user's first step is its call, its second what it says then."""

every_team = pytest.mark.parametrize(
    ("framework", "architecture"), [(framework, name) for framework in FRAMEWORKS for name in ARCHITECTURES]
)


@pytest.fixture(autouse=True)
def nothing_hooked_is_left() -> Iterator[None]:
    """LangGraph's classes are restored with the last hooked graph, and graphs are in cycles: collect them here."""
    yield
    gc.collect()


class PriceList:
    """A tool with a state of its own, as task environments have them."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def lookup(self, query: str) -> str:
        """Look a number up in the table.

        Args:
            query: What to look up.
        """
        self.asked.append(query)
        return "Six times seven is 42 according to the table."


def build_team(framework: str, architecture: str, llm: ScriptedLLM, **options: Any) -> Any:
    if framework == "plain":
        module = importlib.import_module("tracer_hooks_lab.teams")
    else:
        module = pytest.importorskip(f"tracer_hooks_lab.teams.{framework}", exc_type=ImportError)
    endpoint = Endpoint(base_url=llm.base_url, model="scripted", temperature=0.5, max_tokens=77)
    return module.build_team(architecture, endpoint, **options)


def calls_then_says(agent: str, text: str) -> list[Rule]:
    call = Reply(tool_calls=[ToolCallReply("lookup", {"query": f"asked by {agent}"})])
    tells = When(agent=agent, where=lambda request: request.messages[-1]["role"] == "tool")
    return [tells.then(text), When(agent=agent, where=lambda request: "lookup" in request.tools).then(call)]


def script(architecture: str) -> list[Rule]:
    """What the agents say; the checker sends the work back once, and the supervisor orders each worker once."""
    if architecture == "planner_solver_checker":
        again = When(agent="checker", contains="add the unit").then(ANSWER)
        checks = When(agent="checker").then("The unit is missing.\nREVISE: add the unit")
        return [
            says("planner"),
            *calls_then_says("solver", "The solver's result is 42."),
            says("solver"),
            again,
            checks,
        ]
    if architecture == "debate":
        debaters = [f"debater_{number}" for number in (1, 2, 3)]
        tools = [rule for name in debaters for rule in calls_then_says(name, f"I am {name} and say 42.")]
        return [*tools, *(says(name) for name in debaters), says("aggregator", ANSWER)]
    if architecture == "sop_pipeline":
        others = [says(name) for name in ("analyst", "designer", "engineer")]
        return [*calls_then_says("engineer", "WORK: 42"), *others, says("reviewer", ANSWER)]
    return [
        When(agent="supervisor", contains="the product is 42").then(ANSWER),
        When(agent="supervisor", contains="the table says seven").then("NEXT: specialist\nMultiply it by six."),
        When(agent="supervisor").then("NEXT: researcher\nLook seven up."),
        *calls_then_says("researcher", "The researcher: the table says seven."),
        When(agent="researcher").then("The researcher: the table says seven."),
        When(agent="specialist").then("The specialist: the product is 42."),
    ]


def says(agent: str, text: str | None = None) -> Rule:
    return When(agent=agent).then(text or f"These are the words of the {agent}.")


def runs(build: Callable[..., Any], **options: Any) -> Any:
    run = tracer_hooks.run(build, TASK, diagnose=False, store="off", **options)
    assert run.error is None, run.error
    return run


def agents_in(trajectory: Trajectory) -> list[str]:
    return [step.agent for step in trajectory.steps]


def without_tools(course: Sequence[str]) -> list[str]:
    """The course when nobody has tools: no agent acts twice in a row."""
    return [name for place, name in enumerate(course) if place == 0 or course[place - 1] != name]


@every_team
def test_a_run_with_tools(framework: str, architecture: str) -> None:
    tools = PriceList()
    record = RecordReplies()
    with ScriptedLLM(rules=script(architecture)) as llm:
        build = factory(framework, architecture, llm, tools=[tools.lookup])
        run = runs(build, intervention=record)
        assert llm.unmatched == []
        assert {request.raw.get("temperature") for request in llm.requests} == {0.5}
        assert {request.raw.get("max_tokens") for request in llm.requests} == {77}

    assert run.outcome is RunOutcome.SUCCEEDED
    assert run.trajectory.final_output == ANSWER
    assert run.trajectory.team == architecture
    assert agents_in(run.trajectory) == COURSE[architecture]
    assert run.trajectory.steps[-1].content == ANSWER
    assert {agent.name: agent.instructions for agent in run.trajectory.agents} == dict(roles(architecture))

    calls = [call for step in run.trajectory.steps if step.kind is StepKind.TOOL_CALL for call in step.tool_calls]
    assert [call.arguments["query"] for call in calls] == tools.asked
    users = [
        agent for agent, said in zip(COURSE[architecture], COURSE[architecture][1:], strict=False) if agent == said
    ]
    assert tools.asked == [f"asked by {agent}" for agent in users]
    assert all("Six times seven" in str(call.result) for call in calls)
    assert [request.name for request, _ in record.tools] == ["lookup"] * len(users)


@every_team
def test_equal_runs_make_equal_requests_and_what_an_agent_is_shown(framework: str, architecture: str) -> None:
    seen: list[list[ScriptedRequest]] = []
    digests: list[list[str]] = []
    for _ in range(2):
        record = RecordReplies()
        with ScriptedLLM(rules=script(architecture)) as llm:
            run = runs(factory(framework, architecture, llm), intervention=record)
            seen.append(llm.requests)
        assert agents_in(run.trajectory) == without_tools(COURSE[architecture])
        digests.append([request.digest() for request, _ in record.models])
    assert digests[0] == digests[1]
    assert len(digests[0]) == len(without_tools(COURSE[architecture]))
    assert [request.raw["messages"] for request in seen[0]] == [request.raw["messages"] for request in seen[1]]
    assert all(TASK in request.text for request in seen[0])
    SHOWN[architecture](seen[0])


def check_pipeline(requests: Sequence[ScriptedRequest]) -> None:
    reviewer = requests[-1].text
    assert all(f"words of the {name}" in reviewer for name in ("analyst", "designer", "engineer"))
    assert "words of the engineer" not in requests[2].text


def check_plan(requests: Sequence[ScriptedRequest]) -> None:
    planner, solver, checker, solver_again, checker_again = (request.text for request in requests)
    assert "words of the" not in planner
    assert "words of the planner" in solver
    assert "words of the solver" in checker
    assert "REVISE: add the unit" in solver_again
    assert "REVISE: add the unit" in checker_again


def check_debate(requests: Sequence[ScriptedRequest]) -> None:
    def heard(request: ScriptedRequest) -> list[str]:
        return sorted(re.findall(r"words of the (\w+)", request.text))

    everybody = ["debater_1", "debater_2", "debater_3"]
    assert [heard(request) for request in requests] == [[]] * 3 + [everybody] * 4


def check_supervisor(requests: Sequence[ScriptedRequest]) -> None:
    assert "Look seven up." in requests[1].text
    assert "Multiply it by six." in requests[3].text
    assert "the table says seven" in requests[3].text


SHOWN: Mapping[str, Callable[[Sequence[ScriptedRequest]], None]] = {
    "planner_solver_checker": check_plan,
    "debate": check_debate,
    "sop_pipeline": check_pipeline,
    "supervisor": check_supervisor,
}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_new_prompt_reaches_the_model_and_nobody_else(framework: str) -> None:
    told = "You are the designer. Draw a triangle first."
    with ScriptedLLM(rules=script("sop_pipeline")) as llm:
        run = runs(factory(framework, "sop_pipeline", llm, prompts={"designer": told}))
        systems = [request.system for request in llm.requests]
    assert [told in system for system in systems] == [False, True, False, False]
    assert roles("sop_pipeline")["designer"] not in systems[1]
    assert {agent.name: agent.instructions for agent in run.trajectory.agents}["designer"] == told


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_loop_ends_when_its_rounds_are_used_up(framework: str) -> None:
    never_content = [says("planner"), says("solver"), When(agent="checker").then("REVISE: no")]
    with ScriptedLLM(rules=never_content) as llm:
        run = runs(factory(framework, "planner_solver_checker", llm, rounds=2))
    assert agents_in(run.trajectory) == ["planner", *["solver", "checker"] * 3]
    assert run.trajectory.final_output == "REVISE: no"
    never_done = [says("researcher"), When(agent="supervisor").then("NEXT: researcher")]
    with ScriptedLLM(rules=never_done) as llm:
        run = runs(factory(framework, "supervisor", llm))
    assert agents_in(run.trajectory) == [*["supervisor", "researcher"] * 3, "supervisor"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_who_calls_tools_without_end_is_stopped(framework: str) -> None:
    tools = PriceList()
    again = Reply("Let me look.", tool_calls=[ToolCallReply("lookup", {"query": "again"})])
    restless = When(agent="engineer", where=lambda request: "lookup" in request.tools).then(again)
    others = [says(name) for name in ("analyst", "designer", "engineer")]
    with ScriptedLLM(rules=[restless, *others, says("reviewer", ANSWER)]) as llm:
        run = runs(factory(framework, "sop_pipeline", llm, tools=[tools.lookup]))
        assert "words of the engineer" in llm.requests[-1].text
    assert run.trajectory.final_output == ANSWER
    assert 1 <= len(tools.asked) <= 4


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_team_may_run_again(framework: str) -> None:
    rules = [
        says("planner"),
        says("solver"),
        When(agent="checker").then("No.\nREVISE: it", "Better.\nANSWER: 1", "Good.\nANSWER: 2"),
    ]
    with ScriptedLLM(rules=rules) as llm:
        with pytest.raises(ConfigError, match=r"'swarm'.*planner_solver_checker, debate"):
            build_team(framework, "swarm", llm)
        team = build_team(framework, "planner_solver_checker", llm)
        hooked = tracer_hooks.hook(team, diagnose=False, store="off")
        runs_of_it = [tracer_hooks.run(hooked, TASK) for _ in range(2)]
    courses = [agents_in(run.trajectory) for run in runs_of_it]
    assert courses == [["planner", "solver", "checker", "solver", "checker"], ["planner", "solver", "checker"]]


def factory(framework: str, architecture: str, llm: ScriptedLLM, **options: Any) -> Callable[..., Any]:
    """A factory as users write it."""
    given = options.pop("prompts", None)

    def build(prompts: Mapping[str, str] | None = None) -> Any:
        return build_team(framework, architecture, llm, prompts=prompts or given, **options)

    return build
