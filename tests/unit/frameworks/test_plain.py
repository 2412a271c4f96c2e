"""Teams in plain Python: marked functions of any nature, observed and intervened at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from tracer_hooks.frameworks import Intervention, ModelRequest, ReplaceModelReply, ToolReply, ToolRequest
from tracer_hooks.frameworks.plain import PlainTeam, agent, model, tool
from tracer_hooks.schema import StepKind
from tracer_hooks.telemetry import ChatReply, RequestedTool
from tracer_hooks.testing import Observer, observed

CALL = RequestedTool(name="lookup", arguments={"query": "x"}, id="c1")


class Supply(Intervention):
    def __init__(self, reply: ChatReply) -> None:
        self.reply = reply

    def before_model(self, request: ModelRequest) -> ChatReply:
        return self.reply


def run(function: Any, intervention: Intervention | None = None) -> tuple[Any, Observer]:
    team = PlainTeam(agent(name="solo")(function), "team")
    with observed(team, intervention=intervention) as observer:
        return team.run("task"), observer


def test_outside_a_run_marked_functions_are_what_they_were() -> None:
    @tool
    def lookup(query: str) -> dict[str, str]:
        return {"found": query}

    assert lookup("x") == {"found": "x"}


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


def test_a_supplied_reply_has_the_shape_of_the_last_real_one() -> None:
    @model
    def ask(prompt):
        return {"content": "real", "usage": {"prompt_tokens": 1, "completion_tokens": 1}}

    assert run(ask)[0]["content"] == "real"
    assert run(ask, Supply(ChatReply(content="supplied")))[0]["content"] == "supplied"


def test_a_changed_reply_keeps_what_else_was_in_it() -> None:
    @model
    def ask(prompt: str) -> dict[str, Any]:
        calls = [{"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}}]
        return {"content": "", "tool_calls": calls, "finish_reason": "tool_calls", "own": 1}

    value, _ = run(ask, ReplaceModelReply.at_step(0, "I know: 42."))
    assert (value["content"], value["tool_calls"], value["own"]) == ("I know: 42.", [], 1)


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


def test_changed_arguments_are_made_and_recorded() -> None:
    class Change(Intervention):
        def before_tool(self, request: ToolRequest) -> ToolRequest:
            return ToolRequest(agent=request.agent, name=request.name, arguments={"query": "changed"})

        def after_tool(self, request: ToolRequest, reply: ToolReply) -> None:
            assert reply.content == "changed"

    @tool
    def lookup(query: str) -> str:
        return query

    value, observer = run(lambda task: lookup("original"), Change())
    assert value == "changed"
    assert observer.trajectory.steps[0].tool_calls[0].arguments == {"query": "changed"}
