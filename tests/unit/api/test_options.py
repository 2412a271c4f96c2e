"""Options are checked where they are given."""

from __future__ import annotations

from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.errors import ConfigError
from tracer_hooks.repair import RetryPolicy


def solve(task: str) -> str:
    return task


async def acallback(run: Any) -> None:
    return None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retrys": 2}, "unknown option 'retrys', expected one of: attributor, capture, check, diagnose, expected, "
                        "feedback, intervention, "
                        "on_attempt, on_failure, on_finding, prompt_control, prompts, repair, retention, retries, "
                        "retry_streams, store, tools, tracer_provider"),
        ({"config": 1}, "unknown option 'config'"),
        ({"lessons": "learned"}, "unknown option 'lessons', expected one of: attributor, "),
        ({"retries": -1}, "retries is -1, expected a number, 0 or more, or a RetryPolicy"),
        ({"retries": True}, "retries is True"),
        ({"retries": 1.5}, "retries is 1.5"),
        ({"retries": None}, "retries is None"),
        ({"retry_streams": "yes"}, "retry_streams is 'yes', expected a bool"),
        ({"diagnose": "later"}, "diagnose is 'later', expected 'auto', 'inline', 'background', 'off' or a bool"),
        ({"diagnose": []}, "diagnose is \\[\\]"),
        ({"check": "42"}, "check is '42', expected a function"),
        ({"expected": 42}, "expected is 42, expected a text, a mapping"),
        ({"on_failure": 3}, "on_failure is 3"),
        ({"on_failure": acallback}, "on_failure is .*expected a plain function"),
        ({"attributor": "oracle"}, "unknown attributor 'oracle', expected one of 'auto'"),
        ({"attributor": 3}, "expected the name of an attributor"),
        ({"repair": "template"}, "repair is 'template', expected one of: 'auto', 'plain', 'from_scratch', "),
        ({"repair": []}, "repair is \\[\\], expected one strategy or more"),
        ({"repair": "guidance"}, "repair is 'guidance', expected WrittenGuidance"),
        ({"repair": RetryPolicy}, "repair is the class 'RetryPolicy', expected an object of it"),
        ({"repair": 3}, "repair is 3, expected a name, or a RepairStrategy"),
        ({"repair": ["plain", 3]}, "repair is 'plain', expected one of"),
        ({"feedback": "all"}, "feedback is 'all', expected 'masked', 'reason' or 'none'"),
        ({"tools": "never"}, "the tool rule 'never' is unknown, expected one of: 'live'"),
        ({"tools": {"book": 3}}, "the tool rule 3 is unknown"),
        ({"tools": 3}, "tools is 3, expected a word"),
        ({"on_attempt": 3}, "on_attempt is 3"),
        ({"on_attempt": acallback}, "on_attempt is .*expected a plain function"),
        ({"intervention": "x"}, "intervention is 'x', expected an Intervention"),
        ({"tracer_provider": "x"}, "tracer_provider is 'x', expected a TracerProvider"),
        ({"capture": "some"}, "capture= is 'some', expected 'off', 'redacted' or 'full'"),
        ({"capture": 3}, "capture= is 3"),
        ({"store": 3}, "store is 3, expected a path or 'off'"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_said_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tracer_hooks.hook(**options)
    with pytest.raises(ConfigError, match=message):
        tracer_hooks.hook(solve, **options)
    with pytest.raises(ConfigError, match=message):
        tracer_hooks.run(solve, "x", **options)


def test_an_environment_variable_that_cannot_be_used_is_said_when_hooking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_CAPTURE", "lots")
    with pytest.raises(ConfigError, match="TRACER_HOOKS_CAPTURE"):
        tracer_hooks.hook(solve)
