"""Marked functions of every nature behave as they did, and what they do is recorded."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import tracer_hooks
from tracer_hooks.schema import StepKind


def steps(function: Any) -> list[tuple[str, str, str]]:
    trajectory = tracer_hooks.run(function, "x").trajectory
    return [(step.agent, step.kind.value, step.error or step.content) for step in trajectory.steps]


def test_generators_keep_what_they_are_sent_and_thrown_and_return() -> None:
    @tracer_hooks.agent
    def talk(task: str) -> Iterator[str]:
        heard = yield "a"
        try:
            yield f"b{heard}"
        except KeyError as error:
            yield f"caught {error}"
        return "the answer"  # type: ignore[return-value]

    def team(task: str) -> str:
        turn: Any = talk(task)
        assert inspect.isgenerator(turn)
        assert next(turn) == "a"
        assert turn.send("!") == "b!"  # type: ignore[arg-type]
        assert turn.throw(KeyError("k")) == "caught 'k'"
        with pytest.raises(StopIteration) as stop:
            next(turn)
        return str(stop.value.value)

    assert steps(team) == [("talk", "message", "ab!caught 'k'")]
    assert inspect.isgeneratorfunction(talk)


def test_a_generator_broken_off_is_closed_and_its_turn_ended() -> None:
    closed: list[str] = []

    @tracer_hooks.agent
    def talk(task: str) -> Iterator[str]:
        try:
            yield "a"
            yield "b"
        finally:
            closed.append("closed")

    def team(task: str) -> str:
        for item in talk(task):
            return item
        return ""

    assert tracer_hooks.run(team, "x").native == "a"
    assert closed == ["closed"]


async def test_async_generators_and_coroutines() -> None:
    @tracer_hooks.agent
    async def stream(task: str) -> AsyncIterator[str]:
        yield "a"
        yield "b"

    @tracer_hooks.agent
    async def say(task: str) -> str:
        return "c"

    @tracer_hooks.agent(name="later")
    def hand_on(task: str) -> Any:
        return say(task)

    @tracer_hooks.hook
    async def team(task: str) -> str:
        return "".join([item async for item in stream(task)]) + await say(task) + await hand_on(task)

    assert await team("x") == "abcc"
    run = tracer_hooks.last_run(team)
    assert run is not None
    assert [(step.agent, step.content) for step in run.trajectory.steps] == [
        ("stream", "ab"),
        ("say", "c"),
        ("say", "c"),
    ]


def test_methods_names_instructions_and_tools() -> None:
    class Worker:
        def __init__(self, name: str) -> None:
            self.name = name

        @tracer_hooks.agent(
            name=lambda self, *_: self.name, instructions=lambda self, *_: f"You are {self.name}.", tools=["look"]
        )
        def act(self, task: str) -> str:
            return f"{self.name}: {task}"

    trajectory = tracer_hooks.run(lambda task: Worker("ann").act(task) + Worker("bob").act(task), "x").trajectory
    assert [(spec.name, spec.instructions, spec.tools) for spec in trajectory.agents] == [
        ("ann", "You are ann.", ("look",)),
        ("bob", "You are bob.", ("look",)),
    ]
    assert [one.text for one in trajectory.steps[0].inputs] == ["x"]


def test_instructions_keep_the_tools_that_were_declared() -> None:
    @tracer_hooks.agent(tools=["look"])
    def solo(task: str) -> str:
        return tracer_hooks.instructions("solo", "Be right.")

    (spec,) = tracer_hooks.run(solo, "x").trajectory.agents
    assert (spec.instructions, spec.tools) == ("Be right.", ("look",))


def test_outside_a_run_nothing_happens() -> None:
    @tracer_hooks.agent
    def solo(task: str) -> str:
        tracer_hooks.hand_off("other")
        return tracer_hooks.instructions("solo", "Be right.")

    assert solo("x") == "Be right."


def test_a_hand_off_and_a_tool_in_a_turn() -> None:
    @tracer_hooks.tool
    def look(at: str) -> str:
        return f"{at} is 17"

    @tracer_hooks.agent
    def first(task: str) -> str:
        look("Emma")
        tracer_hooks.hand_off("second")
        return "17"

    @tracer_hooks.agent
    def second(task: str) -> str:
        return "done"

    trajectory = tracer_hooks.run(lambda task: second(first(task)), "x").trajectory
    assert [step.kind for step in trajectory.steps] == [StepKind.TOOL_CALL, StepKind.HANDOFF, StepKind.MESSAGE]
    assert trajectory.steps[1].recipient == "second"
    assert trajectory.steps[0].tool_calls[0].arguments == {"at": "Emma"}


@pytest.mark.parametrize("value", [b"\xff", object(), {"a": {1, 2}}, float("nan"), "\ud800", 10**400, [None]])
def test_odd_values_are_recorded_without_failing(value: Any) -> None:
    @tracer_hooks.tool
    def give(given: Any) -> Any:
        return given

    @tracer_hooks.agent
    def solo(task: str) -> Any:
        return give(value)

    run = tracer_hooks.run(lambda task: [solo(task)], "x")
    assert run.error is None
    assert run.native == [value] or value != value
    assert len(run.trajectory.steps) >= 1


def test_a_name_that_cannot_be_made_costs_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("TRACER_HOOKS_STRICT")

    @tracer_hooks.agent(name=lambda *args: args[5])
    def solo(task: str) -> str:
        return "done"

    assert tracer_hooks.run(solo, "x").native == "done"
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("decorate", [tracer_hooks.agent, tracer_hooks.model, tracer_hooks.tool])
async def test_outside_of_a_run_closing_a_stream_closes_the_users_generator_at_once(decorate: Any) -> None:
    closed = []

    @decorate
    async def words(task: str) -> AsyncIterator[str]:
        try:
            yield "one"
            yield "two"
        finally:
            closed.append(task)

    stream: Any = words("x")
    assert await anext(stream) == "one"
    await stream.aclose()
    assert closed == ["x"]
