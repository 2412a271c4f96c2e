"""Replies that are supplied, replaced and recorded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from tracer_hooks.frameworks import (
    Intervention,
    ModelRequest,
    RecordReplies,
    ReplaceModelReply,
    ReplaceToolReply,
    ToolReply,
    ToolRequest,
)
from tracer_hooks.telemetry import ChatReply
from tracer_hooks.testing import RecordingHost, observed

from ._graphs import QUESTION, Streaming, broken, calling, chain, lookup, scripted, speaker, told


class Replay(Intervention):
    """Gives the recorded replies, in order."""

    def __init__(self, record: RecordReplies) -> None:
        self.models = iter([reply for _, reply in record.models])
        self.tools = iter([reply for _, reply in record.tools])

    def before_model(self, request: ModelRequest) -> ChatReply:
        return next(self.models)

    def before_tool(self, request: ToolRequest) -> ToolReply:
        return next(self.tools)


def solo(*replies: Any, tools: Any = (lookup,)) -> tuple[Any, Any]:
    model = scripted(*replies)
    return model, create_agent(model, [*tools], system_prompt="Be exact.", name="solo")


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_recorded_run_is_replayed_without_model_or_tool(is_async: bool) -> None:
    model, team = solo(calling(("lookup", {"query": "x"}, "c1")), "It is x.")

    async def run(intervention: Intervention) -> RecordingHost:
        with observed(team, intervention=intervention) as observer:
            await team.ainvoke(QUESTION) if is_async else team.invoke(QUESTION)
        return observer

    live = await run(record := RecordReplies())
    replayed = await run(Replay(record))
    assert len(model.shown) == 2
    assert [reply for _, reply in record.tools] == [ToolReply(content="found x")]
    for kept, again in zip(live.trajectory.steps, replayed.trajectory.steps, strict=True):
        assert (again.kind, again.content, again.tool_calls, again.usage) == (
            kept.kind,
            kept.content,
            kept.tool_calls,
            kept.usage,
        )


def test_a_handled_failure_is_recorded_in_the_words_that_the_model_reads() -> None:
    model = scripted(calling(("broken", {"query": "x"}, "c1")))
    team = chain(solver=speaker(model), tools=ToolNode([broken], handle_tool_errors=True))
    with observed(team, intervention=(record := RecordReplies())):
        result = team.invoke(QUESTION)
    (_, reply) = record.tools[0]
    assert (reply.is_error, reply.content) == (True, result["messages"][-1].content)
    with observed(team, intervention=Replay(record)):
        again = team.invoke(QUESTION)
    assert (again["messages"][-1].content, again["messages"][-1].status) == (reply.content, "error")


def test_a_failing_tool_fails_as_before_when_nobody_objects() -> None:
    _, team = solo(calling(("broken", {"query": "x"}, "c1")), "Done.", tools=[broken])
    with observed(team, intervention=(record := RecordReplies())), pytest.raises(ValueError, match="the table is gone"):
        team.invoke(QUESTION)
    assert record.tools[0][1] == ToolReply(content="the table is gone", is_error=True)


def test_an_answer_about_refused_arguments_can_be_replaced() -> None:
    _, team = solo(calling(("lookup", {"nonsense": 1}, "c1")), "Done.")
    change = ReplaceToolReply(lambda request: True, lambda reply: ToolReply(content="let us say 42"))
    with observed(team, intervention=change):
        result = team.invoke(QUESTION)
    assert (result["messages"][2].content, result["messages"][2].status) == ("let us say 42", "success")


class Supplied(Intervention):
    """Answers in the place of every tool."""

    def __init__(self, reply: ToolReply) -> None:
        self.reply = reply

    def before_tool(self, request: ToolRequest) -> ToolReply:
        return self.reply


class OtherQuery(Intervention):
    def before_tool(self, request: ToolRequest) -> ToolRequest:
        return replace(request, arguments={"query": "other"})


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("intervention", "said", "used"),
    [
        (RecordReplies(), "found x", ["x"]),
        (OtherQuery(), "found other", ["other"]),
        (Supplied(ToolReply(content="taped")), "taped", []),
        (ReplaceToolReply(lambda request: True, lambda reply: ToolReply(content="better")), "better", ["x"]),
        (Supplied(ToolReply(content="no such page", is_error=True)), "ToolException: no such page", []),
    ],
)
async def test_a_tool_that_a_node_calls_itself_can_be_answered_for(
    intervention: Intervention, said: str, used: list[str], is_async: bool
) -> None:
    asked: list[str] = []

    @tool
    async def search(query: str) -> str:
        """Search."""
        asked.append(query)
        return f"found {query}"

    @tool("search")
    def search_now(query: str) -> str:
        """Search."""
        asked.append(query)
        return f"found {query}"

    async def aclerk(state: MessagesState) -> dict[str, Any]:
        try:
            return {"messages": [("ai", await search.ainvoke({"query": "x"}))]}
        except ToolException as error:
            return {"messages": [("ai", f"ToolException: {error}")]}

    def clerk(state: MessagesState) -> dict[str, Any]:
        try:
            return {"messages": [("ai", search_now.invoke({"query": "x"}))]}
        except ToolException as error:
            return {"messages": [("ai", f"ToolException: {error}")]}

    with observed(team := chain(clerk=aclerk if is_async else clerk), intervention=intervention):
        result = await team.ainvoke(QUESTION) if is_async else team.invoke(QUESTION)
    assert (result["messages"][-1].content, asked) == (said, used)


async def test_an_asynchronous_tool_that_raises_does_so_unless_it_is_mended() -> None:
    @tool
    async def fails(query: str) -> str:
        """Fail."""
        raise ValueError("the table is gone")

    async def clerk(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", await fails.ainvoke({"query": "x"}))]}

    team, record = chain(clerk=clerk), RecordReplies()
    with observed(team, intervention=record), pytest.raises(ValueError, match="the table is gone"):
        await team.ainvoke(QUESTION)
    assert record.tools[0][1] == ToolReply(content="the table is gone", is_error=True)
    mend = ReplaceToolReply(lambda request: True, lambda reply: ToolReply(content="mended"))
    with observed(team := chain(clerk=clerk), intervention=mend):
        assert (await team.ainvoke(QUESTION))["messages"][-1].content == "mended"


def test_a_tool_inside_a_tool_is_asked_about_by_itself() -> None:
    @tool
    def outer(query: str) -> str:
        """Look it up in another place."""
        return f"outer {lookup.invoke({'query': query})}"

    _, team = solo(calling(("outer", {"query": "x"}, "c1")), "Done.", tools=[outer])
    with observed(team, intervention=(record := RecordReplies())):
        team.invoke(QUESTION)
    assert [(request.name, reply.content) for request, reply in record.tools] == [
        ("lookup", "found x"),
        ("outer", "outer found x"),
    ]


async def test_a_tool_that_asks_a_human_is_interrupted_under_an_intervention_too() -> None:
    @tool
    def approve(query: str) -> str:
        """Ask a human."""
        return str(interrupt("may I?"))

    model = scripted(calling(("approve", {"query": "x"}, "c1")), "Done.")
    team = create_agent(model, [approve], name="solo", checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    with observed(team, intervention=(record := RecordReplies())):
        first = team.invoke(QUESTION, config)
        assert first["__interrupt__"][0].value == "may I?"
        assert record.tools == []
        assert team.invoke(Command(resume="yes"), config)["messages"][2].content == "yes"


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_node_that_streams_gets_a_replaced_reply_as_chunks(is_async: bool) -> None:
    model = scripted("one two three", kind=Streaming)
    got: list[BaseMessage] = []

    def writer(state: MessagesState) -> dict[str, Any]:
        got.extend(model.stream(state["messages"]))
        return {"messages": [("ai", "".join(str(chunk.content) for chunk in got))]}

    async def awriter(state: MessagesState) -> dict[str, Any]:
        got.extend([chunk async for chunk in model.astream(state["messages"])])
        return {"messages": [("ai", "".join(str(chunk.content) for chunk in got))]}

    team = chain(writer=awriter if is_async else writer)
    with observed(team, intervention=ReplaceModelReply.prefix(0, "zero ")) as observer:
        await team.ainvoke(QUESTION) if is_async else team.invoke(QUESTION)
    assert {type(chunk) for chunk in got} == {AIMessageChunk}
    assert [content for _, _, content in told(observer)] == ["zero one two three"]
