"""Streams of a model whose request alone is changed: pieces, types and ids stay as they are without us."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langgraph.graph import MessagesState

from tracer_hooks import semconv
from tracer_hooks.errors import TapeMismatchError
from tracer_hooks.frameworks import (
    Intervention,
    Interventions,
    ModelRequest,
    RecordReplies,
    ReplaceModelReply,
    RewriteInstructions,
)
from tracer_hooks.telemetry import ChatReply, RequestedTool
from tracer_hooks.testing import RecordingHost, observed

from ._graphs import QUESTION, Scripted, Streaming, chain, scripted, told

REWRITE = RewriteInstructions({"writer": "Be long."})
PIECES = ["one ", "two ", "three"]
both_ways = pytest.mark.parametrize("is_async", [False, True], ids=["stream", "astream"])


class AsyncOnly(Scripted):
    """Streams through ``_astream`` alone."""

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for word in PIECES:
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))
        self._next(messages)


class Counting(Streaming):
    """Keeps how often it was asked in a field of its own, and whether its last stream was closed or used up."""

    asked: int = 0
    is_open: bool = False

    def _stream(self, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        self.asked += 1
        self.is_open = True
        try:
            yield from super()._stream(*args, **kwargs)
        finally:
            self.is_open = False

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(*args, **kwargs):
            await asyncio.sleep(0)
            yield chunk

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        self.asked += 1
        return super()._generate(*args, **kwargs)


def team_of(model: Any, got: list[BaseMessage], is_async: bool, listen: Callable[[Any], Any] = list) -> Any:
    """A graph of one node, which streams its model's reply itself."""

    def state_of(said: list[BaseMessage]) -> dict[str, Any]:
        return {"messages": [AIMessage("".join(str(chunk.content) for chunk in said))]}

    def writer(state: MessagesState) -> dict[str, Any]:
        said = listen(model.stream([SystemMessage("Be brief."), *state["messages"]]))
        got.extend(said)
        return state_of(said)

    async def awriter(state: MessagesState) -> dict[str, Any]:
        said = [chunk async for chunk in model.astream([SystemMessage("Be brief."), *state["messages"]])]
        got.extend(said)
        return state_of(said)

    return chain(writer=awriter if is_async else writer)


async def stream_of(
    model: Any, is_async: bool, intervention: Intervention | None = None, times: int = 1
) -> tuple[list[BaseMessage], RecordingHost]:
    """What a node's stream gave in all runs."""
    got: list[BaseMessage] = []
    team = team_of(model, got, is_async)
    with observed(team, intervention=intervention) as observer:
        for _ in range(times):
            await team.ainvoke(QUESTION) if is_async else team.invoke(QUESTION)
    return got, observer


def seen(messages: list[BaseMessage]) -> list[Any]:
    """Type, text and end of each piece."""
    return [(type(one), one.content, getattr(one, "chunk_position", None)) for one in messages]


@pytest.mark.parametrize("kind", [Scripted, Streaming, AsyncOnly, Counting])
@both_ways
async def test_a_node_gets_the_pieces_of_its_model(is_async: bool, kind: type[Scripted]) -> None:
    bare, _ = await stream_of(scripted("one two three", kind=kind), is_async)
    model = scripted("one two three", kind=kind)
    got, observer = await stream_of(model, is_async, Interventions([REWRITE, record := RecordReplies()]))
    assert seen(got) == seen(bare)
    assert len(got) == (4 if kind in (Streaming, Counting) or (kind is AsyncOnly and is_async) else 1)
    assert [shown[0].content for shown in model.shown] == ["Be long."]
    assert {str(one.id)[:8] for one in got} == {"lc_run--"}
    assert len({one.id for one in got}) == 1
    assert [reply.content for _, reply in record.models] == ["one two three"]
    assert [request.messages[0]["parts"][0]["content"] for request, _ in record.models] == ["Be long."]
    assert [content for _, _, content in told(observer)] == ["one two three"]


@pytest.mark.parametrize("is_async", [False, True], ids=["invoke", "ainvoke"])
async def test_messages_mode_streams_what_a_node_invokes(is_async: bool) -> None:
    def team() -> Any:
        model = scripted("one two three", kind=Counting)

        def writer(state: MessagesState) -> dict[str, Any]:
            return {"messages": [model.invoke([SystemMessage("Be brief."), *state["messages"]])]}

        async def awriter(state: MessagesState) -> dict[str, Any]:
            return {"messages": [await model.ainvoke([SystemMessage("Be brief."), *state["messages"]])]}

        return chain(writer=awriter if is_async else writer)

    async def items(graph: Any) -> list[BaseMessage]:
        if is_async:
            return [message async for message, _ in graph.astream(QUESTION, stream_mode="messages")]
        return [message for message, _ in graph.stream(QUESTION, stream_mode="messages")]

    bare = await items(team())
    with observed(hooked := team(), intervention=REWRITE) as observer:
        got = await items(hooked)
    assert seen(got) == seen(bare)
    assert [one.content for one in got] == [*PIECES, ""]
    assert len({one.id for one in got}) == 1
    assert [content for _, _, content in told(observer)] == ["one two three"]


