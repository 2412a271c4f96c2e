"""Tapes as data: digests, JSON, recorded failures."""

from __future__ import annotations

import pytest

from tracer_hooks.errors import RecordedFailureError
from tracer_hooks.replay import Tape, TapedModelCall, TapedToolCall, TapedToolRequest, model_digest, tool_digest
from tracer_hooks.schema import Usage
from tracer_hooks.telemetry import RequestedTool, ToolInvocation, class_name, text_message

SHOWN = [text_message("system", "Be right."), text_message("user", "What?")]


def taped(**fields: object) -> TapedModelCall:
    return TapedModelCall.model_validate({"agent": "solo", "step": 0, "digest": "d", **fields})


def taped_tool(**fields: object) -> TapedToolCall:
    return TapedToolCall.model_validate({"agent": "solo", "name": "look", "step": 0, "digest": "d", **fields})


def test_a_digest_says_who_asks_and_what_is_shown() -> None:
    def dated(day: str, rest: str = "Be right.") -> str:
        return model_digest("solo", [text_message("system", f"{rest}\n\nCurrent Date: {day}"), SHOWN[1]])

    assert model_digest("solo", SHOWN) == model_digest("solo", [dict(message) for message in SHOWN])
    assert len({model_digest("solo", SHOWN), model_digest("other", SHOWN), model_digest("solo", SHOWN[:1])}) == 3
    # Fixed, so that a tape from another process, or another day, still fits.
    assert model_digest("solo", SHOWN) == "ceff4c5838fc5f119c42049fcfe32b80"
    assert dated("2026-01-01") == dated("2026-01-02") != dated("2026-01-01", "Be quick.")
    assert tool_digest("look", '{"at": 1, "in": "x"}') == tool_digest("look", {"in": "x", "at": 1})
    others = [("look", "at 1"), ("look", "at 2"), ("look", {"at": 1}), ("write", {"at": 1})]
    assert len({tool_digest(name, arguments) for name, arguments in others}) == 4


def test_a_tape_survives_json() -> None:
    call = taped(
        messages=(0, 1),
        content="Hm, 42",
        chunks=("Hm,", " 42"),
        tool_calls=(TapedToolRequest(name="look", arguments={"at": 1}, id="c1"),),
        usage=Usage(input_tokens=3, output_tokens=2),
        finish_reason="tool_calls",
    )
    tape = Tape(run_id="r", messages=tuple(SHOWN), model_calls=(call,), tool_calls=(taped_tool(value={"a": [1]}),))
    read = Tape.model_validate_json(tape.model_dump_json())
    assert read == tape
    assert read.messages_of(read.model_calls[0]) == SHOWN
    reply = read.model_calls[0].reply()
    assert (reply.content, reply.chunks, reply.usage) == (
        "Hm, 42",
        ("Hm,", " 42"),
        Usage(input_tokens=3, output_tokens=2),
    )
    assert list(reply.tool_calls) == [RequestedTool(name="look", arguments={"at": 1}, id="c1")]


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        ("ValueError: out of stock", ValueError, "out of stock"),
        ("KeyError: 'x'", KeyError, "'x'"),
        ("TimeoutError: ", TimeoutError, ""),
        ("openai.BadRequestError: Error code: 400", RecordedFailureError, "Error code: 400"),
        ("UnicodeDecodeError: bad byte", RecordedFailureError, "bad byte"),
        ("StopIteration: done", RecordedFailureError, "done"),
        ("dict: no error at all", RecordedFailureError, "no error at all"),
    ],
)
def test_a_recorded_failure_is_one_of_python_s_own_where_it_can_be(error: str, kind: type, text: str) -> None:
    for call in (taped(error=error), taped_tool(error=error)):
        with pytest.raises(RecordedFailureError) as caught:
            call.reply()
        assert isinstance(caught.value, kind)
        assert not isinstance(caught.value, StopIteration)
        assert (class_name(type(caught.value)), str(caught.value)) == (error.partition(":")[0], text)
        assert repr(caught.value) == f"{type(caught.value).__name__}({text!r})"


def test_a_tool_s_none_is_not_its_empty_text_and_the_calls_of_a_step_are_its_attempts() -> None:
    assert taped_tool(content="").reply().value is None
    assert taped_tool(content="", is_none=True).reply().value is ToolInvocation.NONE
    calls = (taped(error="E: no"), taped(content="yes"), taped(step=1))
    assert Tape(run_id="r", model_calls=calls).at_step(0) == calls[:2]
