"""The intervene seam: replies of models and tools recorded, supplied, changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from autogen_agentchat.agents import CodeExecutorAgent
from autogen_agentchat.messages import ModelClientStreamingChunkEvent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_agentchat.tools import AgentTool
from autogen_core.code_executor import CodeResult

from tracer_hooks.errors import TapeMismatchError
from tracer_hooks.frameworks import (
    Intervention,
    RecordReplies,
    ReplaceModelReply,
    ReplaceToolReply,
    ToolReply,
    ToolRequest,
)
from tracer_hooks.telemetry import ChatReply, RequestedTool
from tracer_hooks.testing import observed

from ._teams import acts, assistant, calls, replay, texts
from .test_agents import CODE, FakeExecutor
from .test_tools import Remote


def lookup(query: str) -> str:
    """Look something up."""
    return f"{query}: 42"


def team_of(client, **options: Any) -> RoundRobinGroupChat:
    return RoundRobinGroupChat([assistant("solo", client, reflect_on_tool_use=True, **options)], max_turns=1)


class Supply(Intervention):
    """Gives every reply itself: first a tool call, then text."""

    def before_model(self, request) -> ChatReply:
        if request.step == 0:
            call = RequestedTool(name="lookup", arguments={"query": "taped"}, id="taped-1")
            return ChatReply(content="", tool_calls=[call], finish_reason="tool_calls")
        return ChatReply(content="Taped answer.", finish_reason="stop")

    def before_tool(self, request) -> ToolReply:
        return ToolReply(content=f"taped result of {request.name}")


@pytest.mark.parametrize("stream", [False, True])
async def test_supplied_replies_need_no_model_and_no_tool(stream: bool) -> None:
    team = team_of(replay(), tools=[lookup], model_client_stream=stream)
    with observed(team, intervention=Supply()) as seen:
        items = [item async for item in team.run_stream(task="Go")]
    assert items[-2].content == "Taped answer."
    chunks = [item.content for item in items if isinstance(item, ModelClientStreamingChunkEvent)]
    assert chunks == (["Taped answer."] if stream else [])
    step = seen.trajectory.steps[0]
    assert (step.tool_calls[0].arguments, step.tool_calls[0].result) == (
        {"query": "taped"},
        "taped result of lookup",
    )


@pytest.mark.parametrize("stream", [False, True])
async def test_a_changed_reply_is_what_the_agent_gets(stream: bool) -> None:
    team = team_of(replay("It is 42."), model_client_stream=stream)
    with observed(team, intervention=ReplaceModelReply.prefix(0, "Wrong: ")) as seen:
        items = [item async for item in team.run_stream(task="Go")]
    assert items[-2].content == "Wrong: It is 42."
    assert texts(seen.trajectory) == ["Wrong: It is 42."]
    assert seen.trajectory.steps[0].usage is not None


async def test_a_changed_reply_can_take_the_tool_calls_out() -> None:
    team = team_of(replay(calls(("lookup", '{"query": "q"}'))), tools=[lookup])
    with observed(team, intervention=ReplaceModelReply.at_step(0, "No tool needed.")) as seen:
        result = await team.run(task="Go")
    assert result.messages[-1].content == "No tool needed."
    assert acts(seen.trajectory) == [("solo", "message", None)]


class ChangeResults(Intervention):
    """Changes the text of tool results that the model is shown."""

    def before_model(self, request):
        messages = list(request.messages)
        for index, message in enumerate(messages):
            if message["role"] == "tool":
                part = {**message["parts"][0], "response": f"changed {index}"}
                messages[index] = {**message, "parts": [part]}
        return replace(request, messages=tuple(messages))


async def test_each_of_several_tool_results_can_be_changed() -> None:
    client = replay(calls(("lookup", '{"query": "a"}'), ("lookup", '{"query": "b"}')), "done")
    team = team_of(client, tools=[lookup])
    with observed(team, intervention=ChangeResults()):
        await team.run(task="Go")
    results = client.create_calls[1]["messages"][-1].content
    assert [result.content for result in results] == ["changed 3", "changed 4"]
    kept = (await team._participants[0].model_context.get_messages())[2].content
    assert [result.content for result in kept] == ["a: 42", "b: 42"]


@pytest.mark.parametrize("failing", [False, True])
async def test_a_changed_tool_result(failing: bool) -> None:
    def change(reply: ToolReply) -> ToolReply:
        return ToolReply(content=f"not {reply.content}", is_error=failing)

    team = team_of(replay(calls(("lookup", '{"query": "q"}')), "done"), tools=[lookup])
    with observed(team, intervention=ReplaceToolReply(lambda request: request.name == "lookup", change)) as seen:
        result = await team.run(task="Go")
    executed = result.messages[2].content[0]
    assert (executed.content, executed.is_error) == ("not q: 42", failing)
    (call,) = seen.trajectory.steps[0].tool_calls
    assert (call.result, call.error) == ("not q: 42", "not q: 42" if failing else None)


async def test_agents_as_tools_and_remote_tools_can_be_supplied() -> None:
    helper = AgentTool(assistant("helper", replay()))
    asks = calls(("helper", '{"task": "help"}'))
    team = team_of(replay(asks, "done"), tools=[helper])
    taped = ReplaceToolReply(lambda request: True, lambda reply: reply)
    taped.before_tool = lambda request: ToolReply(content="taped")  # type: ignore[method-assign]
    with observed(team, intervention=taped):
        result = await team.run(task="Go")
    assert result.messages[2].content[0].content == "taped"

    remote = team_of(replay(calls(("search", "{}")), "done"), workbench=Remote())
    with observed(remote, intervention=taped):
        result = await remote.run(task="Go")
    assert result.messages[2].content[0].content == "taped"


class OtherQuestion(Intervention):
    def before_tool(self, request: ToolRequest) -> ToolRequest:
        return replace(request, arguments={"q": 2})


async def test_remote_tools_are_recorded_and_their_arguments_and_results_can_be_changed() -> None:
    bench = Remote()
    asks = calls(("search", '{"q": 1}'), ("fails", "{}"))
    record, other = RecordReplies(), ReplaceToolReply(lambda request: True, lambda reply: ToolReply(content="other"))

    async def read(intervention: Intervention) -> list[tuple[str, bool]]:
        team = team_of(replay(asks, "done"), workbench=bench)
        with observed(team, intervention=intervention):
            result = await team.run(task="Go")
        return [(one.content, one.is_error) for one in result.messages[2].content]

    assert await read(record) == [("search done", False), ("fails done", True)]
    assert [(request.name, request.arguments, reply.content, reply.is_error) for request, reply in record.tools] == [
        ("search", {"q": 1}, "search done", False),
        ("fails", {}, "fails done", True),
    ]
    assert await read(other) == [("other", False), ("other", False)]
    assert bench.asked[:4] == [{"q": 1}, {}, {"q": 1}, {}]
    await read(OtherQuestion())
    assert bench.asked[4:] == [{"q": 2}, {"q": 2}]


async def test_code_that_is_run_can_be_recorded_supplied_and_judged_otherwise() -> None:
    async def run(intervention: Intervention, *results: CodeResult) -> tuple[str, Any]:
        client = replay(CODE, "Done.")
        agent = CodeExecutorAgent("runner", FakeExecutor(*results), model_client=client)
        with observed(agent, intervention=intervention) as seen:
            await agent.run(task="Go")
        return client.create_calls[1]["messages"][-1].content, seen.trajectory.steps[0].tool_calls[0]

    record = RecordReplies()
    said, call = await run(record, CodeResult(exit_code=0, output="42"))
    ((request, reply),) = record.tools
    assert (said, call.result, call.error) == ("42", "42", None)
    assert (request.agent, request.name, request.arguments) == ("runner", "execute_code", {"code": ["print(42)\n"]})
    assert reply == ToolReply(content="42")
    worse = ReplaceToolReply(lambda request: True, lambda reply: ToolReply(content="no disk", is_error=True))
    said, call = await run(worse, CodeResult(exit_code=0, output="42"))
    assert (said, call.error) == ("no disk", "no disk")
    taped = ReplaceToolReply(lambda request: True, lambda reply: reply)
    taped.before_tool = lambda request: ToolReply(content="taped")  # type: ignore[method-assign]
    said, call = await run(taped)
    assert (said, call.result) == ("taped", "taped")


async def test_an_agent_as_a_tool_that_fails_fails_as_before_when_it_is_only_recorded() -> None:
    record = RecordReplies()
    helper = AgentTool(assistant("helper", replay()))  # its model has no reply
    team = team_of(replay(calls(("helper", '{"task": "help"}')), "done"), tools=[helper])
    with observed(team, intervention=record) as seen:
        result = await team.run(task="Go")
    assert result.messages[2].content[0].is_error
    assert [(request.name, reply.is_error) for request, reply in record.tools] == [("helper", True)]
    assert seen.trajectory.steps[0].tool_calls[0].error == result.messages[2].content[0].content


class Mismatch(Intervention):
    def before_model(self, request) -> None:
        raise TapeMismatchError("the tape has no reply here")


async def test_a_replay_that_left_its_tape_stops_the_run() -> None:
    agent = assistant("solo", replay("never"))
    with observed(agent, intervention=Mismatch()) as seen, pytest.raises(TapeMismatchError):
        await agent.run(task="Go")
    assert seen.trajectory.steps[0].error == "the tape has no reply here"
