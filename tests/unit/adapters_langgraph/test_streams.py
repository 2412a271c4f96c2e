"""Streams: every mode passes through unchanged, tells its result, and may be broken off."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.config import get_stream_writer
from opentelemetry import trace

from tracer_hooks import semconv
from tracer_hooks.schema import StepKind
from tracer_hooks.testing import observed

from ._graphs import QUESTION, Plain, Streaming, chain, scripted, speaker, told

ANSWER = "It is 42 exactly."
MODES: list[Any] = ["values", "updates", "messages", "debug", ["values", "updates"], ["messages", "updates"], "tasks"]


def team_of_two() -> Any:
    writer = create_agent(scripted("A draft.", kind=Streaming), [], name="writer")
    return chain(writer=writer, reviewer=speaker(scripted(ANSWER, kind=Streaming)))


@pytest.mark.parametrize("subgraphs", [False, True])
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_each_mode_gives_the_answer_and_the_same_steps(mode: Any, subgraphs: bool) -> None:
    bare = list(team_of_two().stream(QUESTION, stream_mode=mode, subgraphs=subgraphs))
    team = team_of_two()
    with observed(team) as observer:
        items = list(team.stream(QUESTION, stream_mode=mode, subgraphs=subgraphs))
    assert [type(item) for item in items] == [type(item) for item in bare]
    assert observer.results[0].text == ANSWER
    assert told(observer) == [("writer", StepKind.MESSAGE, "A draft."), ("reviewer", StepKind.MESSAGE, ANSWER)]


@pytest.mark.parametrize("mode", ["values", "updates", ["values", "custom"]], ids=str)
def test_the_second_format_of_streams_is_understood(mode: Any) -> None:
    team = team_of_two()
    with observed(team) as observer:
        list(team.stream(QUESTION, stream_mode=mode, version="v2"))
    assert observer.results[0].text == ANSWER


def test_invoke_with_another_mode_gives_the_answer() -> None:
    team = team_of_two()
    with observed(team) as observer:
        chunks = team.invoke(QUESTION, stream_mode="updates")
    assert [*map(list, chunks)] == [["writer"], ["reviewer"]]
    assert observer.results[0].text == ANSWER


def test_a_stream_of_custom_items_alone_is_passed_on() -> None:
    def node(state: Plain) -> Plain:
        get_stream_writer()("half way")
        return {"draft": "done"}

    team = chain(Plain, node=node)
    with observed(team) as observer:
        assert list(team.stream({"topic": "t"}, stream_mode="custom")) == ["half way"]
    assert told(observer) == [("node", StepKind.MESSAGE, '{"draft": "done"}')]


async def test_events_are_observed_because_they_come_through_astream() -> None:
    team = team_of_two()
    with observed(team) as observer:
        kinds = [event["event"] async for event in team.astream_events(QUESTION, version="v2")]
    assert "on_chat_model_stream" in kinds
    assert len(observer.trajectory.steps) == 2


def test_a_stream_broken_off_is_abandoned_and_no_error() -> None:
    team = team_of_two()
    with observed(team) as observer:
        stream = team.stream(QUESTION, stream_mode="messages")
        next(stream)
        assert trace.get_current_span() is trace.INVALID_SPAN
        stream.close()
    assert observer.runs[0].ended
    assert [span.name for span in observer.spans if not span.status.is_unset] == []
    assert (observer.spans[-1].attributes or {})[semconv.ABANDONED] == "abandoned"
