"""Wrapped entry points keep their nature, hand the call to the host, and let the host's own call through."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from tracer_hooks.config import CaptureConfig
from tracer_hooks.frameworks import EntryKind, PatchSet, TeamCall, wrap_entry
from tracer_hooks.telemetry import Emitter, RunStart, drive, drive_async, suppressed


class Team:
    """A team with the four kinds of entry points; ``run_twice`` calls another one, as frameworks do."""

    def run(self, task: str, *, loud: bool = False) -> str:
        return task.upper() if loud else task

    def run_twice(self, task: str) -> str:
        return self.run(task) + self.run(task)

    async def arun(self, task: str) -> str:
        return task

    def stream(self, task: str) -> Iterator[str]:
        yield from task

    async def astream(self, task: str) -> AsyncIterator[str]:
        for letter in task:
            yield letter


class Host:
    """Conducts every call in a run of its own, and notes it."""

    def __init__(self) -> None:
        self.calls: list[TeamCall] = []
        self._emitter = Emitter(capture=CaptureConfig())

    def _start(self, call: TeamCall) -> Any:
        self.calls.append(call)
        return self._emitter.start_run(RunStart(team="team", task=call.task), subject=call.team)

    def call(self, call: TeamCall) -> Any:
        run = self._start(call)
        with run.active():
            return call.on(call.team)

    async def acall(self, call: TeamCall) -> Any:
        run = self._start(call)
        with run.active():
            return await call.on(call.team)

    def stream(self, call: TeamCall) -> Iterator[Any]:
        run = self._start(call)
        with run.active():
            source = call.on(call.team)
        yield from drive(source, run)

    async def astream(self, call: TeamCall) -> AsyncIterator[Any]:
        run = self._start(call)
        with run.active():
            source = call.on(call.team)
        async for item in drive_async(source, run):
            yield item


KINDS = {
    "run": EntryKind.CALL,
    "run_twice": EntryKind.CALL,
    "arun": EntryKind.COROUTINE,
    "stream": EntryKind.GENERATOR,
    "astream": EntryKind.ASYNC_GENERATOR,
}


def task_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    return str(args[0] if args else kwargs["task"])


def hooked(team: Team, host: Host, task: Callable[..., str] = task_of) -> PatchSet:
    patches = PatchSet()
    for name, kind in KINDS.items():
        patches.patch(team, name, wrap_entry(team, name, kind, host, original=getattr(team, name), task_of=task))
    return patches


@pytest.fixture
def host() -> Host:
    return Host()


@pytest.fixture
def team(host: Host) -> Team:
    team = Team()
    hooked(team, host)
    return team


async def test_every_kind_gives_what_it_gave(team: Team, host: Host) -> None:
    assert team.run("task", loud=True) == "TASK"
    assert await team.arun("task") == "task"
    assert list(team.stream("task")) == list("task")
    assert [letter async for letter in team.astream("task")] == list("task")
    assert [(call.method, call.task) for call in host.calls] == [
        (name, "task") for name in ("run", "arun", "stream", "astream")
    ]
    assert host.calls[0].kwargs == {"loud": True}


def test_signature_and_nature_stay(team: Team) -> None:
    bare = Team()
    for name in KINDS:
        assert inspect.signature(getattr(team, name)) == inspect.signature(getattr(bare, name))
        assert getattr(team, name).__name__ == name
    assert inspect.iscoroutinefunction(team.arun)


def test_an_entry_point_that_calls_another_is_one_run(team: Team, host: Host) -> None:
    assert team.run_twice("ab") == "abab"
    assert [call.method for call in host.calls] == ["run_twice"]


def test_another_team_inside_gets_its_own_run(team: Team, host: Host) -> None:
    inner_host = Host()
    inner = Team()
    hooked(inner, inner_host)
    outer = Team()
    outer.run = lambda task: inner.run(task)  # type: ignore[assignment, method-assign, misc]
    hooked(outer, host)
    assert outer.run("task") == "task"
    assert (len(host.calls), len(inner_host.calls)) == (1, 1)


def test_a_wrong_argument_surfaces_as_without_us(team: Team) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'wrong'"):
        team.run("task", wrong=1)  # type: ignore[call-arg]


def test_suppressed_calls_pass_through(team: Team, host: Host) -> None:
    with suppressed():
        assert team.run("task") == "task"
    assert host.calls == []


def test_a_task_that_cannot_be_read_is_empty(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STRICT", "0")
    team = Team()
    hooked(team, host, task=lambda args, kwargs: kwargs["absent"])
    assert team.run("task") == "task"
    assert host.calls[0].task == ""


def test_a_call_can_be_made_on_another_team(host: Host, team: Team) -> None:
    team.run("task")
    assert host.calls[0].on(Team()) == "task"
