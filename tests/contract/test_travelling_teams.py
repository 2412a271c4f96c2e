"""A hooked team that is copied or pickled arrives unhooked and runs by itself, or is refused as it would be without us.

What of the framework's own refuses to travel is no fault of ours: the comparison is with a team that is not hooked.
"""

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.errors import AdapterError

from .kinds._kind import in_order
from .kinds._load import load
from .kinds._stage import Ended, Spans, Stage, acts

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # clients that live as long as their team

TRAVELLERS = (
    "autogen_agents_as_tools", "autogen_graph_flow", "crewai_flow_with_router", "crewai_planning",
    "crewai_single_agent", "langgraph_functional", "langgraph_supervisor",
)  # fmt: skip
WAYS = [(name, way) for name in TRAVELLERS for way in ("deepcopy", "pickle")]
WAYS += [("crewai_planning", "copy"), ("crewai_single_agent", "copy")]


def pickled(team: Any) -> Any:
    """Written down and read again."""
    return pickle.loads(pickle.dumps(team))


def own_copy(team: Any) -> Any:
    """CrewAI's own way; LangGraph's ``graph.copy()`` is hooked like the graph, and is tested with the adapter."""
    return team.copy()


TRAVELS: dict[str, Callable[[Any], Any]] = {"deepcopy": copy.deepcopy, "pickle": pickled, "copy": own_copy}


def arrive(way: str, team: Any) -> tuple[Any, str | None]:
    """What arrives of ``team``; or nothing, and what the framework says about it."""
    try:
        return TRAVELS[way](team), None
    except Exception as error:
        return None, plain_text(error)


def plain_text(value: object) -> str:
    """A value as text that is equal for equal values."""
    return re.sub(r"0x[0-9a-f]+", "0x", repr(value))


def ran(on_stage: Stage, team: Any) -> tuple[Any, Any, int]:
    """What a run of a team that has travelled came to, and how often it asked."""
    ended: Ended = on_stage.ended(team)
    return plain_text(ended.result), plain_text(ended.error), len(ended.asked)


@pytest.mark.parametrize(("name", "way"), WAYS)
def test_what_arrives_is_not_hooked_and_runs_as_the_frameworks_own(on_stage: Stage, way: str) -> None:
    bare, refusal = arrive(way, on_stage.build())
    spans = Spans()
    original = on_stage.hook(on_stage.build(), spans)
    copied, refusal_when_hooked = arrive(way, original)
    assert refusal_when_hooked == refusal
    if refusal is not None:
        return  # the framework does not let it travel
    with pytest.raises(AdapterError, match="is not hooked"):
        tracer_hooks.last_run(copied)
    assert ran(on_stage, copied) == ran(on_stage, bare)
    assert tracer_hooks.last_run(original) is None
    assert spans.ended == ()
    on_stage.run(original)
    assert len(spans.trajectories()) == len(on_stage.kind.courses)


ARRIVING = [("autogen_graph_flow", "deepcopy"), ("crewai_planning", "copy"), ("langgraph_functional", "deepcopy")]
"""One of each framework that arrives and runs."""


@pytest.mark.parametrize(("name", "way"), ARRIVING)
def test_what_arrives_can_be_hooked_apart_from_the_original(on_stage: Stage, way: str) -> None:
    kind, first, second = on_stage.kind, Spans(), Spans()
    original = on_stage.hook(on_stage.build(), first)
    copied, refusal = arrive(way, original)
    assert refusal is None
    on_stage.hook(copied, second)
    tracer_hooks.unhook(original)
    on_stage.run(original)
    assert first.ended == second.ended == ()
    on_stage.run(copied)
    assert first.ended == ()
    for run, course in zip(second.trajectories(), kind.courses, strict=True):
        expected, happened = in_order(course, acts(run))
        assert happened == expected


@pytest.mark.parametrize("way", ["deepcopy", "pickle"])
def test_an_agent_of_crewai_whose_model_can_travel_arrives_unhooked(way: str) -> None:
    load("crewai_single_agent")
    from .teams.crewai_teams import EchoLLM, agent

    original = agent(EchoLLM(model="echo", texts=["It is 42."]), "solo")
    spans = Spans()
    tracer_hooks.hook(original, store="off", tracer_provider=spans.provider)
    try:
        copied, refusal = arrive(way, original)
        assert refusal is None
        assert copied.kickoff("What is six times seven?").raw == "It is 42."
        assert (original.llm.said, copied.llm.said) == (0, 1)
        assert spans.ended == ()
    finally:
        tracer_hooks.unhook(original)
