"""Intervening at the models and tools of a plain Python team."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.errors import ReplayError
from tracer_hooks.frameworks import (
    Intervention,
    ModelRequest,
    RecordReplies,
    ReplaceModelReply,
    ReplaceToolReply,
    ToolReply,
    ToolRequest,
)
from tracer_hooks.telemetry import ChatReply, text_message

MESSAGES = [{"role": "system", "content": "Be right."}, {"role": "user", "content": "What?"}]


def run(function: Callable[[], Any], intervention: Intervention | None) -> tracer_hooks.TeamRun:
    @tracer_hooks.agent(name="solo")
    def solo(task: str) -> Any:
        return function()

    return tracer_hooks.run(lambda task: solo(task), "x", intervention=intervention)


def native(function: Callable[[], Any], intervention: Intervention | None) -> Any:
    got = run(function, intervention)
    if got.error is not None:
        raise got.error
    return got.native


@tracer_hooks.tool
def double(number: Any, label: Any = "n") -> str:
    return f"{label}={number * 2}"


@tracer_hooks.tool
def broken(number: int) -> str:
    raise ValueError("out of stock")


@tracer_hooks.model(name="m")
def ask(messages: Any) -> str:
    return f"heard {messages[0]['content']}"


class On(Intervention):
    """Answers as the functions that it is given say."""

    def __init__(self, **methods: Callable[..., Any]) -> None:
        for name, method in methods.items():
            setattr(self, name, method)


# --- tools -----------------------------------------------------------------------------------------------------------
def test_replies_are_recorded_failed_ones_too() -> None:
    record = RecordReplies()

    def work() -> str:
        ask(MESSAGES)
        with pytest.raises(ValueError, match="out of stock"):
            broken(1)
        return double(2)

    assert native(work, record) == "n=4"
    assert [(request.name, reply) for request, reply in record.tools] == [
        ("broken", ToolReply(content="out of stock", is_error=True)),
        ("double", ToolReply(content="n=4")),
    ]
    assert [(request.agent, request.model, reply.content) for request, reply in record.models] == [
        ("solo", "m", "heard Be right.")
    ]


def test_a_failing_tool_can_be_mended_and_a_working_one_made_to_fail() -> None:
    assert (
        native(lambda: broken(1), ReplaceToolReply(lambda r: True, lambda r: ToolReply(content="mended"))) == "mended"
    )
    fail = ReplaceToolReply(lambda r: True, lambda r: ToolReply(content="timed out", is_error=True))
    got = run(lambda: double(1), fail)
    assert isinstance(got.error, RuntimeError)
    assert got.trajectory.steps[0].tool_calls[0].error == "timed out"


def test_changed_arguments_leave_the_others_the_objects_they_are() -> None:
    label = object()
    seen: list[Any] = []

    @tracer_hooks.tool
    def look(number: int, label: Any) -> str:
        seen.append((number, label))
        return "ok"

    def more(request: ToolRequest) -> ToolRequest:
        return replace(request, arguments={**request.arguments, "number": 9})

    got = run(lambda: look(1, label=label), On(before_tool=more))
    assert seen == [(9, label)]
    assert got.trajectory.steps[0].tool_calls[0].arguments["number"] == 9  # type: ignore[call-overload]


# --- models ----------------------------------------------------------------------------------------------------------
def test_message_objects_stay_objects() -> None:
    message = types.SimpleNamespace(content="What?")

    @tracer_hooks.model
    def listen(messages: Any) -> str:
        return f"heard {messages[0].content}"

    def louder(request: ModelRequest) -> ModelRequest:
        return replace(request, messages=(text_message("user", "WHAT?"),))

    assert native(lambda: listen([message]), On(before_model=louder)) == "heard WHAT?"
    assert message.content == "What?"


@pytest.mark.parametrize(
    ("real", "changed"),
    [
        ("old", "new"),
        ({"content": "old", "usage": {}}, {"content": "new", "usage": {}, "role": "assistant", "tool_calls": []}),
        ({"text": "old", "id": 7}, {"text": "new", "id": 7}),
        (ChatReply(content="old"), ChatReply(content="new")),
    ],
)
def test_a_changed_reply_has_the_shape_of_the_real_one(real: Any, changed: Any) -> None:
    @tracer_hooks.model
    def give(prompt: str) -> Any:
        return real

    assert native(lambda: give("x"), ReplaceModelReply.at_step(0, "new")) == changed


def test_a_client_s_objects_are_read() -> None:
    class Completion:
        def model_dump(self) -> dict[str, Any]:
            call = {"id": "c1", "function": {"name": "look", "arguments": '{"at": "x"}'}}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
            usage = {"prompt_tokens": 3, "completion_tokens": 2}
            return {"model": "m-1", "choices": [{"message": message}], "usage": usage}

    @tracer_hooks.model
    def give(prompt: str) -> Completion:
        return Completion()

    step = run(lambda: str(give("x")), None).trajectory.steps[0]
    assert [(call.name, call.arguments, call.call_id) for call in step.tool_calls] == [("look", {"at": "x"}, "c1")]
    assert (step.content, step.model) == ("", "m-1")
    assert step.usage is not None
    assert (step.usage.input_tokens, step.usage.output_tokens) == (3, 2)


class Part:
    """An object of a client."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self) -> dict[str, Any]:
        return self.fields


