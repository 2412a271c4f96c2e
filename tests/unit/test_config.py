"""An argument wins over a variable, which wins over the default."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tracer_hooks.config import (
    DEFAULT_EXIT_SECONDS,
    DEFAULT_STORE,
    CaptureConfig,
    ContentCapture,
    HookConfig,
    Retention,
    exit_seconds,
    store_place,
)
from tracer_hooks.errors import ConfigError
from tracer_hooks.store import PromptStore, RunStore


@pytest.mark.parametrize("is_set", [False, True], ids=["unset", "empty"])
def test_defaults(is_set: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CAPTURE", "RECORD", "MAX_BYTES", "OPENINFERENCE", "SUPPRESS", "STORE") if is_set else ():
        monkeypatch.setenv(f"TRACER_HOOKS_{name}", "")
    config = HookConfig.from_env()
    assert config == HookConfig()
    assert (config.capture.export, config.capture.record) == (ContentCapture.OFF, ContentCapture.FULL)
    assert config.store == DEFAULT_STORE


def test_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"CAPTURE": "Redacted", "RECORD": "off", "MAX_BYTES": "256", "OPENINFERENCE": "1", "SUPPRESS": "true"}
    for name, value in {**said, "STORE": "elsewhere.sqlite"}.items():
        monkeypatch.setenv(f"TRACER_HOOKS_{name}", value)
    capture = CaptureConfig(
        export=ContentCapture.REDACTED,
        record=ContentCapture.OFF,
        max_attribute_bytes=256,
        openinference=True,
        suppress_others=True,
    )
    assert HookConfig.from_env() == HookConfig(capture=capture, store=Path("elsewhere.sqlite"))


def test_arguments_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_CAPTURE", "redacted")
    monkeypatch.setenv("TRACER_HOOKS_STORE", "elsewhere.sqlite")
    config = HookConfig.from_env(capture="full", store="mine.sqlite")
    assert (config.capture.export, config.store) == (ContentCapture.FULL, Path("mine.sqlite"))
    mine = CaptureConfig(max_attribute_bytes=999)
    assert HookConfig.from_env(capture=mine).capture is mine


@pytest.mark.parametrize("value", ["off", "OFF"])
def test_a_store_can_be_switched_off(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STORE", value)
    assert (store_place(), store_place(value), store_place("mine.sqlite")) == (None, None, Path("mine.sqlite"))


@pytest.mark.parametrize(
    ("named", "path"),
    [
        ("sqlite:///runs.sqlite", "runs.sqlite"),
        ("sqlite:////tmp/runs.sqlite", "/tmp/runs.sqlite"),
        ("C:\\runs\\x.sqlite", "C:\\runs\\x.sqlite"),
        ("C:/runs/x.sqlite", "C:/runs/x.sqlite"),
        ("a:b.sqlite", "a:b.sqlite"),
    ],
)
def test_a_store_is_a_path_or_a_url_of_sqlite(named: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STORE", named)
    assert store_place() == store_place(named) == Path(path)
    assert RunStore(named).path == RunStore().path == Path(path).absolute()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+asyncpg://u:pw@h/db",
        "mysql://u:pw@h/db",
        "foo://pw",
        "redis://:pw@h",
        "sqlite+pysqlite:///pw",
        "sqlite://",
        "sqlite:///:memory:",
    ],
)
def test_another_url_is_refused_by_its_scheme_and_shows_no_password(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRACER_HOOKS_STORE", url)
    refused: list[Callable[[], object]] = [RunStore, HookConfig.from_env, lambda: PromptStore(url)]
    refused.append(lambda: store_place(Path(url) if "pw" in url else url))
    for use in refused:
        with pytest.raises(ConfigError, match=f"URL of {url.partition(':')[0]!r}".replace("+", r"\+")) as caught:
            use()
        assert "pw" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


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
        ("TRACER_HOOKS_OPENINFERENCE", "perhaps", "'0' or '1'"),
        ("TRACER_HOOKS_RETRIES", "-1", "0 or more"),
        ("TRACER_HOOKS_RETRIES", "none", "whole number of retries"),
        ("TRACER_HOOKS_SUPPRESS", "2", "'0' or '1'"),
        *(("TRACER_HOOKS_EXIT_SECONDS", wrong, "seconds from 0") for wrong in ("soon", "-1", "nan", "1e9")),
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


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("30d", Retention(older_than=timedelta(days=30))),
        (" 12h ", Retention(older_than=timedelta(hours=12))),
        ("1000 runs", Retention(keep=1000)),
        ("1 run", Retention(keep=1)),
    ],
)
def test_how_long_runs_are_kept(text: str, kept: Retention) -> None:
    assert Retention.parse(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "0 runs",
        "runs",
        "-5 runs",
        "1.5 runs",
        "9999999999999 runs",
        "30",
        "d",
        "-1d",
        "1.5d",
        "soon",
        "0d",
        "0 w",
        "000s",
    ],
)
def test_what_says_neither_a_time_nor_a_number_of_runs(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keeps_nothing = text in ("0d", "0 w", "000s")
    said = r"no run at all.*TRACER_HOOKS_STORE=off" if keeps_nothing else r"'1000 runs'"
    with pytest.raises(ConfigError, match=rf"(?s)retention.*{said}"):
        Retention.parse(text)
    monkeypatch.setenv("TRACER_HOOKS_RETENTION", text)
    with pytest.raises(ConfigError, match=rf"(?s)TRACER_HOOKS_RETENTION.*{said}"):
        HookConfig.from_env()
    with pytest.raises(ConfigError, match="'1000 runs'"):
        Retention.parse("")


def test_an_end_that_is_waited_for_as_long_as_by_default_where_the_variable_is_spoilt_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRACER_HOOKS_EXIT_SECONDS", "1.5")
    assert exit_seconds() == 1.5
    monkeypatch.setenv("TRACER_HOOKS_EXIT_SECONDS", "soon")
    assert exit_seconds() == DEFAULT_EXIT_SECONDS
