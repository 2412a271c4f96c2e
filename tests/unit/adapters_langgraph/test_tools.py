"""Tool calls: whose they are, what fails, and what nests below them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from opentelemetry import trace

from tracer_hooks import semconv
from tracer_hooks.schema import StepKind
from tracer_hooks.testing import observed, span_tree

from ._graphs import QUESTION, broken, calling, calls, chain, lookup, scripted, speaker, told


def loop(model: Any, tools: Any) -> Any:
    """An agent's loop written by hand."""
    graph = StateGraph(MessagesState)
    graph.add_node("solver", speaker(model))
    graph.add_node("tools", tools)
    graph.add_edge(START, "solver")
    graph.add_conditional_edges("solver", tools_condition)
    graph.add_edge("tools", "solver")
    return graph.compile(name="loop")


def test_calls_of_one_reply_in_a_node_of_their_own_belong_to_who_asked() -> None:
    asked = calling(("lookup", {"query": "a"}, "c1"), ("lookup", {"query": "b"}, "c2"))
    team = loop(scripted(asked, "Done."), ToolNode([lookup]))
    with observed(team) as observer:
        team.invoke(QUESTION)
    first, second = observer.trajectory.steps
    assert (first.agent, first.kind) == ("solver", StepKind.TOOL_CALL)
    assert calls(first) == [("lookup", {"query": "a"}, "found a", False), ("lookup", {"query": "b"}, "found b", False)]
    assert (second.agent, second.content) == ("solver", "Done.")
    spans = [span for span in observer.spans if span.name.startswith("execute")]
    assert {(span.attributes or {}).get(semconv.AGENT_NAME) for span in spans} == {"solver"}


def test_refused_arguments_and_unknown_tools_are_failed_calls() -> None:
    asked = calling(("lookup", {"nonsense": 1}, "c1"), ("nothing", {"x": 1}, "c2"))
    team = create_agent(scripted(asked, "Done."), [lookup], name="solo")
    with observed(team) as observer:
        team.invoke(QUESTION)
    first = observer.trajectory.steps[0]
    assert [(call.name, call.arguments, call.error is not None) for call in first.tool_calls] == [
        ("lookup", {"nonsense": 1}, True),
        ("nothing", {"x": 1}, True),
    ]
    assert "not a valid tool" in str(first.tool_calls[1].error)


def test_a_tool_that_raises_is_an_error_of_the_run_and_of_its_call() -> None:
    team = create_agent(scripted(calling(("broken", {"query": "x"}, "c1"))), [broken], name="solo")
    with observed(team) as observer, pytest.raises(ValueError, match="the table is gone"):
        team.invoke(QUESTION)
    (step,) = observer.trajectory.steps
    assert (step.kind, step.tool_calls[0].error) == (StepKind.TOOL_CALL, "the table is gone")
    events = [event.name for span in observer.spans for event in span.events]
    assert events == ["exception"]


def test_an_error_that_the_tool_node_handles_is_a_failed_call_and_the_run_goes_on() -> None:
    model = scripted(calling(("broken", {"query": "x"}, "c1")), "Sorry.")
    team = loop(model, ToolNode([broken], handle_tool_errors=True))
    with observed(team) as observer:
        team.invoke(QUESTION)
    assert observer.trajectory.steps[0].tool_calls[0].error == "the table is gone"
    assert told(observer)[1] == ("solver", StepKind.MESSAGE, "Sorry.")


def test_tools_that_a_node_executes_by_hand_belong_to_who_asked() -> None:
    def by_hand(state: MessagesState) -> dict[str, Any]:
        wanted = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage(lookup.invoke(call["args"]), tool_call_id=call["id"]) for call in wanted]}

    team = loop(scripted(calling(("lookup", {"query": "x"}, "c1")), "Done."), by_hand)
    with observed(team) as observer:
        team.invoke(QUESTION)
    assert [step.agent for step in observer.trajectory.steps] == ["solver", "solver"]
    assert calls(observer.trajectory.steps[0]) == [("lookup", {"query": "x"}, "found x", False)]


def test_functions_that_are_no_tools_are_calls_by_their_results() -> None:
    def by_hand(state: MessagesState) -> dict[str, Any]:
        (call,) = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage("seven", name=call["name"], tool_call_id=call["id"])]}

    team = loop(scripted(calling(("count", {"what": "x"}, "c1")), "Done."), by_hand)
    with observed(team) as observer:
        team.invoke(QUESTION)
    assert calls(observer.trajectory.steps[0]) == [("count", {"what": "x"}, "seven", False)]


def test_a_tool_that_a_node_calls_on_its_own_account_is_that_nodes() -> None:
    def clerk(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", lookup.invoke({"query": "x"}))]}

    team = chain(clerk=clerk)
    with observed(team) as observer:
        team.invoke(QUESTION)
    assert {step.agent for step in observer.trajectory.steps} == {"clerk"}
    assert calls(observer.trajectory.steps[0]) == [("lookup", {"query": "x"}, "found x", False)]


@pytest.mark.parametrize("is_async", [False, True])
async def test_spans_of_the_user_inside_a_tool_nest_below_it(is_async: bool) -> None:
    def work(query: str) -> str:
        with users.start_as_current_span(f"query {query}"):
            return "rows"

    @tool
    def sync_query(query: str) -> str:
        """Query."""
        return work(query)

    @tool
    async def async_query(query: str) -> str:
        """Query."""
        await asyncio.sleep(0)
        return work(query)

    query = async_query if is_async else sync_query
    asked = calling((query.name, {"query": "a"}, "c1"), (query.name, {"query": "b"}, "c2"))
    team = create_agent(scripted(asked, "Done."), [query], name="solo")
    with observed(team) as observer:
        users = observer.tracer_provider.get_tracer("user")
        await team.ainvoke(QUESTION) if is_async else team.invoke(QUESTION)
    lines = span_tree(observer.spans, with_steps=False).splitlines()
    for name in ("query a", "query b"):
        at = lines.index(f"      {name}")
        assert lines[at - 1] == f"    execute_tool {query.name}"
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_arguments_and_results_of_any_kind_are_recorded() -> None:
    class Odd:
        def __repr__(self) -> str:
            return "<odd>"

    @tool
    def odd(value: Any) -> Any:
        """Give something odd."""
        return {"odd": Odd(), "bytes": b"\x00\xff"}

    team = create_agent(scripted(calling(("odd", {"value": {"deep": [1, None]}}, "c1")), "Done."), [odd], name="solo")
    with observed(team) as observer:
        team.invoke(QUESTION)
    (call,) = observer.trajectory.steps[0].tool_calls
    assert call.arguments == {"value": {"deep": [1, None]}}
    assert "odd" in str(call.result)
