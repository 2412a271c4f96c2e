"""Nothing of ours reaches the user's run: bugs, stores that cannot be written, providers that are broken."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks import _guard
from tracer_hooks.repair import RepairLog
from tracer_hooks.schema import Attribution, RunOutcome
from tracer_hooks.store import RunStore

from ._framework import BenchAdapter, BenchTeam, Blame, run_of


@pytest.fixture(autouse=True)
def not_strict(no_store: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACER_HOOKS_STRICT")
    monkeypatch.setattr(_guard, "_warned", set())


@tracer_hooks.agent(instructions="Be right.")
def solo(task: str) -> str:
    return "It is 41."


def solve(task: str) -> str:
    return solo(task)


class Broken(Blame):
    def attribute(self, trajectory: Any, *, reference: str | None = None) -> Attribution:
        raise RuntimeError("no weights")


class BrokenStrategy:
    name = "broken"

    def propose(self, failure: Any, step: Any) -> Any:
        raise RuntimeError("no words")


class BrokenProvider:
    def get_tracer(self, *about: Any, **more: Any) -> Any:
        raise RuntimeError("no tracer")


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ({"attributor": Broken()}, ["could not diagnose the run"]),
        (
            {"attributor": Blame(("solo",)), "repair": BrokenStrategy(), "retries": 1},
            ["repair strategy 'broken' raised RuntimeError: no words"],
        ),
    ],
)
def test_what_is_broken_costs_one_line(
    options: dict[str, Any], lines: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    hooked = tracer_hooks.hook(solve, check=lambda result: False, **{"attributor": Blame(("solo",)), **options})
    assert hooked("x") == "It is 41."
    assert run_of(hooked).outcome is RunOutcome.FAILED
    assert [message for message in caplog.messages if lines[0] in message] == caplog.messages[:1]
    assert len(caplog.messages) == len(lines)
    run_of(hooked).wait(timeout=5)


class Answers:
    """An attributor and a strategy that answer with whatever they are given."""

    name = "odd"

    def __init__(self, answer: Any) -> None:
        self.attribute = self.propose = lambda *about, **more: answer


def of_nobody(**changes: Any) -> Attribution:
    given: dict[str, Any] = {"agent": "solo", "step": 0, "confidence": 0.9, "attributor": "odd/1", **changes}
    return Attribution(run_id="", **given)


@pytest.mark.parametrize(
    "answer",
    ["x", {}, 5, object(), None, of_nobody(step=99), of_nobody(agent="nobody", step=None)],
    ids=["text", "mapping", "number", "object", "none", "unknown step", "unknown agent"],
)
@pytest.mark.parametrize("strict", ["", "1"])
def test_an_odd_answer_of_an_attributor_is_no_diagnosis_and_one_warning(
    answer: Any, strict: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STRICT", strict)
    hooked = tracer_hooks.hook(solve, expected="42", attributor=Answers(answer), retries=1)
    assert [hooked("x"), hooked("x")] == ["It is 41.", "It is 41."]
    run = run_of(hooked).wait(timeout=5)
    assert [(attempt.outcome, attempt.attribution) for attempt in run.attempts] == [(RunOutcome.FAILED, None)] * 2
    assert [attempt.repair is None or attempt.repair.is_plain for attempt in run.attempts] == [True, True]
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("tracer-hooks leaves out a diagnosis: the attributor 'odd' ")


@pytest.mark.parametrize("answer", ["text", 5, object()], ids=["text", "number", "object"])
@pytest.mark.parametrize("is_alone", [True, False])
def test_an_odd_answer_of_a_strategy_makes_the_retry_a_plain_one(
    answer: Any, is_alone: bool, caplog: pytest.LogCaptureFixture
) -> None:
    odd = Answers(answer)
    repair = odd if is_alone else [odd]
    hooked = tracer_hooks.hook(solve, expected="42", attributor=Blame(("solo",)), repair=repair, retries=1)
    assert hooked("x") == "It is 41."
    tried = run_of(hooked).attempts[1].repair
    assert tried is not None
    assert tried.is_plain
    said = len([line for line in caplog.messages if "expected a Repair" in line])
    assert said == 1 if is_alone else said <= 1, "a search may not come to it"


def test_strict_raises_our_bugs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STRICT", "1")
    hooked = tracer_hooks.hook(solve, expected="42", attributor=Broken())
    with pytest.raises(RuntimeError, match="no weights"):
        hooked("x")
    run_of(hooked).wait(timeout=5)


# --- a run that cannot be opened is made without us -------------------------------------------------------------------
async def test_a_broken_tracer_provider(caplog: pytest.LogCaptureFixture) -> None:
    async def asolve(task: str) -> str:
        return "a"

    def stream(task: str) -> Iterator[str]:
        yield "a"
        return "b"  # type: ignore[return-value]

    async def astream(task: str) -> AsyncIterator[str]:
        yield "a"

    def raises(task: str) -> str:
        raise KeyError("the user's")

    def hook(target: Any) -> Any:
        return tracer_hooks.hook(target, tracer_provider=BrokenProvider())  # type: ignore[call-overload]

    assert hook(solve)("x") == "It is 41."
    assert await hook(asolve)("x") == "a"
    assert list(hook(stream)("x")) == ["a"]
    assert [item async for item in hook(astream)("x")] == ["a"]
    with pytest.raises(KeyError, match="the user's"):
        hook(raises)("x")
    assert len(caplog.messages) == 5
    assert all("open the run" in message for message in caplog.messages)


@pytest.mark.parametrize("broken", ["describe", "framework_version"])
async def test_an_adapter_that_cannot_describe_its_team(
    bench: BenchAdapter, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    team = tracer_hooks.hook(BenchTeam(lambda told, task: "It is 42."), expected="42")
    bench.breaks = {broken}
    assert team.run("x") == {"answer": "It is 42."}
    assert await team.arun("x") == {"answer": "It is 42."}
    assert list(team.stream("x")) == ["It", "is", "42."]
    assert [word async for word in team.astream("x")] == ["It", "is", "42."]
    assert len(caplog.messages) == 4


@pytest.mark.parametrize("broken", ["result", "collector"])
async def test_an_adapter_that_cannot_read_results(bench: BenchAdapter, broken: str) -> None:
    bench.breaks = {broken}
    team = tracer_hooks.hook(BenchTeam(lambda told, task: "It is 42."), check=lambda result: True)
    assert team.run("x") == {"answer": "It is 42."}
    assert await team.arun("x") == {"answer": "It is 42."}
    assert list(team.stream("x")) == ["It", "is", "42."]
    assert [word async for word in team.astream("x")] == ["It", "is", "42."]
    assert run_of(team).outcome is RunOutcome.SUCCEEDED


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("broken", ["reset", "write_instructions"])
async def test_an_adapter_that_cannot_prepare_a_retry(bench: BenchAdapter, broken: str, is_async: bool) -> None:
    bench.breaks = {broken}
    team = tracer_hooks.hook(BenchTeam(lambda told, task: "It is 41."), expected="42", retries=1)
    assert (await team.arun("x") if is_async else team.run("x")) == {"answer": "It is 41."}
    assert run_of(team).outcome is RunOutcome.FAILED
    assert team.told == "Be right."


# --- a store ---------------------------------------------------------------------------------------------------------
def test_runs_are_stored_with_their_attempts(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "runs.sqlite"
    hooked = tracer_hooks.hook(solve, expected="42", retries=1, attributor=Blame(("solo",)), store=path)
    hooked("x")
    with RunStore(path, read_only=True) as store:
        newest = store.list()
        stored = store.attempts(run_of(hooked).session_id)
    assert len(newest) == 2
    assert [one.attempt for one in stored] == [1, 2]
    assert stored[0].trajectory == run_of(hooked).attempts[0].trajectory
    assert stored[0].attribution is not None
    assert stored[0].repair is None
    assert stored[1].repair is not None
    assert RepairLog.model_validate(stored[1].repair) == run_of(hooked).repair


@pytest.mark.parametrize("where", ["below a file", "not a database"])
def test_a_store_that_cannot_be_written_costs_one_warning(
    where: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "file"
    file.write_text("not a database, but long enough to be looked at as one" * 100)
    path = file / "runs.sqlite" if where == "below a file" else file
    hooked = tracer_hooks.hook(solve, store=path)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert hooked("x") == "It is 41."
    assert len(caplog.messages) == 1
    assert "does not use the run store" in caplog.messages[0]
    assert run_of(hooked).outcome is RunOutcome.SUCCEEDED


def test_a_store_that_is_off_makes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tracer_hooks.hook(solve, store="off")("x")
    tracer_hooks.hook(solve)("x")  # off by the environment
    assert list(tmp_path.iterdir()) == []
    monkeypatch.delenv("TRACER_HOOKS_STORE")
    tracer_hooks.hook(solve)("x")
    assert (tmp_path / ".tracer_hooks" / "runs.sqlite").exists()
