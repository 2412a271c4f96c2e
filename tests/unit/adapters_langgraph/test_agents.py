"""Which graphs and nodes are agents, and what their turns hold."""

from __future__ import annotations

import operator
import warnings
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send

from tracer_hooks.schema import StepKind, Usage
from tracer_hooks.testing import observed, span_tree

from ._graphs import QUESTION, Plain, Scripted, calling, chain, lookup, scripted, speaker, told, watched

MESSAGE, TOOL_CALL, ERROR = StepKind.MESSAGE, StepKind.TOOL_CALL, StepKind.ERROR


def test_an_agent_of_create_agent_is_one_agent_with_its_tools() -> None:
    model = scripted(calling(("lookup", {"query": "42"}, "c1")), "It is 42.")
    team = chain(researcher=create_agent(model, [lookup], system_prompt="Be exact.", name="researcher"))
    observer = watched(team)
    assert span_tree(observer.spans) == (
        "invoke_workflow team\n"
        "  invoke_agent researcher\n"
        "    chat scripted [0]\n"
        "    execute_tool lookup [0]\n"
        "    chat scripted [1]"
    )
    (spec,) = observer.trajectory.agents
    assert (spec.name, spec.instructions, spec.tools) == ("researcher", "Be exact.", ("lookup",))


def test_an_unnamed_agent_has_the_name_of_its_node() -> None:
    observer = watched(chain(writer=create_agent(scripted("Done."), [])))
    assert told(observer) == [("writer", MESSAGE, "Done.")]


def test_create_react_agent_is_an_agent_too() -> None:
    from langgraph.prebuilt import create_react_agent

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agent = create_react_agent(scripted("Done."), [lookup], prompt="Be exact.", name="old")
    observer = watched(chain(old=agent))
    assert told(observer) == [("old", MESSAGE, "Done.")]
    assert observer.trajectory.agents[0].instructions == "Be exact."


