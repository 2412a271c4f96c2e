"""What is hooked, what is left alone, and that everything is put back."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import MessagesState

from tracer_hooks.frameworks import get_adapter
from tracer_hooks.testing import observed

from ._graphs import QUESTION, chain, scripted, speaker, told


def solver(text: str = "Done.") -> Any:
    return chain(solver=speaker(scripted(text)))


COPIES = [lambda graph: graph.with_config({"tags": ["x"]}), lambda graph: graph.copy()]


@pytest.mark.parametrize("make", COPIES, ids=["with_config", "copy"])
def test_a_copy_is_hooked_and_runs_itself(make: Any) -> None:
    team = solver()
    with observed(team) as observer:
        twin = make(team)
        twin.name = "twin"
        twin.invoke(QUESTION)
    assert observer.trajectory.team == "twin"
    twin.invoke(QUESTION)
    assert len(observer.runs) == 1, "unhooking the original unhooks its copies"


def test_a_config_of_a_copy_reaches_its_nodes() -> None:
    seen: list[Any] = []

    def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        seen.append(config["configurable"].get("colour"))
        return {}

    team = chain(node=node)
    with observed(team):
        team.with_config({"configurable": {"colour": "red"}}).invoke(QUESTION)
    assert seen == ["red"]


def test_a_hooked_graph_in_a_hooked_graph_is_a_part_of_its_run() -> None:
    inner = chain(name="inner", expert=speaker(scripted("Found.")))
    outer = chain(inner=inner, lead=speaker(scripted("So it is.")))
    with observed(inner) as inside, observed(outer) as outside:
        outer.invoke(QUESTION)
        assert inside.runs == []
        assert [agent for agent, _, _ in told(outside)] == ["expert", "lead"]
        inner.invoke(QUESTION)
        assert len(inside.runs) == 1


def test_a_hooked_graph_in_an_unhooked_one_is_a_run() -> None:
    inner = chain(name="inner", expert=speaker(scripted("Found.")))
    outer = chain(inner=inner, lead=speaker(scripted("So it is.")))
    with observed(inner) as observer:
        result = outer.invoke(QUESTION)
    assert result["messages"][-1].content == "So it is."
    assert [agent for agent, _, _ in told(observer)] == ["expert"]


def test_graphs_that_were_hooked_are_not_kept_alive() -> None:
    team = solver()
    with observed(team) as observer:
        team.invoke(QUESTION)
    watched = weakref.ref(team)
    del team
    observer.results.clear()
    gc.collect()
    assert watched() is None


def test_graphs_about_to_run_can_be_watched() -> None:
    adapter = get_adapter("langgraph")
    seen: list[Any] = []
    hooked, other = solver(), solver()
    patches = adapter.watch(seen.append)
    with observed(hooked):
        hooked.invoke(QUESTION)
        other.invoke(QUESTION)
    patches.undo()
    solver().invoke(QUESTION)
    assert seen
    assert all(team is other for team in seen)
