"""Streams of a client whose request alone is changed: pieces come as the client gives them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from autogen_agentchat.messages import ModelClientStreamingChunkEvent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.models import CreateResult, SystemMessage
from autogen_ext.models.replay import ReplayChatCompletionClient

from tracer_hooks import semconv
from tracer_hooks.errors import TapeMismatchError
from tracer_hooks.frameworks import (
    Intervention,
    Interventions,
    RecordReplies,
    RewriteInstructions,
)
from tracer_hooks.testing import observed

from ._teams import INFO, assistant, texts

REWRITE = RewriteInstructions({"solo": "Be long."})
PIECES = ["one ", "two ", "three"]


class Patient(ReplayChatCompletionClient):
    """Goes on after its first piece only when somebody has got that."""

    def __init__(self, *replies: str | CreateResult) -> None:
        super().__init__(list(replies), model_info=INFO)
        self.go_on = asyncio.Event()
        self.is_open = False

    async def create_stream(self, *args: Any, **kwargs: Any):
        self.is_open = True
        self.shown = args[0] if args else kwargs["messages"]
        try:
            async for item in super().create_stream(*args, **kwargs):
                yield item
                if isinstance(item, str):
                    await asyncio.wait_for(self.go_on.wait(), 5)
        finally:
            self.is_open = False


def agent_of(client: Patient, **options: Any):
    return assistant("solo", client, model_client_stream=True, **options)


async def items_of(team, client: Patient) -> list:
    items = []
    async for item in team.run_stream(task="Go"):
        items.append(item)
        if isinstance(item, ModelClientStreamingChunkEvent):
            client.go_on.set()
    return items


def chunks(items) -> list[str]:
    return [item.content for item in items if isinstance(item, ModelClientStreamingChunkEvent)]


@pytest.mark.parametrize("looks", [False, True])
async def test_pieces_are_handed_on_as_they_come(looks: bool) -> None:
    client = Patient("one two three")
    team = RoundRobinGroupChat([agent_of(client)], max_turns=1)
    record = RecordReplies()
    with observed(team, intervention=Interventions([REWRITE, record]) if looks else REWRITE) as seen:
        items = await items_of(team, client)
    assert chunks(items) == PIECES
    assert items[-2].content == "one two three"
    assert client.shown[0] == SystemMessage(content="Be long.")
    assert [reply.content for _, reply in record.models] == ["one two three"] * looks
    assert texts(seen.trajectory) == ["one two three"]


async def test_a_stream_left_after_one_piece_is_abandoned_and_closed() -> None:
    client = Patient("one two three")
    agent = agent_of(client)
    with observed(agent, intervention=REWRITE) as seen:
        stream = agent.run_stream(task="Go")
        async for item in stream:
            if isinstance(item, ModelClientStreamingChunkEvent):
                break
        assert client.is_open, "the pieces were held back"
        await stream.aclose()
        for _ in range(30):  # AutoGen leaves it to the event loop to close its inner generators, one after the other
            await asyncio.sleep(0)
    assert not client.is_open
    (chat,) = [span for span in seen.spans if span.name.startswith("chat")]
    assert chat.attributes[semconv.ABANDONED] == "abandoned"
    assert chat.status.is_unset
    assert "one " in chat.attributes[semconv.OUTPUT_MESSAGES]


async def test_a_cancelled_stream_is_cancelled_and_no_error() -> None:
    client = Patient("one two three")
    agent = agent_of(client)
    got = asyncio.Event()

    async def listen() -> None:
        async for item in agent.run_stream(task="Go"):
            if isinstance(item, ModelClientStreamingChunkEvent):
                got.set()

    with observed(agent, intervention=REWRITE) as seen:
        running = asyncio.create_task(listen())
        await asyncio.wait_for(got.wait(), 3)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    assert not client.is_open
    (chat,) = [span for span in seen.spans if span.name.startswith("chat")]
    assert chat.attributes[semconv.ABANDONED] == "cancelled"
    assert chat.status.is_unset


class Strict(Intervention):
    """Only looks, and does not like what it sees."""

    changes_replies = False

    def after_model(self, request, reply) -> None:
        raise TapeMismatchError(f"not on the tape: {reply.content}")


async def test_one_that_only_looks_may_stop_the_run_at_the_end_of_a_stream() -> None:
    client = Patient("one two three")
    agent = agent_of(client)
    with (
        observed(agent, intervention=Strict()) as seen,
        pytest.raises(TapeMismatchError, match="not on the tape: one two three"),
    ):
        await items_of(agent, client)
    assert seen.trajectory.steps[0].error == "not on the tape: one two three"