def test_a_stream_left_after_one_piece_is_abandoned_and_closed() -> None:
    model = scripted("one two three", kind=Counting)

    def first_only(stream: Any) -> list[BaseMessage]:
        first = next(stream)
        assert model.is_open, "the reply was fetched whole"  # type: ignore[attr-defined]
        stream.close()
        assert not model.is_open  # type: ignore[attr-defined]
        return [first]

    team = team_of(model, [], False, first_only)
    with observed(team, intervention=REWRITE) as observer:
        assert team.invoke(QUESTION)["messages"][-1].content == "one "
    (chat,) = [span for span in observer.spans if span.name.startswith("chat")]
    assert (chat.attributes or {})[semconv.ABANDONED] == "abandoned"
    assert "one " in str((chat.attributes or {})[semconv.OUTPUT_MESSAGES])
    assert chat.status.is_unset


async def test_an_asynchronous_stream_left_after_one_piece_is_abandoned_and_closed() -> None:
    model = scripted("one two three", kind=Counting)

    async def writer(state: MessagesState) -> dict[str, Any]:
        stream: Any = model.astream(state["messages"])
        first = await anext(stream)
        assert model.is_open, "the reply was fetched whole"  # type: ignore[attr-defined]
        await stream.aclose()
        for _ in range(5):  # LangChain leaves it to the event loop to close the model's own generator
            await asyncio.sleep(0)
        assert not model.is_open  # type: ignore[attr-defined]
        return {"messages": [AIMessage(first.content)]}

    team = chain(writer=writer)
    with observed(team, intervention=REWRITE) as observer:
        assert (await team.ainvoke(QUESTION))["messages"][-1].content == "one "
    (chat,) = [span for span in observer.spans if span.name.startswith("chat")]
    assert (chat.attributes or {})[semconv.ABANDONED] == "abandoned"
    assert chat.status.is_unset


async def test_a_cancelled_stream_is_cancelled_and_no_error() -> None:
    model = scripted("one two three", kind=Counting)
    begun = asyncio.Event()

    async def writer(state: MessagesState) -> dict[str, Any]:
        async for _ in model.astream(state["messages"]):
            begun.set()
            await asyncio.Event().wait()
        return {}

    team = chain(writer=writer)
    with observed(team, intervention=REWRITE) as observer:
        running = asyncio.create_task(team.ainvoke(QUESTION))
        await begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert observer.runs[0].ended
    assert [span.name for span in observer.spans if not span.status.is_unset] == []


class Supply(Intervention):
    """Answers in the model's place."""

    def __init__(self, reply: ChatReply) -> None:
        self.reply = reply

    def before_model(self, request: ModelRequest) -> ChatReply:
        return self.reply


@pytest.mark.parametrize("kind", [Scripted, Streaming])
@both_ways
async def test_a_supplied_reply_is_streamed_in_its_pieces(is_async: bool, kind: type[Scripted]) -> None:
    model = scripted("never", kind=kind)
    reply = ChatReply(content="".join(PIECES), chunks=tuple(PIECES))
    got, observer = await stream_of(model, is_async, Supply(reply))
    assert [one.content for one in got if one.content] == PIECES
    assert {type(one) for one in got} == {AIMessageChunk}
    assert model.shown == []
    assert [content for _, _, content in told(observer)] == ["one two three"]


@both_ways
async def test_a_supplied_call_whose_arguments_are_no_json_is_streamed_and_recorded(is_async: bool) -> None:
    call = RequestedTool(name="lookup", arguments="not json", id="c1")
    got, observer = await stream_of(scripted("x", kind=Streaming), is_async, Supply(ChatReply(tool_calls=[call])))
    (chunk,) = got
    assert isinstance(chunk, AIMessageChunk)
    assert [(one["name"], one["args"]) for one in chunk.invalid_tool_calls] == [("lookup", "not json")]
    assert "not json" in str([span.attributes for span in observer.spans if span.name.startswith("chat")])


class Strict(Intervention):
    """Only looks, and does not like what it sees."""

    changes_replies = False

    def after_model(self, request: ModelRequest, reply: ChatReply) -> None:
        raise TapeMismatchError(f"not on the tape: {reply.content}")


@both_ways
async def test_one_that_only_looks_may_stop_the_run_at_the_end_of_a_stream(is_async: bool) -> None:
    with pytest.raises(TapeMismatchError, match="not on the tape: one two three"):
        await stream_of(scripted("one two three", kind=Streaming), is_async, Strict())


class Provider(Streaming):
    """A client whose provider is told by ``streaming`` to stream, whatever LangChain has disabled."""

    streaming: bool = False

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        assert not self.streaming, "the provider streams where one whole reply is expected"
        return super()._generate(*args, **kwargs)


@both_ways
async def test_a_reply_that_may_be_changed_is_fetched_whole_from_a_client_told_to_stream(is_async: bool) -> None:
    model = scripted("one two three", kind=Provider)
    model = model.model_copy(update={"streaming": True})
    got, _ = await stream_of(model, is_async, ReplaceModelReply.prefix(0, "zero "))
    assert "".join(str(one.content) for one in got) == "zero one two three"
    assert {type(one) for one in got} == {AIMessageChunk}
