"""Options are checked where they are given."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest

import tracer_hooks
from tracer_hooks.errors import ConfigError
from tracer_hooks.repair import RetryPolicy
from tracer_hooks.schema import RunOutcome
from tracer_hooks.store import RunStore

from ._framework import BenchAdapter, BenchTeam, run_of
from ._spans import Recording, attributes


def solve(task: str) -> str:
    return task


async def acallback(run: Any) -> None:
    return None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retrys": 2}, "unknown option 'retrys', expected one of: attributor, capture, check, diagnose, expected, "
                        "feedback, intervention, name, "
                        "on_attempt, on_failure, on_finding, prompt_control, prompts, publish, repair, retention, "
                        "retries, retry_streams, store, tags, tools, tracer_provider"),
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
        ({"repair": ["plain", 3]}, "repair is 3, expected a name"),
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
        ({"store": 3}, "store is 3, expected a path, a URL or 'off'"),
        ({"store": "mysql://u:p@h/db"}, "the store is a URL of 'mysql', expected the path"),
        ({"name": ""}, "name is '', expected a text of 1 to 200 characters"),
        ({"name": " "}, "name is ' '"),
        ({"name": 3}, "name is 3"),
        ({"name": "n" * 201}, "expected a text of 1 to 200"),
        ({"tags": ["release"]}, "tags is \\['release'\\], expected a mapping"),
        ({"tags": {"a b": 1}}, "the tag 'a b' cannot be used: a key has 1 to 64 letters"),
        ({"tags": {"k" * 65: 1}}, "a key has 1 to 64"),
        ({"tags": {3: 1}}, "the tag 3 cannot be used"),
        ({"tags": {"release": None}}, "its value is a NoneType, expected a text, a number or a bool"),
        ({"tags": {"release": "x" * 201}}, "longer than 200 characters"),
        ({"tags": {f"k{n}": n for n in range(33)}}, "there are 33 tags, expected at most 32"),
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


# --- a name, switches, tags ------------------------------------------------------------------------------------------
def test_a_name_stands_wherever_the_teams_own_would(bench: BenchAdapter, tmp_path: Path) -> None:
    seen = Recording()
    team = BenchTeam(lambda told, task: "x")
    for target in (team, solve, lambda prompts=None: BenchTeam(team.say)):
        hooked = tracer_hooks.hook(
            target, name="Desk", check=lambda result: False, tracer_provider=seen.provider, retries=1,
            store=tmp_path / "runs.sqlite",
        )  # fmt: skip
        run = tracer_hooks.run(hooked, "x")
        assert (run.team, {each.trajectory.team for each in run.attempts}) == ("Desk", {"Desk"})
        assert run.again is not None
        assert run.again().run().trajectory.team == "Desk"
        assert tracer_hooks.rerunner(hooked, "y").run().trajectory.team == "Desk"
    assert {span.name for span in seen.named("invoke_workflow")} == {"invoke_workflow Desk"}
    assert tracer_hooks.flush()
    assert [each.team for each in RunStore(tmp_path).list(team="Desk")] == ["Desk"] * 6


@pytest.mark.parametrize("said", ["1", "TRUE", "yes", "on"])
async def test_disabled_gives_back_what_was_given(
    said: str, monkeypatch: pytest.MonkeyPatch, bench: BenchAdapter, tmp_path: Path
) -> None:
    monkeypatch.setenv("TRACER_HOOKS_DISABLED", said)
    team = BenchTeam(lambda told, task: "It is 42.")
    before, hook = dict(vars(team)), cast(Any, tracer_hooks.hook)
    for target in (solve, team):
        assert hook(target, check=bool, retries=2, nosuch=1) is target
        assert hook(retries=2)(target) is target
        assert tracer_hooks.last_run(target) is None
    assert vars(team) == before
    seen = Recording()
    options: dict[str, Any] = {"expected": "43", "retries": 3, "store": str(tmp_path / "runs.sqlite")}
    runs = [tracer_hooks.run(team, "x", tracer_provider=seen.provider, on_finding=print, **options)]
    runs.append(await tracer_hooks.arun(lambda prompts=None: BenchTeam(team.say), "x", prompts="accepted", **options))
    for run in runs:
        assert (run.outcome, len(run.attempts), run.attribution) == (RunOutcome.FAILED, 1, None)
        assert run.native == {"answer": "It is 42."}
    assert (seen.started, list(tmp_path.iterdir())) == ([], [])


def test_the_environment_bounds_the_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    def attempts(retries: int | RetryPolicy) -> int:
        return len(tracer_hooks.run(solve, "x", check=lambda result: False, repair="plain", retries=retries).attempts)

    for said, most in (("0", 1), ("2", 3), ("9", 4)):
        monkeypatch.setenv("TRACER_HOOKS_RETRIES", said)
        assert [attempts(3), attempts(RetryPolicy(max_retries=3)), attempts(0)] == [most, most, 1]


def test_tags_add_up_and_stand_on_the_run_the_span_and_in_the_store(tmp_path: Path) -> None:
    seen = Recording()
    team = tracer_hooks.hook(
        lambda task: "42", tags={"release": 1.4, "beta": True, "who": "hook"}, tracer_provider=seen.provider,
        store=tmp_path / "runs.sqlite", check=lambda result: False, retries=1,
    )  # fmt: skip
    with tracer_hooks.tags(request=7, who="outer"), tracer_hooks.tags(who="inner"):
        team("x")
    tags = {"request": "7", "who": "inner", "release": "1.4", "beta": "true"}
    assert run_of(team).tags == tags
    for span in seen.named("invoke_workflow"):
        assert {f"tracer_hooks.tag.{key}": value for key, value in tags.items()}.items() <= attributes(span).items()
    team("y")
    assert run_of(team).tags == {"release": "1.4", "beta": "true", "who": "hook"}
    assert tracer_hooks.flush()
    store = RunStore(tmp_path)
    assert [each.tags for each in store.list(tags={"request": "7"})] == [tags, tags]
    assert len(store.list(tags={"release": "1.4"})) == 4


async def test_tags_go_with_tasks_and_with_threads_that_get_the_context() -> None:
    async def ask(task: str) -> str:
        await asyncio.sleep(0)
        return task

    team = tracer_hooks.hook(ask)

    async def tagged(number: int) -> Mapping[str, str]:
        with tracer_hooks.tags(request=number):
            await team("x")
            with suppress(TimeoutError):
                async with asyncio.timeout(0):
                    await team("cancelled")
            assert run_of(team).tags == {"request": str(number)}
            await asyncio.to_thread(tracer_hooks.run, solve, "x")
            return (await asyncio.to_thread(tracer_hooks.run, solve, "x")).tags

    assert await asyncio.gather(*map(tagged, range(5))) == [{"request": str(number)} for number in range(5)]
    with tracer_hooks.tags(request=1), ThreadPoolExecutor(1) as pool:
        assert pool.submit(tracer_hooks.run, solve, "x").result().tags == {}
    await team("x")
    assert run_of(team).tags == {}


def test_what_cannot_be_a_tag_is_left_out_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        with tracer_hooks.tags(**{"a b": 1}, request=cast(Any, UUID(int=7)), text="x" * 201, ok=1):
            assert tracer_hooks.run(solve, "x").tags == {"ok": "1"}
        with tracer_hooks.tags(**{f"k{n}": n for n in range(30)}), tracer_hooks.tags(**{f"n{n}": n for n in range(9)}):
            tags = tracer_hooks.run(solve, "x", tags={"own": 1}).tags
        assert (len(tags), "n8" in tags, "own" in tags) == (32, True, False)
    assert len(caplog.messages) == 4
    assert "leaves out the tag 'request': its value is a UUID" in caplog.text
    entered = copy_context()
    block = tracer_hooks.tags(request=1)
    entered.run(block.__enter__)
    block.__exit__(None, None, None)  # a generator may be closed in another context
