"""Replies that are supplied, replaced and recorded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, SystemMessage
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
    RewriteInstructions,
    ToolReply,
    ToolRequest,
)
from tracer_hooks.telemetry import ChatReply, RequestedTool
from tracer_hooks.testing import observed

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
    used: list[str] = []

    @tool
    def search(query: str) -> str:
        """Search."""
        used.append(query)
        return f"found {query}"

    model, team = solo(calling(("search", {"query": "x"}, "c1")), "It is x.", tools=[search])
    with observed(team, intervention=(record := RecordReplies())) as live:
        first = await team.ainvoke(QUESTION) if is_async else team.invoke(QUESTION)
    assert [(request.agent, request.step, request.tools) for request, _ in record.models] == [
        ("solo", 0, ("search",)),
        ("solo", 1, ("search",)),
    ]
    request, reply = record.tools[0]
    assert (request.agent, request.name, request.arguments, request.step) == ("solo", "search", {"query": "x"}, 0)
    assert reply == ToolReply(content="found x")
    with observed(team, intervention=Replay(record)) as replayed:
        second = await team.ainvoke(QUESTION) if is_async else team.invoke(QUESTION)
    assert (len(model.shown), used) == (2, ["x"])
    assert [type(message) for message in second["messages"]] == [type(message) for message in first["messages"]]
    assert told(replayed) == told(live)
    assert replayed.trajectory.steps[0].tool_calls == live.trajectory.steps[0].tool_calls
    assert [step.usage for step in replayed.trajectory.steps] == [step.usage for step in live.trajectory.steps]


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


def test_a_failing_tool_can_be_made_to_succeed() -> None:
    _, team = solo(calling(("broken", {"query": "x"}, "c1")), "Done.", tools=[broken])
    mend = ReplaceToolReply(lambda request: request.name == "broken", lambda reply: ToolReply(content="mended"))
    with observed(team, intervention=mend) as observer:
        result = team.invoke(QUESTION)
    assert result["messages"][2].content == "mended"
    (call,) = observer.trajectory.steps[0].tool_calls
    assert (call.result, call.error) == ("mended", None)


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


def test_arguments_can_be_changed() -> None:
    class Other(Intervention):
        def before_tool(self, request: ToolRequest) -> ToolRequest:
            return replace(request, arguments={"query": "other"})

    _, team = solo(calling(("lookup", {"query": "x"}, "c1")), "Done.")
    with observed(team, intervention=Other()):
        result = team.invoke(QUESTION)
    assert result["messages"][2].content == "found other"


def test_a_tool_that_is_called_directly_is_asked_about_once() -> None:
    def clerk(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", lookup.invoke({"query": "x"}))]}

    change = ReplaceToolReply(
        lambda request: request.agent == "clerk", lambda reply: ToolReply(content=reply.content + "!")
    )
    with observed(team := chain(clerk=clerk), intervention=change) as observer:
        result = team.invoke(QUESTION)
    assert result["messages"][-1].content == "found x!"
    assert observer.trajectory.steps[0].tool_calls[0].result == "found x!"


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


def test_a_reply_at_a_step_is_replaced_and_the_step_shows_what_the_agent_got() -> None:
    model, team = solo(calling(("lookup", {"query": "x"}, "c1")), "Done.")
    with observed(team, intervention=ReplaceModelReply.at_step(0, "No need to look.")) as observer:
        result = team.invoke(QUESTION)
    assert isinstance(result["messages"][-1], AIMessage)
    assert result["messages"][-1].content == "No need to look."
    assert [content for _, _, content in told(observer)] == ["No need to look."]
    assert len(model.shown) == 1


def test_tool_calls_can_be_supplied() -> None:
    call = RequestedTool(name="lookup", arguments={"query": "y"}, id="c9")
    change = ReplaceModelReply(
        lambda request: request.step == 0, lambda reply: replace(reply, content="", tool_calls=(call,))
    )
    _, team = solo("Done.")
    with observed(team, intervention=change) as observer:
        team.invoke(QUESTION)
    assert observer.trajectory.steps[0].tool_calls[0].result == "found y"


def test_instructions_are_rewritten_without_touching_the_users_messages() -> None:
    prompt = SystemMessage("Be brief.")
    model = scripted("Done.")

    def writer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke([prompt, *state["messages"]])]}

    with observed(team := chain(writer=writer), intervention=RewriteInstructions({"writer": "Be long."})) as observer:
        team.invoke(QUESTION)
    assert model.shown[0][0].content == "Be long."
    assert prompt.content == "Be brief."
    assert observer.trajectory.steps[0].content == "Done."


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


def test_streamed_messages_of_a_team_show_the_replaced_reply() -> None:
    team = chain(writer=speaker(scripted("one two", kind=Streaming)))
    with observed(team, intervention=ReplaceModelReply.at_step(0, "three")):
        items = list(team.stream(QUESTION, stream_mode="messages"))
    assert "".join(str(message.content) for message, _ in items) == "three"
