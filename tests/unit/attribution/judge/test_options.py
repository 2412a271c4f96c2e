"""Settings from arguments and from the environment."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tracer_hooks.attribution._judge import JudgeAttributor, JudgeBudget, JudgeOptions, _options
from tracer_hooks.errors import ConfigError
from tracer_hooks.testing import ScriptedLLM

from ._runs import shop_run, verdict

GUIDE = Path(__file__).resolve().parents[4] / "docs" / "guides" / "judge.md"


@pytest.fixture(autouse=True)
def no_settings_of_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in [name for name in os.environ if name.startswith("TRACER_HOOKS_JUDGE_")]:
        monkeypatch.delenv(name)


def set_all(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    for name, value in values.items():
        monkeypatch.setenv(f"TRACER_HOOKS_JUDGE_{name}", value)


def test_every_setting_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(
        monkeypatch, MODEL="m", BASE_URL="http://127.0.0.1:9/v1", API_KEY_ENV="K", EXTRA_BODY='{"a": 1}',
        PROTOCOL="ranked", PROPOSER="rules", TOP_K="4", ROTATIONS="3", LOGPROBS="0", CONTEXT="9000", REPLY="500",
        WINDOW="1000", OVERLAP="1", STEP_CHARS="999", TEMPERATURE="none", SEED="5", CALLS="7", TOKENS="none",
        SECONDS="8.5", TIMEOUT="9", ATTEMPTS="2", CONCURRENCY="6", CACHE="replies", LOG="calls.jsonl",
    )  # fmt: skip
    assert JudgeOptions.from_env() == JudgeOptions(
        model="m", base_url="http://127.0.0.1:9/v1", api_key_env="K", extra_body={"a": 1},
        protocol="ranked", proposer="rules", top_k=4, rotations=3, logprobs=False, context_tokens=9000,
        reply_tokens=500, window_tokens=1000, window_overlap=1, step_chars=999, temperature=None, seed=5,
        budget=JudgeBudget(calls=7, tokens=None, seconds=8.5), timeout_s=9, attempts=2, concurrency=6,
        cache_dir=Path("replies"), call_log=Path("calls.jsonl"),
    )  # fmt: skip


def test_without_variables_the_defaults_hold() -> None:
    assert JudgeOptions.from_env() == JudgeOptions()


def test_an_argument_goes_before_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(monkeypatch, MODEL="m", SEED="5")
    assert JudgeOptions.from_env(seed=1) == JudgeOptions(model="m", seed=1)
    with pytest.raises(ConfigError, match="unknown option 'sede'"):
        JudgeOptions.from_env(sede=1)


def test_replies_are_kept_unless_it_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert JudgeOptions.from_env().cache_dir == Path(".tracer_hooks/judge")
    set_all(monkeypatch, CACHE="off")
    assert JudgeOptions.from_env().cache_dir is None


def test_without_a_store_of_runs_no_replies_are_kept_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STORE", "off")
    assert JudgeOptions.from_env().cache_dir is None
    set_all(monkeypatch, CACHE="replies")
    assert JudgeOptions.from_env().cache_dir == Path("replies")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("SEED", "five", "a whole number"),
        ("CALLS", "many", "a whole number or 'none'"),
        ("SECONDS", "soon", "a number or 'none'"),
        ("TIMEOUT", "soon", "a number"),
        ("LOGPROBS", "maybe", "'0' or '1'"),
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
        set_all(monkeypatch, MODEL="m", BASE_URL=llm.base_url, CACHE="off")
        assert JudgeAttributor().attribute(shop_run()).attributor == "judge/2 all-at-once m"


def test_the_guide_and_the_module_name_the_same_variables() -> None:
    pattern = re.compile(r"TRACER_HOOKS_JUDGE_[A-Z_]*[A-Z]")
    read = {_options.variable_of(name) for name in _options._READERS} | {"TRACER_HOOKS_JUDGE_API_KEY"}
    assert set(pattern.findall(GUIDE.read_text(encoding="utf-8"))) == read
    assert set(pattern.findall(_options.__doc__ or "")) == read - {"TRACER_HOOKS_JUDGE_API_KEY"}


@pytest.mark.parametrize(
    ("proposer", "said"),
    [
        ("rules", "proposer='rules' .* scores no steps"),
        ("judge", "is the judge itself"),
        ("oracle", "unknown attributor"),
    ],
)
def test_a_proposer_that_cannot_propose_is_refused(proposer: str, said: str) -> None:
    options = JudgeOptions(model="m", base_url="http://127.0.0.1:9/v1", protocol="ranked", proposer=proposer)
    with pytest.raises(ConfigError, match=said):
        JudgeAttributor(options).attribute(shop_run())
