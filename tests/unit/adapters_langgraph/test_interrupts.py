"""Interrupts and limits: control flow of the framework is no error."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import MessagesState
from langgraph.types import Command, interrupt

from tracer_hooks.schema import StepKind
from tracer_hooks.testing import RecordingHost, observed

from ._graphs import QUESTION, calling, chain, lookup, scripted, speaker

THREAD: Any = {"configurable": {"thread_id": "1"}}


def errors(observer: RecordingHost) -> list[str]:
    return [span.name for span in observer.spans if not span.status.is_unset]


def ask(state: MessagesState) -> dict[str, Any]:
    return {"messages": [("ai", "You said " + interrupt("Is it right?"))]}


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_interrupted_run_says_so_and_its_resumption_is_a_run_of_its_own(is_async: bool) -> None:
    team = chain(solver=speaker(scripted("It is 42.")), ask=ask, compiled={"checkpointer": InMemorySaver()})
    with observed(team) as observer:
        first = await team.ainvoke(QUESTION, THREAD) if is_async else team.invoke(QUESTION, THREAD)
        resume: Any = Command(resume="yes")
        last = await team.ainvoke(resume, THREAD) if is_async else team.invoke(resume, THREAD)
    assert "__interrupt__" in first
    assert last["messages"][-1].content == "You said yes"
    assert [result.interrupted for result in observer.results] == [True, False]
    assert errors(observer) == []
    agents = [[step.agent for step in trajectory.steps] for trajectory in observer.trajectories]
    assert agents == [["solver"], ["ask"]]
    assert observer.trajectories[1].task == "yes"


def test_a_tool_that_asks_a_human_is_interrupted_and_ends_in_the_next_run() -> None:
    @tool
    def approve(what: str) -> str:
        """Ask."""
        return "human: " + interrupt(what)

    agent = create_agent(scripted(calling(("approve", {"what": "x"}, "c1")), "Done."), [approve], name="solo")
    team = chain(solo=agent, compiled={"checkpointer": InMemorySaver()})
    with observed(team) as observer:
        team.invoke(QUESTION, THREAD)
        team.invoke(Command(resume="yes"), THREAD)
    assert errors(observer) == []
    assert [result.interrupted for result in observer.results] == [True, False]
    resumed = observer.trajectories[1].steps
    assert {step.agent for step in resumed} == {"solo"}
    assert resumed[0].tool_calls[0].result == "human: yes"
    assert resumed[-1].content == "Done."


@pytest.mark.parametrize("when", ["interrupt_before", "interrupt_after"])
@pytest.mark.parametrize("mode", ["values", "updates"])
def test_a_stop_at_a_node_is_an_interrupt_too(when: str, mode: Any) -> None:
    node = "ask" if when == "interrupt_before" else "solver"
    team = chain(solver=speaker(scripted("Hm.")), ask=ask, compiled={"checkpointer": InMemorySaver(), when: [node]})
    with observed(team) as observer:
        list(team.stream(QUESTION, THREAD, stream_mode=mode))
        team.invoke(QUESTION, {"configurable": {"thread_id": "2"}})
    assert [result.interrupted for result in observer.results] == [True, True]
    assert errors(observer) == []


MODES: list[Any] = ["values", "updates", "debug", "tasks", ["messages", "updates"], "messages"]


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_an_interrupted_stream_says_so_in_every_mode(mode: Any, version: Any) -> None:
    team = chain(solver=speaker(scripted("Hm.")), ask=ask, compiled={"checkpointer": InMemorySaver()})
    with observed(team) as observer:
        list(team.stream(QUESTION, THREAD, stream_mode=mode, version=version))
        list(team.stream(Command(resume="yes"), THREAD, stream_mode=mode, version=version))
    assert [result.interrupted for result in observer.results] == [True, False]


def test_an_interrupt_inside_a_hooked_graph_passes_an_unhooked_one_around_it() -> None:
    inner = chain(name="inner", solver=speaker(scripted("It is 42.")), ask=ask)
    outer = chain(inner=inner, compiled={"checkpointer": InMemorySaver()})
    with observed(inner) as observer:
        first = outer.invoke(QUESTION, THREAD)
        last = outer.invoke(Command(resume="yes"), THREAD)
    assert "__interrupt__" in first
    assert last["messages"][-1].content == "You said yes"
    assert [result.interrupted for result in observer.results] == [True, False]
    assert errors(observer) == []


def test_the_recursion_limit_reaches_the_caller_as_it_is() -> None:
    agent = create_agent(scripted(calling(("lookup", {"query": "x"}, "c1"))), [lookup], name="solo")
    team = agent.with_config({"recursion_limit": 4})
    with observed(team) as observer, pytest.raises(GraphRecursionError):
        team.invoke(QUESTION)
    assert {step.kind for step in observer.trajectory.steps[:-1]} == {StepKind.TOOL_CALL}
    assert "invoke_workflow solo" in errors(observer)