def test_a_node_that_calls_a_model_is_an_agent_whose_instructions_are_its_system_message() -> None:
    model = scripted("It is 42.")

    def solver(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke([SystemMessage("Solve."), *state["messages"]])]}

    observer = watched(chain(solver=solver))
    assert told(observer) == [("solver", MESSAGE, "It is 42.")]
    assert observer.trajectory.agents[0].instructions == "Solve."


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_model_that_completes_text_is_a_model_too(is_async: bool) -> None:
    model = FakeListLLM(responses=["It is 42."])

    def solver(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", model.invoke("Solve: " + str(state["messages"][-1].content)))]}

    async def asolver(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", await model.ainvoke("Solve: " + str(state["messages"][-1].content)))]}

    team = chain(solver=asolver if is_async else solver)
    with observed(team) as observer:
        await team.ainvoke(QUESTION) if is_async else team.invoke(QUESTION)
    (step,) = observer.trajectory.steps
    assert (step.agent, step.kind, step.content) == ("solver", MESSAGE, "It is 42.")
    assert "chat" in span_tree(observer.spans)


@pytest.mark.parametrize(
    ("output", "usage"),
    [
        ({"token_usage": {"prompt_tokens": 9, "completion_tokens": 3}}, (9, 3)),
        ({"token_usage": {}}, None),
        ({"token_usage": "unknown"}, None),
    ],
)
def test_counts_of_models_that_report_them_beside_the_message_are_used(output: Any, usage: Any) -> None:
    class Old(Scripted):
        def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
            return ChatResult(generations=[ChatGeneration(message=AIMessage("Done."))], llm_output=output)

    observer = watched(chain(solver=speaker(scripted("Done.", kind=Old))))
    found = observer.trajectory.steps[0].usage
    assert (found and (found.input_tokens, found.output_tokens)) == usage


def test_cached_and_reasoning_tokens_of_a_message_are_counted() -> None:
    details = {"input_token_details": {"cache_read": 4}, "output_token_details": {"reasoning": 3}}

    class Detailed(Scripted):
        def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
            counts = {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14, **details}
            return ChatResult(generations=[ChatGeneration(message=AIMessage("Done.", usage_metadata=counts))])

    observer = watched(chain(solver=speaker(scripted("Done.", kind=Detailed))))
    counted = Usage(input_tokens=9, output_tokens=5, cache_read_tokens=4, reasoning_tokens=3)
    assert observer.trajectory.steps[0].usage == counted


def test_a_state_of_a_slotted_class_is_read_as_any_other() -> None:
    @dataclass(slots=True)
    class State:
        topic: str
        answer: str = ""

    team = chain(State, solver=lambda state: {"answer": state.topic.upper()})
    with observed(team) as observer:
        team.invoke(State(topic="tea"))
    assert observer.trajectory.task == "tea"
    assert observer.results[0].text == "TEA"


def test_a_node_without_model_that_speaks_is_an_agent_and_others_are_not() -> None:
    def count(state: MessagesState) -> dict[str, Any]:
        return {}

    def clerk(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("Filed.")]}

    def client(state: MessagesState) -> dict[str, Any]:
        return {"messages": [HumanMessage("Thanks.", name="client")]}

    def keep(state: MessagesState) -> dict[str, Any]:
        return {"messages": state["messages"][-1:]}

    observer = watched(chain(count=count, clerk=clerk, client=client, keep=keep))
    assert told(observer) == [("clerk", MESSAGE, "Filed."), ("client", MESSAGE, "Thanks.")]


def test_a_node_that_raises_is_an_error_step_and_the_exception_is_the_users() -> None:
    def fragile(state: MessagesState) -> dict[str, Any]:
        raise LookupError("no table")

    team = chain(fragile=fragile)
    with observed(team) as observer, pytest.raises(LookupError, match="no table"):
        team.invoke(QUESTION)
    (step,) = observer.trajectory.steps
    assert (step.agent, step.kind, step.error) == ("fragile", ERROR, "no table")


def test_without_messages_every_node_is_an_agent_by_its_update() -> None:
    def plan(state: Plain) -> Plain:
        return {"draft": "a plan about " + state["topic"]}

    def rate(state: Plain) -> Plain:
        return {"score": 7}

    team = chain(Plain, plan=plan, rate=rate)
    with observed(team) as observer:
        team.invoke({"topic": "tea"})
    assert told(observer) == [
        ("plan", MESSAGE, '{"draft": "a plan about tea"}'),
        ("rate", MESSAGE, '{"score": 7}'),
    ]
    rated = observer.trajectory.steps[1]
    assert ("plan", 0) in {(item.source, item.step) for item in rated.inputs}


def test_an_agent_called_by_a_function_keeps_its_name() -> None:
    agent = create_agent(scripted("Found."), [], name="researcher")

    def research(state: MessagesState) -> dict[str, Any]:
        return {"messages": agent.invoke(state)["messages"][-1:]}  # type: ignore[arg-type]

    observer = watched(chain(research=research))
    assert told(observer) == [("researcher", MESSAGE, "Found.")]


def test_an_agent_as_a_tool_is_a_turn_below_the_tool_call() -> None:
    helper = create_agent(scripted("inner answer"), [], name="helper")

    @tool
    def ask_helper(question: str) -> str:
        """Ask."""
        return str(helper.invoke({"messages": [("user", question)]})["messages"][-1].content)  # type: ignore[call-overload]

    team = create_agent(scripted(calling(("ask_helper", {"question": "q"}, "c1")), "Done."), [ask_helper], name="lead")
    observer = watched(team)
    assert span_tree(observer.spans) == (
        "invoke_workflow lead\n"
        "  invoke_agent lead\n"
        "    chat scripted [0]\n"
        "    execute_tool ask_helper [0]\n"
        "      invoke_agent helper\n"
        "        chat scripted [1]\n"
        "    chat scripted [2]"
    )


@pytest.mark.parametrize("is_async", [False, True])
async def test_agents_of_one_super_step_have_steps_of_their_own(is_async: bool) -> None:
    graph = StateGraph(MessagesState)
    for name in ("left", "right"):
        graph.add_node(name, create_agent(scripted(f"{name} says so"), [], name=name))
        graph.add_edge(START, name)
    team = graph.compile()
    with observed(team) as observer:
        await team.ainvoke(QUESTION) if is_async else team.invoke(QUESTION)
    steps = observer.trajectory.steps
    assert [step.index for step in steps] == [0, 1]
    assert {(step.agent, step.content) for step in steps} == {("left", "left says so"), ("right", "right says so")}


def test_one_node_that_is_sent_several_tasks_has_a_turn_for_each() -> None:
    class State(TypedDict, total=False):
        topics: list[str]
        drafts: Annotated[list[str], operator.add]

    def write(state: dict[str, str]) -> dict[str, Any]:
        return {"drafts": ["about " + state["topic"]]}

    graph = StateGraph(State)
    graph.add_node("write", write)  # type: ignore[type-var]
    graph.add_conditional_edges(START, lambda s: [Send("write", {"topic": topic}) for topic in s["topics"]], ["write"])
    graph.add_edge("write", END)
    team = graph.compile()
    with observed(team) as observer:
        team.invoke({"topics": ["tea", "cake"], "drafts": []})
    assert {content for _, _, content in told(observer)} == {'{"drafts": ["about tea"]}', '{"drafts": ["about cake"]}'}
    assert [step.index for step in observer.trajectory.steps] == [0, 1]
