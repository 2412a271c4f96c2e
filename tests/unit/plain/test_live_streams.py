"""Streams of a plain Python team whose request alone is changed: items come as the function yields them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import tracer_hooks
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
from tracer_hooks.frameworks.plain import PlainTeam
from tracer_hooks.telemetry import ChatReply
from tracer_hooks.testing import RecordingHost, observed

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What?"}]
REWRITE = RewriteInstructions({"solo": "Be long."})


class Model:
    """Streams three words, and knows how far it came."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.at = 0
        self.is_open = False

    @tracer_hooks.model(name="m")
    def stream(self, messages: Any) -> Iterator[str]:
        self.shown.append(messages[0]["content"])
        self.is_open = True
        try:
            for self.at, word in enumerate(("one ", "two ", "three"), start=1):
                yield word
        finally:
            self.is_open = False

    @tracer_hooks.model(name="m")
    async def astream(self, messages: Any) -> AsyncIterator[str]:
        self.shown.append(messages[0]["content"])
        self.is_open = True
        try:
            for self.at, word in enumerate(("one ", "two ", "three"), start=1):
                await asyncio.sleep(0)
                yield word
        finally:
            self.is_open = False


def run(intervention: Intervention | None, listen: Callable[[], Any]) -> RecordingHost:
    @tracer_hooks.agent(name="solo")
    def solo(task: str) -> Any:
        return listen()

    team = PlainTeam(lambda task: solo(task), "team")
    with observed(team, intervention=intervention) as observer:
        team.run("x")
    return observer


def listener(model: Model, is_async: bool, got: list[tuple[str, int]]) -> Callable[[], str]:
    """Keeps every item, and how far the model was when it came."""

    async def alisten() -> str:
        async for item in model.astream(MESSAGES):
            got.append((item, model.at))
        return "done"

    def listen() -> str:
        got.extend((item, model.at) for item in model.stream(MESSAGES))
        return "done"

    return (lambda: asyncio.run(alisten())) if is_async else listen


both_ways = pytest.mark.parametrize("is_async", [False, True])


@both_ways
def test_items_come_as_they_are_yielded_twice_in_a_row(is_async: bool) -> None:
    model, record = Model(), RecordReplies()
    for _ in range(2):
        got: list[tuple[str, int]] = []
        observer = run(Interventions([REWRITE, record]), listener(model, is_async, got))
        assert got == [("one ", 1), ("two ", 2), ("three", 3)]
        (chat,) = [span.attributes or {} for span in observer.spans if span.name.startswith("chat")]
        assert "Be long." in str(chat[semconv.INPUT_MESSAGES])
        assert semconv.RESPONSE_TIME_TO_FIRST_CHUNK in chat
        assert observer.trajectory.steps[0].content == "one two three"
    assert model.shown == ["Be long."] * 2
    assert [reply.content for _, reply in record.models] == ["one two three"] * 2


@both_ways
def test_items_are_held_back_where_the_reply_may_be_changed(is_async: bool) -> None:
    got: list[tuple[str, int]] = []
    observer = run(ReplaceModelReply.at_step(0, "four"), listener(Model(), is_async, got))
    assert got == [("four", 3)]
    assert observer.trajectory.steps[0].content == "four"


@both_ways
def test_a_stream_left_after_one_item_is_abandoned_and_closed(is_async: bool) -> None:
    model = Model()

    async def aleave() -> str:
        stream: Any = model.astream(MESSAGES)
        first = await anext(stream)
        assert (model.is_open, model.at) == (True, 1)
        await stream.aclose()
        for _ in range(5):
            await asyncio.sleep(0)
        assert not model.is_open
        return str(first)

    def leave() -> str:
        stream: Any = model.stream(MESSAGES)
        first = next(stream)
        assert (model.is_open, model.at) == (True, 1)
        stream.close()
        assert not model.is_open
        return str(first)

    observer = run(REWRITE, (lambda: asyncio.run(aleave())) if is_async else leave)
    (chat,) = [span.attributes or {} for span in observer.spans if span.name.startswith("chat")]
    assert chat[semconv.ABANDONED] == "abandoned"


class Strict(Intervention):
    """Only looks, and does not like what it sees."""

    changes_replies = False

    def after_model(self, request: ModelRequest, reply: ChatReply) -> None:
        raise TapeMismatchError(f"not on the tape: {reply.content}")


@both_ways
def test_one_that_only_looks_may_stop_the_run_at_the_end_of_a_stream(is_async: bool) -> None:
    got: list[tuple[str, int]] = []
    with pytest.raises(TapeMismatchError, match="not on the tape: one two three"):
        run(Strict(), listener(Model(), is_async, got))
    assert len(got) == 3