def test_a_client_s_objects_in_a_mapping_are_read() -> None:
    call = Part(id="c1", function={"name": "look", "arguments": '{"at": "x"}'})
    usage = Part(input_tokens=3, output_tokens="unknown")

    @tracer_hooks.model
    def give(prompt: str) -> dict[str, Any]:
        return {"content": None, "tool_calls": [call, "no call"], "usage": usage}

    step = run(lambda: str(give("x")), None).trajectory.steps[0]
    assert [(call.name, call.arguments, call.call_id) for call in step.tool_calls] == [("look", {"at": "x"}, "c1")]
    assert step.usage is not None
    assert (step.usage.input_tokens, step.usage.output_tokens) == (3, 0)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"messages": [{"content": [{"type": "text", "text": "One."}, {"type": "image"}, "Two."]}]}, "One.\nTwo."),
        ({"messages": [{"content": [types.SimpleNamespace(type="text", text="One.")]}]}, "One."),
        ({"messages": [{"content": [{"type": "text", "text": {"value": "One."}}]}]}, ""),
    ],
)
def test_the_answer_of_messages_with_blocks_is_their_text(answer: Any, text: str) -> None:
    assert tracer_hooks.run(lambda task: answer, "x").trajectory.final_output == text


async def test_a_coroutine_that_a_plain_function_hands_on_fails_as_without_us() -> None:
    async def broken_later(prompt: Any) -> str:
        raise ConnectionError("refused")

    amodel = tracer_hooks.model(lambda prompt: broken_later(prompt))

    @tracer_hooks.hook
    async def bare(task: str) -> str:
        return await amodel("x")

    with pytest.raises(ConnectionError, match="refused"):
        await bare("x")
    failed = tracer_hooks.last_run(bare)
    assert failed is not None
    assert [step.error for step in failed.trajectory.steps] == ["refused"]


async def test_a_failing_coroutine_can_be_mended() -> None:
    @tracer_hooks.tool
    async def broken_later(number: int) -> str:
        raise ValueError("out of stock")

    @tracer_hooks.hook(intervention=ReplaceToolReply(lambda r: True, lambda r: ToolReply(content="mended")))
    async def shop(task: str) -> str:
        return await broken_later(1)

    assert await shop("x") == "mended"


async def test_coroutines_are_intervened_at_alike() -> None:
    @tracer_hooks.tool
    async def atool(number: int) -> str:
        return "live"

    async def apart(messages: Any) -> str:
        return "live"

    amodel = tracer_hooks.model(lambda messages: apart(messages))
    change = ReplaceToolReply(lambda r: True, lambda r: ToolReply(content="tool"))
    model = ReplaceModelReply(lambda r: True, lambda r: replace(r, content="model"))

    @tracer_hooks.hook(intervention=change)
    async def tools(task: str) -> str:
        return await atool(1)

    @tracer_hooks.hook(intervention=model)
    async def models(task: str) -> str:
        return await amodel(MESSAGES)

    assert (await tools("x"), await models("x")) == ("tool", "model")


# --- what goes wrong -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["before_model", "after_model", "before_tool", "after_tool"])
def test_a_bug_in_an_intervention_changes_nothing_and_costs_one_line(
    method: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("TRACER_HOOKS_STRICT")

    def bug(*about: Any) -> Any:
        raise KeyError("bug")

    assert native(lambda: ask(MESSAGES) + double(1), On(**{method: bug})) == "heard Be right.n=2"
    assert len(caplog.messages) == 1
    assert method in caplog.messages[0]


@pytest.mark.parametrize("method", ["before_model", "after_model", "before_tool", "after_tool"])
def test_a_replay_error_stops_the_run(method: str) -> None:
    def off_the_tape(*about: Any) -> Any:
        raise ReplayError("off the tape")

    with pytest.raises(ReplayError, match="off the tape"):
        native(lambda: ask(MESSAGES) + double(1), On(**{method: off_the_tape}))


def test_messages_cannot_be_added() -> None:
    add = On(before_model=lambda request: replace(request, messages=(*request.messages, text_message("user", "more"))))
    with pytest.raises(ReplayError, match="number of messages"):
        native(lambda: ask(MESSAGES), add)


def test_a_tool_without_parameters_and_a_model_without_a_prompt() -> None:
    @tracer_hooks.tool
    def now() -> str:
        return "noon"

    @tracer_hooks.model
    def muse() -> str:
        return "hm"

    assert native(lambda: now() + muse(), RecordReplies()) == "noonhm"
