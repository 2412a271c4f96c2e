"""Settings from arguments and from the environment, by which alone the command line sets the judge up."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

import pytest

from tracer_hooks import _guard
from tracer_hooks.diagnosis.judge import JudgeAttributor, JudgeBudget, JudgeOptions, _attributor
from tracer_hooks.diagnosis.judge._calls import variable_of
from tracer_hooks.errors import ConfigError
from tracer_hooks.schema import to_json
from tracer_hooks.testing import ScriptedLLM, When

from ....e2e._command import Command, Done
from ._runs import shop_run, verdict

GUIDE = Path(__file__).resolve().parents[4] / "docs" / "guides" / "judge.md"


@pytest.fixture(autouse=True)
def no_settings_of_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("TRACER_HOOKS_JUDGE_")]:
        monkeypatch.delenv(name)


def set_all(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    for name, value in values.items():
        monkeypatch.setenv(f"TRACER_HOOKS_JUDGE_{name}", value)


def test_every_setting_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(
        monkeypatch, MODEL="m", BASE_URL="http://127.0.0.1:9/v1", EXTRA_BODY='{"a": 1}', PROTOCOL="shortlist",
        CONTEXT="9000", BUDGET="calls=7, tokens=none,seconds=8.5", TIMEOUT="9",
    )  # fmt: skip
    assert JudgeOptions.from_env() == JudgeOptions(
        model="m", base_url="http://127.0.0.1:9/v1", extra_body={"a": 1}, protocol="shortlist", context_tokens=9000,
        budget=JudgeBudget(calls=7, tokens=None, seconds=8.5), timeout_s=9,
    )  # fmt: skip


def test_a_limit_that_the_budget_does_not_name_keeps_its_default(monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(monkeypatch, BUDGET="tokens=1000")
    assert JudgeOptions.from_env().budget == JudgeBudget(tokens=1000)


def test_there_are_eight_variables_at_most() -> None:
    assert len(_attributor._READERS) + 1 <= 8  # and the key


def test_a_variable_that_is_not_read_is_said_once_with_what_to_use(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_guard, "_warned", set())
    set_all(monkeypatch, CALLS="7", MODLE="m")
    with caplog.at_level(logging.WARNING, logger="tracer_hooks"):
        assert JudgeOptions.from_env() == JudgeOptions()
        JudgeOptions.from_env()
    assert [record.getMessage().partition(" is not read")[0] for record in caplog.records] == [
        "TRACER_HOOKS_JUDGE_CALLS",
        "TRACER_HOOKS_JUDGE_MODLE",
    ]
    for said in ("API_KEY, BASE_URL, BUDGET, CONTEXT", "JudgeOptions", "TRACER_HOOKS_STORE=off"):
        assert said in caplog.text


def test_without_variables_the_defaults_hold() -> None:
    assert JudgeOptions.from_env() == JudgeOptions()


def test_an_argument_goes_before_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(monkeypatch, MODEL="m", CONTEXT="5000")
    assert JudgeOptions.from_env(context_tokens=6000) == JudgeOptions(model="m", context_tokens=6000)
    with pytest.raises(ConfigError, match="unknown option 'sede'"):
        JudgeOptions.from_env(sede=1)


def test_without_a_store_of_runs_no_replies_are_kept_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STORE", "off")
    assert JudgeOptions.from_env().cache_dir is None
    assert JudgeOptions.from_env(cache_dir=Path("replies")).cache_dir == Path("replies")
    monkeypatch.delenv("TRACER_HOOKS_STORE")
    assert JudgeOptions.from_env().cache_dir == Path(".tracer_hooks/judge")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("CONTEXT", "five", "a whole number"),
        ("BUDGET", "calls=many", "limits such as 'calls=50,"),
        ("BUDGET", "money=5", "limits such as 'calls=50,"),
        ("BUDGET", "7", "limits such as 'calls=50,"),
        ("BUDGET", "calls=0", "limits such as 'calls=50,"),
        ("TIMEOUT", "soon", "a number"),
        ("EXTRA_BODY", "[1]", "a JSON object"),
        ("EXTRA_BODY", "{", "a JSON object"),
    ],
)
def test_a_variable_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: str
) -> None:
    set_all(monkeypatch, **{name: value})
    with pytest.raises(ConfigError, match=re.escape(f"TRACER_HOOKS_JUDGE_{name} is {value!r}, expected {expected}")):
        JudgeOptions.from_env()


@pytest.mark.parametrize(
    ("name", "value"),
    [("protocol", "guess"), ("top_k", 0), ("context_tokens", 10), ("temperature", -1), ("timeout_s", float("nan"))],
)
def test_a_value_that_cannot_be_used_is_refused(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"{name}="):
        JudgeOptions(**{name: value})  # type: ignore[arg-type]


def test_a_reply_must_leave_room_for_the_prompt() -> None:
    with pytest.raises(ConfigError, match="half of context_tokens=2048"):
        JudgeOptions(context_tokens=2_048, reply_tokens=1_500)


def test_without_a_model_the_message_says_exactly_what_to_set() -> None:
    with pytest.raises(ConfigError) as raised:
        JudgeAttributor()
    for said in ("TRACER_HOOKS_JUDGE_MODEL", "TRACER_HOOKS_JUDGE_BASE_URL", "a directory with a transformers model"):
        assert said in str(raised.value)


def test_an_attributor_made_without_arguments_reads_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedLLM([verdict()]) as llm:
        set_all(monkeypatch, MODEL="m", BASE_URL=llm.base_url)
        monkeypatch.setenv("TRACER_HOOKS_STORE", "off")
        assert JudgeAttributor().attribute(shop_run()).attributor == "judge/2 all-at-once m"


def test_the_guide_names_the_variables_that_are_read() -> None:
    read = {variable_of(name) for name in _attributor._READERS} | {"TRACER_HOOKS_JUDGE_API_KEY"}
    assert set(re.findall(r"TRACER_HOOKS_JUDGE_[A-Z_]*[A-Z]", GUIDE.read_text(encoding="utf-8"))) == read


def diagnose(folder: Path, *paths: str, **environment: str) -> Done:
    return Command(folder)("diagnose", *paths, "--attributor", "judge", "--json", **environment)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.json").write_text(to_json(shop_run()), encoding="utf-8")
    (tmp_path / "bad.json").write_text(to_json(shop_run(task="An odd one.")), encoding="utf-8")
    return tmp_path


def test_a_reply_that_cannot_be_used_is_the_error_of_its_input_and_the_others_are_done(folder: Path) -> None:
    with ScriptedLLM(rules=[When(contains="An odd one").then("no idea")], default=verdict()) as llm:
        settings = {"TRACER_HOOKS_JUDGE_MODEL": "m", "TRACER_HOOKS_JUDGE_BASE_URL": llm.base_url}
        done = diagnose(folder, "good.json", "bad.json", **settings)
        calls = llm.calls
        again = diagnose(folder, "good.json", **settings)
        assert llm.calls == calls  # from the cache
    assert done.code == 1, done.err
    good, bad = done.json["results"]
    assert (good["agent"], good["step"], good["attributor"]) == ("Calculator", 3, "judge/2 all-at-once m")
    assert bad["error"].startswith("OutputParseError")
    assert again.code == 0
    assert again.json["results"][0]["step"] == 3


def test_without_settings_the_message_says_what_to_set(folder: Path) -> None:
    done = diagnose(folder, "good.json")
    assert done.code == 2
    assert "TRACER_HOOKS_JUDGE_MODEL" in done.err
