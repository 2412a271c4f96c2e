"""`observed` hooks a team for one block, and notes every run in it."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from tracer_hooks.config import CaptureConfig
from tracer_hooks.frameworks import ModelRequest, RecordReplies
from tracer_hooks.frameworks.plain import PlainAdapter, PlainTeam, agent, model
from tracer_hooks.schema import RunOutcome
from tracer_hooks.testing import observed, span_tree


@model(name="m")
def ask(prompt: str) -> str:
    return prompt[::-1]


@agent
def solo(task: str) -> str:
    return ask(task)


@pytest.fixture
def team() -> PlainTeam:
    return PlainTeam(solo, "team")


def test_a_call_is_observed_and_given_as_it_is_and_afterwards_the_team_is_as_it_was(team: PlainTeam) -> None:
    with observed(team, adapter=PlainAdapter()) as observer:
        assert team.run("abc") == "cba"
    assert [step.content for step in observer.trajectory.steps] == ["cba"]
    assert observer.results[0].text == "cba"
    assert span_tree(observer.spans) == "invoke_workflow team\n  invoke_agent solo\n    chat m [0]"
    assert observer.trajectory.outcome is RunOutcome.UNKNOWN, "nobody judged it"
    assert team.run is solo
    team.run("abc")
    assert len(observer.runs) == 1


def test_the_adapter_is_found_and_the_capture_can_be_chosen(team: PlainTeam) -> None:
    with observed(team, capture=CaptureConfig()) as observer:
        team.run("uvw")
        assert observer.trajectory.framework == "python"
        team.run("xyz")
    assert "wvu" not in repr([dict(span.attributes or {}) for span in observer.spans])
    with pytest.raises(AssertionError, match="saw 2"):
        _ = observer.trajectory
    assert len(observer.trajectories) == 2


async def test_coroutines_and_generators_are_observed() -> None:
    async def work(task: str) -> str:
        await asyncio.sleep(0)
        return solo(task)

    def pieces(task: str) -> Iterator[str]:
        yield "first "
        yield solo(task)

    team = PlainTeam(work, "team")
    with observed(team) as observer:
        assert await team.run("abc") == "cba"
    assert len(observer.trajectory.steps) == 1
    team = PlainTeam(pieces, "team")
    with observed(team) as observer:
        assert list(team.run("abc")) == ["first ", "cba"]
    assert observer.results[0].text == "first cba"
    assert len(observer.trajectory.steps) == 1


async def test_asynchronous_generators_are_observed_and_may_be_closed() -> None:
    async def work(task: str) -> AsyncIterator[str]:
        yield solo(task)
        yield "never asked for"

    team = PlainTeam(work, "team")
    with observed(team) as observer:
        stream = team.run("abc")
        assert await anext(stream) == "cba"
        await stream.aclose()
    assert observer.results == []
    assert observer.runs[0].ended
    assert observer.trajectory.outcome_reason == "abandoned"


def test_an_exception_passes_and_the_run_has_failed() -> None:
    error = ValueError("boom")

    def work(task: str) -> str:
        raise error

    team = PlainTeam(work, "team")
    with observed(team) as observer, pytest.raises(ValueError, match="boom") as raised:
        team.run("abc")
    assert raised.value is error
    assert observer.trajectory.outcome is RunOutcome.FAILED


def test_the_intervention_may_be_set_between_runs(team: PlainTeam) -> None:
    record = RecordReplies()
    with observed(team) as observer:
        team.run("abc")
        observer.intervention = record
        team.run("xyz")
    ((request, reply),) = record.models
    assert isinstance(request, ModelRequest)
    assert (request.agent, reply.content) == ("solo", "zyx")
    assert [trajectory.task for trajectory in observer.trajectories] == ["abc", "xyz"]
