"""Second use, overlap, cancellation, undo: what once went wrong in hooked functions and factories."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace

import tracer_hooks
from tracer_hooks.errors import AdapterNotFoundError
from tracer_hooks.repair import RepairTarget
from tracer_hooks.runtime import _team_host
from tracer_hooks.runtime._team_host import INNER_TEAMS
from tracer_hooks.schema import RunOutcome
from tracer_hooks.store import RunStore
from tracer_hooks.telemetry import current_run

from ._framework import BenchAdapter, BenchTeam, Blame, Slow, run_of
from ._office import At
from ._spans import Recording


# --- factories without parameters -------------------------------------------------------------------------------------
@pytest.fixture
def recording() -> Recording:
    return Recording()


def test_building_a_team_has_no_span_of_ours_around_it(bench: BenchAdapter, recording: Recording) -> None:
    tracer = recording.provider.get_tracer("user")

    @tracer_hooks.hook(check=lambda result: True, tracer_provider=recording.provider, store="off")
    def build() -> Any:
        assert trace.get_current_span() is request
        with tracer.start_as_current_span("user.load_config"):
            return BenchTeam(lambda told, task: "It is 42.")

    with tracer.start_as_current_span("user.request") as request:
        build()
    spans = {span.name: span for span in recording.ended}
    assert set(spans) == {"user.load_config", "user.request"}
    assert spans["user.load_config"].parent == spans["user.request"].context


def test_a_run_that_turns_out_to_be_one_has_its_span_from_its_start(recording: Recording) -> None:
    @tracer_hooks.agent
    def solo() -> str:
        return "It is 42."

    @tracer_hooks.hook(tracer_provider=recording.provider, store="off")
    def main() -> str:
        time.sleep(0.01)
        return solo()

    assert [main(), main()] == ["It is 42."] * 2
    roots = [span for span in recording.ended if span.name == "invoke_workflow main"]
    agents = [span for span in recording.ended if span.name == "invoke_agent solo"]
    assert [span.parent and span.parent.span_id for span in agents] == [root.context.span_id for root in roots]
    begun = [agent.start_time - root.start_time for root, agent in zip(roots, agents, strict=True)]
    assert min(begun) >= 10_000_000, "nanoseconds before the agent"
    assert run_of(main).outcome is RunOutcome.SUCCEEDED


@pytest.mark.parametrize("is_async", [False, True])
def test_a_factory_that_raises_is_no_run_and_is_called_once(is_async: bool, recording: Recording) -> None:
    calls = []

    def broken() -> Any:
        calls.append(1)
        raise OSError("no database")

    async def abroken() -> Any:
        return broken()

    hooked: Any = tracer_hooks.hook(
        abroken if is_async else broken, retries=2, tracer_provider=recording.provider, store="off"
    )
    with pytest.raises(OSError, match="no database"):
        asyncio.run(hooked()) if is_async else hooked()
    assert calls == [1]
    assert recording.started == []
    assert tracer_hooks.last_run(hooked) is None


def test_a_factory_may_hand_on_a_coroutine_that_builds(bench: BenchAdapter) -> None:
    async def make() -> Any:
        return BenchTeam(lambda told, task: "It is 42.")

    def build() -> Any:
        return make()

    hooked: Any = tracer_hooks.hook(build, store="off")
    team = asyncio.run(hooked())
    assert team.run("x") == {"answer": "It is 42."}
    assert run_of(team).outcome is RunOutcome.SUCCEEDED


# --- what is never awaited --------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", ["coroutine", "generator", "asynchronous generator"])
def test_a_call_that_goes_on_in_something_never_begun_ends_with_it(kind: str, recording: Recording) -> None:
    async def coroutine(task: str) -> str:
        return task

    def generator(task: str) -> Any:
        yield task

    async def agenerator(task: str) -> AsyncIterator[str]:
        yield task

    given = {"coroutine": coroutine, "generator": generator, "asynchronous generator": agenerator}[kind]

    def hands_on(task: str) -> Any:
        return given(task)

    hooked = tracer_hooks.hook(hands_on, tracer_provider=recording.provider, store="off")
    hooked("x")
    gc.collect()
    assert [span.name for span in recording.ended] == ["invoke_workflow hands_on"]
    assert [(a.outcome, a.outcome_reason) for a in run_of(hooked).attempts] == [(RunOutcome.UNKNOWN, "abandoned")]


# --- cancelled while a failed attempt is diagnosed --------------------------------------------------------------------
@pytest.mark.parametrize("streams", [False, True])
async def test_cancelling_while_a_failed_attempt_is_diagnosed_invents_no_attempt(streams: bool, tmp_path: Path) -> None:
    slow = Slow()

    @tracer_hooks.agent(instructions="Be right.")
    async def solo(task: str) -> str:
        return "It is 41."

    async def solve(task: str) -> str:
        return await solo(task)

    async def stream(task: str) -> AsyncIterator[str]:
        yield await solo(task)

    store = tmp_path / "runs.sqlite"
    options: dict[str, Any] = {"check": lambda result: False, "retries": 2, "attributor": slow, "store": store}
    hooked: Any = tracer_hooks.hook(stream if streams else solve, retry_streams=streams, **options)

    async def use() -> None:
        if streams:
            async for _ in hooked("x"):
                pass
        else:
            await hooked("x")

    task = asyncio.create_task(use())
    await asyncio.to_thread(slow.asked.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    slow.go.set()
    run = await run_of(hooked).diagnosed()
    assert [(attempt.number, attempt.outcome) for attempt in run.attempts] == [(1, RunOutcome.FAILED)]
    assert run.attempts[0].attribution is not None, "the diagnosis that was under way is kept"
    (stored,) = RunStore(store).list()
    assert (stored.attempt, str(stored.kind), stored.outcome) == (1, "live", RunOutcome.FAILED)


# --- inner teams ------------------------------------------------------------------------------------------------------
def test_an_inner_team_is_hooked_while_a_run_uses_it(bench: BenchAdapter) -> None:
    team = BenchTeam(lambda told, task: "It is 42.")
    watch = INNER_TEAMS.watcher(bench)
    seen: list[bool] = []

    def solve(task: str) -> Any:
        watch(team)
        watch(team)  # a second look changes nothing
        run = current_run()
        seen.append(run is not None and run.is_subject(team))
        return team.run(task)["answer"]

    hooked = tracer_hooks.hook(solve, store="off")
    for _ in range(2):
        assert hooked("x") == "It is 42."
        assert INNER_TEAMS._inner == {}
        assert "run" not in vars(team)
    assert seen == [True, True]
    assert [step.agent for step in run_of(hooked).trajectory.steps] == ["solo"]


# --- undone -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("count", [1, 2, 3])
def test_nothing_is_watched_once_every_function_is_unhooked(count: int) -> None:
    before = _team_host.FRAMEWORK_WATCHER._holders
    hooked = [tracer_hooks.hook(lambda task: "x", store="off") for _ in range(count)]
    for function in hooked:
        function("t")
    for function in hooked:
        tracer_hooks.unhook(function)
        tracer_hooks.unhook(function)
    assert _team_host.FRAMEWORK_WATCHER._holders == before


def test_what_is_watched_stays_when_a_module_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    import types

    hooked = tracer_hooks.hook(lambda task: "x", store="off")
    hooked("t")
    watched = dict(_team_host.FRAMEWORK_WATCHER._watched)
    monkeypatch.setitem(sys.modules, "a_module_of_the_users", types.ModuleType("a_module_of_the_users"))
    hooked("t")
    assert all(_team_host.FRAMEWORK_WATCHER._watched[name] is patches for name, patches in watched.items())


def test_an_unhooked_team_is_not_retried(bench: BenchAdapter) -> None:
    calls = []

    def say(told: str, task: str) -> str:
        calls.append(task)
        tracer_hooks.unhook(team)
        return "It is 41."

    team = tracer_hooks.hook(BenchTeam(say), check=lambda result: False, retries=2, store="off")
    last: Callable[[], Any] = lambda: tracer_hooks.last_run(team)  # noqa: E731
    assert team.run("x") == {"answer": "It is 41."}
    assert calls == ["x"]
    with pytest.raises(tracer_hooks.TracerHooksError, match="is not hooked"):
        last()


# --- targets and prompts ----------------------------------------------------------------------------------------------
def test_an_object_with_a_method_that_runs_it_is_refused_with_what_to_hook_instead() -> None:
    class Office:
        def run(self, task: str) -> str:
            return task

    with pytest.raises(AdapterNotFoundError, match=r"hook its method: team\.run = tracer_hooks\.hook\(team\.run\)"):
        tracer_hooks.hook(Office())


def test_the_default_of_prompts_is_kept_under_new_instructions() -> None:
    defaults = {"librarian": "You answer.", "clerk": "You write."}
    given: list[Any] = []

    lesson = At(target=RepairTarget.INSTRUCTIONS, agent="librarian", text="You answer with care.")

    @tracer_hooks.hook(check=lambda result: False, attributor=Blame(("librarian",)), retries=1, repair=lesson)
    def build(prompts: Any = defaults) -> Any:
        given.append(prompts)

        @tracer_hooks.agent(name="librarian", instructions=prompts["librarian"])
        def librarian(task: str) -> str:
            return prompts["clerk"]

        return librarian

    assert build()("x") == "You write."
    assert [sorted(prompts) for prompts in given] == [["clerk", "librarian"]] * 2
    assert given[1]["librarian"] != "You answer."
    assert given[1]["clerk"] == "You write."
