"""Tool calls: whose they are, what fails, and what nests below them."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from tracer_hooks import semconv
from tracer_hooks.schema import StepKind

from ._graphs import calling, calls, chain, lookup, scripted, speaker, watched


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
    observer = watched(loop(scripted(asked, "Done."), ToolNode([lookup])))
    first, second = observer.trajectory.steps
    assert (first.agent, first.kind) == ("solver", StepKind.TOOL_CALL)
    assert calls(first) == [("lookup", {"query": "a"}, "found a", False), ("lookup", {"query": "b"}, "found b", False)]
    assert (second.agent, second.content) == ("solver", "Done.")
    spans = [span for span in observer.spans if span.name.startswith("execute")]
    assert {(span.attributes or {}).get(semconv.AGENT_NAME) for span in spans} == {"solver"}


def test_refused_arguments_and_unknown_tools_are_failed_calls() -> None:
    asked = calling(("lookup", {"nonsense": 1}, "c1"), ("nothing", {"x": 1}, "c2"))
    observer = watched(create_agent(scripted(asked, "Done."), [lookup], name="solo"))
    first = observer.trajectory.steps[0]
    assert [(call.name, call.arguments, call.error is not None) for call in first.tool_calls] == [
        ("lookup", {"nonsense": 1}, True),
        ("nothing", {"x": 1}, True),
    ]
    assert "not a valid tool" in str(first.tool_calls[1].error)


def test_tools_that_a_node_executes_by_hand_belong_to_who_asked() -> None:
    def by_hand(state: MessagesState) -> dict[str, Any]:
        wanted = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage(lookup.invoke(call["args"]), tool_call_id=call["id"]) for call in wanted]}

    observer = watched(loop(scripted(calling(("lookup", {"query": "x"}, "c1")), "Done."), by_hand))
    assert [step.agent for step in observer.trajectory.steps] == ["solver", "solver"]
    assert calls(observer.trajectory.steps[0]) == [("lookup", {"query": "x"}, "found x", False)]


def test_functions_that_are_no_tools_are_calls_by_their_results() -> None:
    def by_hand(state: MessagesState) -> dict[str, Any]:
        (call,) = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage("seven", name=call["name"], tool_call_id=call["id"])]}

    observer = watched(loop(scripted(calling(("count", {"what": "x"}, "c1")), "Done."), by_hand))
    assert calls(observer.trajectory.steps[0]) == [("count", {"what": "x"}, "seven", False)]


def test_a_tool_that_a_node_calls_on_its_own_account_is_that_nodes() -> None:
    def clerk(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", lookup.invoke({"query": "x"}))]}

    observer = watched(chain(clerk=clerk))
    assert {step.agent for step in observer.trajectory.steps} == {"clerk"}
    assert calls(observer.trajectory.steps[0]) == [("lookup", {"query": "x"}, "found x", False)]
