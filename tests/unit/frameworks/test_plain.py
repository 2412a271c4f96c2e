"""Teams in plain Python: marked functions of any nature, observed and intervened at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from tracer_hooks.frameworks import Intervention, ModelRequest
from tracer_hooks.frameworks.plain import PlainTeam, agent, model, tool
from tracer_hooks.schema import StepKind
from tracer_hooks.telemetry import ChatReply, RequestedTool
from tracer_hooks.testing import RecordingHost, observed

CALL = RequestedTool(name="lookup", arguments={"query": "x"}, id="c1")


class Supply(Intervention):
    def __init__(self, reply: ChatReply) -> None:
        self.reply = reply

    def before_model(self, request: ModelRequest) -> ChatReply:
        return self.reply


def run(function: Any, intervention: Intervention | None = None) -> tuple[Any, RecordingHost]:
    team = PlainTeam(agent(name="solo")(function), "team")
    with observed(team, intervention=intervention) as observer:
        return team.run("task"), observer


async def test_coroutines_and_streams_are_observed() -> None:
    @model(name="m")
    async def ask(prompt: str) -> AsyncIterator[str]:
        yield "for"
        yield "ty-two"

    @tool
    async def lookup(query: str) -> str:
        return "42"

    async def work(task: str) -> str:
        await lookup("x")
        return "".join([piece async for piece in ask(task)])

    team = PlainTeam(agent(name="solo")(work), "team")
    with observed(team) as observer:
        assert await team.run("task") == "forty-two"
    contents = [(step.kind, step.content) for step in observer.trajectory.steps]
    assert contents == [(StepKind.TOOL_CALL, ""), (StepKind.MESSAGE, "forty-two")]


def ask_for_text(prompt: str) -> str:
    raise AssertionError("not to be called")


def ask_for_mapping(prompt: str) -> Mapping[str, Any]:
    raise AssertionError("not to be called")


def ask_for_reply(prompt: str) -> ChatReply:
    raise AssertionError("not to be called")


def test_a_supplied_reply_has_the_shape_that_the_function_announces() -> None:
    supplied = Supply(ChatReply(content="42", tool_calls=[CALL]))
    assert run(model(ask_for_text), supplied)[0] == "42"
    assert run(model(ask_for_reply), supplied)[0] == supplied.reply
    message, observer = run(model(ask_for_mapping), supplied)
    assert message["content"] == "42"
    (call,) = message["tool_calls"]
    assert (call["id"], call["function"]) == ("c1", {"name": "lookup", "arguments": '{"query": "x"}'})
    assert [call.name for call in observer.trajectory.steps[0].tool_calls] == ["lookup"]


def test_arguments_that_do_not_fit_fail_as_without_us_and_are_recorded() -> None:
    @tool
    def lookup(query: str) -> str:
        return "42"

    def work(task: str) -> str:
        with pytest.raises(TypeError, match="unexpected keyword argument 'wrong'"):
            lookup(wrong=1)  # type: ignore[call-arg]
        return "sorry"

    _, observer = run(work)
    ((call,),) = [step.tool_calls for step in observer.trajectory.steps if step.tool_calls]
    assert call.arguments == {"wrong": 1}
    assert "unexpected keyword argument" in str(call.error)
