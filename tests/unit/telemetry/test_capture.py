"""Exported attributes: by capture mode, within the size limit, always valid JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracer_hooks import semconv
from tracer_hooks._guard import logger
from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.telemetry import Content, hold_logs, text_message
from tracer_hooks.telemetry._capture import Capture, ContentPolicy, cut_json, cut_text, dump_json
from tracer_hooks.telemetry._redact import Redactor

SECRET = "sk-abcdefghijklmnopqrstuvwx"
MESSAGES = [text_message("system", "be good"), text_message("user", f"my key is {SECRET}")]


def exported(attributes: dict[str, Any], **config: Any) -> dict[str, Any]:
    return dict(Capture(CaptureConfig(**config)).exported(attributes))


def test_content_is_off_by_default() -> None:
    attributes = {key: "text" for key in semconv.CONTENT_KEYS}
    assert exported({**attributes, semconv.AGENT_NAME: "a"}) == {semconv.AGENT_NAME: "a"}


def test_redacted_content_holds_no_secret_and_full_content_is_json() -> None:
    redacted = exported({semconv.INPUT_MESSAGES: MESSAGES}, export=ContentCapture.REDACTED)[semconv.INPUT_MESSAGES]
    assert SECRET not in redacted
    assert json.loads(redacted)[0] == MESSAGES[0]
    full = exported({semconv.INPUT_MESSAGES: MESSAGES}, export=ContentCapture.FULL)[semconv.INPUT_MESSAGES]
    assert json.loads(full) == MESSAGES


def test_redacted_content_opens_objects_before_it_looks() -> None:
    @dataclass
    class Login:
        note: str

    value = {"login": Login(SECRET)}
    text = exported({semconv.TOOL_CALL_ARGUMENTS: value}, export=ContentCapture.REDACTED)[semconv.TOOL_CALL_ARGUMENTS]
    assert json.loads(text) == {"login": {"note": "[redacted]"}}


@pytest.mark.parametrize(
    "value", ["\ud800 half", {"q": "\ud800"}, {"\udfff": 1}, [float("nan"), {1, 2}, object()], b"\xff"]
)
def test_odd_content_can_be_exported(value: object) -> None:
    result = exported({semconv.TOOL_CALL_ARGUMENTS: value}, export=ContentCapture.FULL)
    result[semconv.TOOL_CALL_ARGUMENTS].encode("utf-8")


def test_long_content_is_cut_and_says_so() -> None:
    messages = [text_message("user", "x" * 5_000) for _ in range(20)]
    result = exported({semconv.INPUT_MESSAGES: messages}, export=ContentCapture.FULL, max_attribute_bytes=2_048)
    text = result[semconv.INPUT_MESSAGES]
    assert len(text.encode()) <= 2_048
    assert json.loads(text)[0]["role"] == "user"
    assert result[semconv.INPUT_MESSAGES + semconv.TRUNCATED_SUFFIX] is True
    assert result[semconv.INPUT_MESSAGES + semconv.ORIGINAL_SIZE_SUFFIX] == len(dump_json(messages))


def test_a_cut_conversation_keeps_its_system_message_and_its_end() -> None:
    messages = [text_message("system", "be good"), *(text_message("user", f"message {i}") for i in range(500))]
    kept = json.loads(cut_json(messages, 2_048))
    assert kept[0] == messages[0]
    assert kept[-1] == messages[-1]


def test_the_record_keeps_what_the_export_leaves_out() -> None:
    capture = Capture(CaptureConfig())
    attributes = {semconv.INPUT_MESSAGES: MESSAGES, semconv.AGENT_NAME: None}
    assert capture.recorded(attributes) == {semconv.INPUT_MESSAGES: MESSAGES}
    redacted = Capture(CaptureConfig(record=ContentCapture.REDACTED)).recorded(attributes)
    assert SECRET not in repr(redacted)
    assert Capture(CaptureConfig(record=ContentCapture.OFF)).recorded(attributes) == {}


@pytest.mark.parametrize("mode", [ContentCapture.OFF, ContentCapture.REDACTED])
def test_messages_of_exceptions_hold_no_secret(mode: ContentCapture) -> None:
    capture = Capture(CaptureConfig(export=mode, record=mode))
    assert SECRET not in capture.export_policy.text(f"cannot use {SECRET}")
    assert SECRET not in capture.record_policy.text(f"cannot use {SECRET}")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(), inner, max_size=10),
    max_leaves=60,
)


@given(value=json_values, limit=st.integers(256, 1_024))
def test_cut_json_is_valid_and_within_the_limit(value: Any, limit: int) -> None:
    text = cut_json(value, limit)
    json.loads(text)
    assert len(text.encode()) <= limit


@pytest.mark.parametrize("text", ['"' * 5_000, "\\" * 5_000, "\x00" * 5_000, "é" * 5_000])
def test_cut_json_allows_for_escapes(text: str) -> None:
    for value in ({text: text}, [{text: 1}] * 50, {f"{text}{i}": i for i in range(20)}):
        result = cut_json(value, 256)
        json.loads(result)
        assert len(result.encode()) <= 256


@given(text=st.text(max_size=400), limit=st.integers(64, 300))
def test_cut_text_is_within_the_limit(text: str, limit: int) -> None:
    cut = cut_text(text, limit)
    assert len(cut.encode("utf-8", "replace")) <= limit
    assert cut == text or "left out" in cut


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        (ContentCapture.FULL, "a check said password=hunter2hunter of KeyError: 'password=hunter2hunter'"),
        (ContentCapture.REDACTED, "a check said password=[redacted] of KeyError: 'password=[redacted]'"),
        (ContentCapture.OFF, "a check said [withheld] of KeyError: KeyError"),
    ],
)
def test_a_line_of_the_log_is_looked_at_while_it_has_its_arguments(
    mode: ContentCapture, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    gate = ContentPolicy(mode, Redactor())
    hold_logs(gate)
    secret = "password=hunter2hunter"
    logger.warning("a check said %s of %s: %s", Content(secret), "KeyError", KeyError(secret))
    assert caplog.messages == [said]
    assert gate is not None, "it holds for as long as it is in use"
