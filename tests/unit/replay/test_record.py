"""Tapes of plain Python runs, and what the teams give when they are made again from them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.errors import ReplayError
from tracer_hooks.frameworks.plain import PlainAdapter, PlainTeam
from tracer_hooks.replay import Tape, TapePlayer, tape_of
from tracer_hooks.testing import RecordingHost, observed

Work = Callable[[str], Any]


def conduct(work: Work, tape: Tape | None = None, capture: CaptureConfig | None = None) -> tuple[Any, RecordingHost]:
    """Run ``work`` as the turn of one agent; gives what came of it, an error included."""
    turn = tracer_hooks.agent(name="solo")(work)
    team = PlainTeam(turn, "team")
    player = TapePlayer(tape) if tape is not None else None
    with observed(team, adapter=PlainAdapter(), capture=capture, intervention=player) as observer:
        try:
            value = team.run("What?")
            value = asyncio.run(value) if asyncio.iscoroutine(value) else value
        except Exception as error:
            value = (type(error).__name__, str(error))
    if player is not None:
        player.finish()
    return value, observer


def again(build: Callable[[list[Any]], Work]) -> tuple[Any, Any, Tape]:
    """What a run gave, what its replay gives, and the tape; nothing may be called in the replay."""
    first, observer = conduct(build([]))
    tape = Tape.model_validate_json(tape_of(observer.runs[0]).model_dump_json())
    called: list[Any] = []
    second, _ = conduct(build(called), tape)
    assert called == []
    return first, second, tape


# --- what is on the tape --------------------------------------------------------------------------------------------
def test_each_message_is_kept_once() -> None:
    def build(called: list[Any]) -> Work:
        @tracer_hooks.model
        def ask(messages: list[dict[str, str]]) -> str:
            called.append(messages)
            return f"reply {len(messages)}"

        def work(task: str) -> str:
            messages = [{"role": "system", "content": "Be right."}, {"role": "user", "content": task}]
            messages.append({"role": "user", "content": ask(messages)})
            return ask(messages)

        return work

    first, second, tape = again(build)
    assert (first, second) == ("reply 3", "reply 3")
    assert [call.messages for call in tape.model_calls] == [(0, 1), (0, 1, 2)]
    assert len(tape.messages) == 3


@pytest.mark.parametrize("record", [ContentCapture.OFF, ContentCapture.REDACTED])
def test_a_run_without_content_has_no_tape(record: ContentCapture) -> None:
    _, observer = conduct(lambda task: "done", capture=CaptureConfig(record=record))
    with pytest.raises(ReplayError, match=f"recorded with content '{record.value}', expected 'full'"):
        tape_of(observer.runs[0])


# --- models ---------------------------------------------------------------------------------------------------------


def test_what_a_live_stream_gives_is_untouched_by_a_recording_intervention() -> None:
    @tracer_hooks.model
    def ask(prompt: str) -> Any:
        yield "a"
        yield "b"
        return "returned"

    def work(task: str) -> list[str]:
        stream, items = ask(task), []
        while True:
            try:
                items.append(next(stream))
            except StopIteration as stop:
                return [*items, stop.value]

    first, observer = conduct(work)
    assert first == ["a", "b", "returned"]
    unserved = tape_of(observer.runs[0]).model_copy(update={"model_calls": (), "tool_calls": ()})
    team = PlainTeam(tracer_hooks.agent(name="solo")(work), "team")
    with observed(team, adapter=PlainAdapter(), intervention=TapePlayer(unserved, mode="lenient")):
        assert team.run("What?") == first


LOOKS = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
SAID = {
    "role": "assistant",
    "content": "42",
    "tool_calls": [],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    "finish_reason": "stop",
    "model": "m-1",
}


def completion() -> Any:
    chat = pytest.importorskip("openai.types.chat")
    message = {"role": "assistant", "content": None, "tool_calls": [LOOKS]}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    data = {"id": "x", "object": "chat.completion", "created": 1, "model": "m-1", "choices": [choice]}
    return chat.ChatCompletion.model_validate(data)


@pytest.mark.parametrize(
    ("reply", "annotated", "read"),
    [
        (lambda: SAID, Mapping[str, Any], dict),
        (
            lambda: {"content": "", "tool_calls": [LOOKS]},
            None,
            lambda given: given["tool_calls"][0]["function"]["name"],
        ),
        (completion, type, lambda given: given.choices[0].message.tool_calls[0].function.name),
    ],
    ids=["a mapping", "one with tools, without an annotation", "a client's class"],
)
def test_a_reply_is_made_again_as_what_it_was(reply: Callable[[], Any], annotated: Any, read: Work) -> None:
    real = reply()

    def build(called: list[Any]) -> Work:
        def ask(prompt):
            called.append(prompt)
            return real

        if annotated is not None:
            ask.__annotations__["return"] = type(real) if annotated is type else annotated
        asked: Callable[[str], Any] = tracer_hooks.model(ask)
        return lambda task: read(asked(task))

    first, second, _ = again(build)
    assert first == second == read(real)


# --- tools ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("value", [None, "", "text", 7, 0, False, [1, "x"], {"a": None}], ids=repr)
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_tool_gives_what_it_gave(value: Any, asynchronous: bool) -> None:
    def build(called: list[Any]) -> Work:
        @tracer_hooks.tool
        def look(at: int) -> Any:
            called.append(at)
            return value

        @tracer_hooks.tool
        async def alook(at: int) -> Any:
            called.append(at)
            return value

        async def awork(task: str) -> Any:
            return [await alook(1)]

        return awork if asynchronous else lambda task: [look(1)]

    first, second, _ = again(build)
    assert first == second == [value]
    assert type(second[0]) is type(value)
