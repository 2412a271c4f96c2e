"""Who hands over to whom."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command

from tracer_hooks.schema import StepKind
from tracer_hooks.testing import RecordingHost, observed

from ._graphs import QUESTION, calling, scripted, speaker, told, watched

MESSAGE, TOOL_CALL, HANDOFF = StepKind.MESSAGE, StepKind.TOOL_CALL, StepKind.HANDOFF


def recipients(observer: RecordingHost) -> list[tuple[str, str | None]]:
    return [(step.agent, step.recipient) for step in observer.trajectory.steps]


def team_of(chooser: Any, *, back: bool = False, **workers: Any) -> StateGraph[Any]:
    graph = StateGraph(MessagesState)
    graph.add_node("chooser", chooser)
    graph.add_edge(START, "chooser")
    for name, worker in workers.items():
        graph.add_node(name, worker)
        graph.add_edge(name, "chooser" if back else END)
    return graph


def test_a_structured_choice_is_a_hand_over_and_the_end_is_none() -> None:
    model = scripted(calling(("Router", {"next": "beta"}, "r1")), "finish")

    def chooser(state: MessagesState) -> Command[Any]:
        asked = model.invoke(state["messages"]).tool_calls
        return Command(goto=asked[0]["args"]["next"] if asked else END)

    team = team_of(chooser, back=True, alpha=speaker(scripted("a")), beta=speaker(scripted("b"))).compile()
    observer = watched(team)
    assert [kind for _, kind, _ in told(observer)] == [HANDOFF, MESSAGE, MESSAGE]
    assert recipients(observer) == [("chooser", "beta"), ("beta", None), ("chooser", None)]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("path_map", [None, {"b": "beta", "a": "alpha"}])
async def test_a_conditional_edge_that_follows_the_reply_is_a_hand_over(
    path_map: dict[Any, str] | None, is_async: bool
) -> None:
    graph = team_of(
        speaker(scripted("beta" if path_map is None else "b")),
        alpha=speaker(scripted("I am first")),
        beta=speaker(scripted("I am second")),
    )
    graph.add_conditional_edges("chooser", lambda state: state["messages"][-1].content, path_map or ["alpha", "beta"])
    team = graph.compile()
    with observed(team) as observer:
        await team.ainvoke(QUESTION) if is_async else team.invoke(QUESTION)
    assert recipients(observer) == [("chooser", "beta"), ("beta", None)]


def test_a_conditional_edge_that_looks_at_the_state_alone_is_none() -> None:
    graph = team_of(speaker(scripted("Here is my draft.")), alpha=speaker(scripted("Reviewed.")))
    graph.add_conditional_edges("chooser", lambda state: "alpha", ["alpha"])
    observer = watched(graph.compile())
    assert told(observer) == [("chooser", MESSAGE, "Here is my draft."), ("alpha", MESSAGE, "Reviewed.")]


def test_an_agents_graph_as_supervisor_hands_over_too() -> None:
    graph = team_of(create_agent(scripted("alpha"), [], name="boss"), alpha=speaker(scripted("Done.")))
    graph.add_conditional_edges("chooser", lambda state: state["messages"][-1].content, ["alpha"])
    observer = watched(graph.compile())
    assert recipients(observer) == [("boss", "alpha"), ("alpha", None)]


@tool
def to_bob(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Hand over to Bob."""
    result = ToolMessage("Over to Bob.", tool_call_id=tool_call_id)
    return Command(goto="bob", graph=Command.PARENT, update={"messages": [result]})


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_hand_over_tool_passes_control_and_is_no_error(is_async: bool) -> None:
    graph = StateGraph(MessagesState)
    alice = create_agent(scripted(calling(("to_bob", {}, "c1"))), [to_bob], name="alice")
    graph.add_node("alice", alice, destinations=("bob",))
    graph.add_node("bob", create_agent(scripted("Bob here."), [], name="bobby"))
    graph.add_edge(START, "alice")
    team = graph.compile()
    with observed(team) as observer:
        await team.ainvoke(QUESTION) if is_async else team.invoke(QUESTION)
    assert told(observer) == [("alice", HANDOFF, ""), ("bobby", MESSAGE, "Bob here.")]
    assert recipients(observer) == [("alice", "bobby"), ("bobby", None)]
    (call,) = observer.trajectory.steps[0].tool_calls
    assert (call.result, call.error) == ("Over to Bob.", None)
    assert [span.name for span in observer.spans if not span.status.is_unset] == []
