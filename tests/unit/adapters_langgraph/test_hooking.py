"""What is hooked, what is left alone, and that everything is put back."""

from __future__ import annotations

import copy
import gc
import weakref
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.graph import MessagesState
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel

from tracer_hooks.frameworks import get_adapter
from tracer_hooks.telemetry import current_run
from tracer_hooks.testing import Observer, observed

from ._graphs import QUESTION, chain, scripted, speaker, told

PATCHED: list[tuple[type, tuple[str, ...]]] = [
    (Pregel, ("invoke", "ainvoke", "stream", "astream", "copy")),
    (BaseTool, ("run", "arun")),
    (BaseChatModel, ("_generate_with_cache", "_agenerate_with_cache", "stream", "astream")),
    (ToolNode, ("_run_one", "_arun_one")),
]


def methods() -> list[Any]:
    return [vars(owner)[name] for owner, names in PATCHED for name in names]


def solver(text: str = "Done.") -> Any:
    return chain(solver=speaker(scripted(text)))


def test_the_classes_are_restored_with_the_last_hooked_graph() -> None:
    before = methods()
    adapter = get_adapter("langgraph")
    one, two = adapter.hook(solver(), Observer(adapter)), adapter.hook(solver(), Observer(adapter))
    assert all(now is not then for now, then in zip(methods(), before, strict=True))
    one.undo()
    assert all(now is not then for now, then in zip(methods(), before, strict=True))
    two.undo()
    assert all(now is then for now, then in zip(methods(), before, strict=True))


def test_only_the_hooked_graph_is_observed() -> None:
    hooked, other = solver(), solver()
    with observed(hooked) as observer:
        other.invoke(QUESTION)
        assert observer.runs == []
        hooked.invoke(QUESTION)
    assert len(observer.runs) == 1


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


def test_a_shallow_copy_is_not_hooked_but_works() -> None:
    team = solver()
    with observed(team) as observer:
        copy.copy(team).invoke(QUESTION)
    assert observer.runs == []


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


def test_no_run_is_current_outside() -> None:
    current: list[Any] = []

    def node(state: MessagesState) -> dict[str, Any]:
        current.append(current_run())
        return {}

    team = chain(node=node)
    with observed(team) as observer:
        team.invoke(QUESTION)
        assert current == [observer.runs[0]]
        assert current_run() is None
    assert observer.runs[0].adapter_state is None
