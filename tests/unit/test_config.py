"""An argument wins over a variable, which wins over the default."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracer_hooks.config import DEFAULT_STORE, CaptureConfig, ContentCapture, HookConfig, store_path
from tracer_hooks.errors import ConfigError


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    config = HookConfig.from_env()
    assert config == HookConfig()
    assert (config.capture.export, config.capture.record) == (ContentCapture.OFF, ContentCapture.FULL)
    assert config.store == DEFAULT_STORE


def test_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "CAPTURE": "Redacted",
        "RECORD": "off",
        "MAX_BYTES": "256",
        "OPENINFERENCE": "1",
        "SUPPRESS": "true",
        "STORE": "elsewhere.sqlite",
    }.items():
        monkeypatch.setenv(f"TRACER_HOOKS_{name}", value)
    assert HookConfig.from_env() == HookConfig(
        capture=CaptureConfig(
            export=ContentCapture.REDACTED,
            record=ContentCapture.OFF,
            max_attribute_bytes=256,
            openinference=True,
            suppress_others=True,
        ),
        store=Path("elsewhere.sqlite"),
    )


def test_arguments_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_CAPTURE", "redacted")
    monkeypatch.setenv("TRACER_HOOKS_STORE", "elsewhere.sqlite")
    config = HookConfig.from_env(capture="full", store="mine.sqlite")
    assert (config.capture.export, config.store) == (ContentCapture.FULL, Path("mine.sqlite"))
    mine = CaptureConfig(max_attribute_bytes=999)
    assert HookConfig.from_env(capture=mine).capture is mine


@pytest.mark.parametrize("value", ["off", "OFF"])
def test_a_store_can_be_switched_off(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert store_path(value) is None
    monkeypatch.setenv("TRACER_HOOKS_STORE", value)
    assert store_path() is None
    assert store_path("mine.sqlite") == Path("mine.sqlite")


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CAPTURE", "RECORD", "MAX_BYTES", "OPENINFERENCE", "SUPPRESS", "STORE"):
        monkeypatch.setenv(f"TRACER_HOOKS_{name}", "")
    assert HookConfig.from_env() == HookConfig()


@pytest.mark.parametrize(
    ("value", "capture"),
    [("SPAN_ONLY", "full"), ("span_and_event", "full"), ("true", "full"), ("EVENT_ONLY", "off"), ("false", "off")],
)
def test_the_genai_variable_turns_capture_on(value: str, capture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", value)
    assert CaptureConfig.from_env().export == capture
    monkeypatch.setenv("TRACER_HOOKS_CAPTURE", "redacted")
    assert CaptureConfig.from_env().export == "redacted"


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("TRACER_HOOKS_CAPTURE", "some", "'off', 'redacted' or 'full'"),
        ("TRACER_HOOKS_RECORD", "all", "'off', 'redacted' or 'full'"),
        ("TRACER_HOOKS_MAX_BYTES", "255", "256 or more"),
        ("TRACER_HOOKS_MAX_BYTES", "-1", "256 or more"),
        ("TRACER_HOOKS_MAX_BYTES", "1e6", "256 or more"),
        ("TRACER_HOOKS_OPENINFERENCE", "yes", "'0' or '1'"),
        ("TRACER_HOOKS_SUPPRESS", "2", "'0' or '1'"),
    ],
)
def test_what_cannot_be_used_is_named(
    variable: str, value: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError, match=expected) as caught:
        HookConfig.from_env()
    assert variable in str(caught.value)
    assert repr(value) in str(caught.value)
