"""What of a run's content is on the spans that leave the process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan

import tracer_hooks
from tracer_hooks.config import CaptureConfig, ContentCapture

from ._spans import Recording

KEY = "sk-abcdefghijklmnopqrstuvwx1234567890"


@tracer_hooks.agent(instructions="The house rules.")
def solo(task: str) -> str:
    if "fail" in task:
        raise ValueError(f"cannot use {KEY}")
    return f"The answer, with {KEY}"


def exported(task: str, **options: Any) -> str:
    seen = Recording()
    tracer_hooks.run(lambda task: solo(task), task, tracer_provider=seen.provider, **options)
    return "\n".join(text for span in seen.ended for text in _texts(span))


def _texts(span: ReadableSpan) -> Iterator[str]:
    yield json.dumps(dict(span.attributes or {}), ensure_ascii=False)
    yield span.status.description or ""
    for event in span.events:
        yield json.dumps(dict(event.attributes or {}), ensure_ascii=False)


def test_off_exports_no_content_not_even_by_a_check_s_reason() -> None:
    text = exported("my question", expected="my secret reference")
    for content in ("my question", "The answer", "house rules", "secret reference", KEY):
        assert content not in text
    assert "check: not passed" in text


def test_off_exports_the_class_of_an_exception_and_says_what_it_keeps_back() -> None:
    text = exported("fail")
    assert "ValueError" in text
    assert "cannot use" not in text
    assert '"tracer_hooks.withheld": ["exception.message", "exception.stacktrace"]' in text


def test_a_secret_in_a_name_is_blanked_unless_content_is_full() -> None:
    @tracer_hooks.agent(name=f"agent {KEY}")
    def named(task: str) -> str:
        return "done"

    seen = {mode: Recording() for mode in ("off", "redacted", "full")}
    for mode, recording in seen.items():
        tracer_hooks.run(lambda task: named(task), "ask", tracer_provider=recording.provider, capture=mode)
    shown = {mode: " ".join(span.name for span in one.ended) for mode, one in seen.items()}
    assert KEY in shown["full"]
    assert KEY not in shown["off"] + shown["redacted"]


@pytest.mark.parametrize("mode", ["redacted", "full"])
@pytest.mark.parametrize("task", ["ask", "fail"])
def test_secrets_are_exported_with_full_content_alone(task: str, mode: str) -> None:
    text = exported(task, capture=mode, expected="nothing")
    assert (KEY in text) is (mode == "full")
    assert ("The answer, with" if task == "ask" else "cannot use") in text
    assert "The house rules." in text


def test_the_environment_and_a_whole_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_CAPTURE", "full")
    assert "The answer" in exported("ask")
    assert "The answer" not in exported("ask", capture="off")
    assert "The answer" not in exported("ask", capture=CaptureConfig(export=ContentCapture.OFF))
