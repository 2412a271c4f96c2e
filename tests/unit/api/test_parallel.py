"""Runs beside each other, runs inside each other, and runs without end."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import tracemalloc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

import tracer_hooks
from tracer_hooks.schema import RunOutcome

from ._framework import BenchAdapter, BenchTeam, run_of


@tracer_hooks.agent
async def echo(task: str) -> str:
    await asyncio.sleep(0)
    return f"echo {task}"


@tracer_hooks.hook(check=lambda result: "bad" not in result.text, store="off", diagnose="off")
async def atalk(task: str) -> str:
    first = await echo(f"{task} one")
    return first + await echo(f"{task} two")


def contents(run: tracer_hooks.TeamRun) -> list[str]:
    return [step.content for step in run.trajectory.steps]


async def test_eight_tasks_do_not_mix() -> None:
    async def one(number: int) -> None:
        name = f"bad{number}" if number % 2 else f"good{number}"
        await atalk(name)
        await asyncio.sleep(0)
        run = run_of(atalk)
        assert run.task == name
        assert contents(run) == [f"echo {name} one", f"echo {name} two"]
        assert run.outcome is (RunOutcome.FAILED if number % 2 else RunOutcome.SUCCEEDED)

    await asyncio.gather(*(one(number) for number in range(8)))


def test_eight_threads_do_not_mix() -> None:
    together = threading.Barrier(8)

    @tracer_hooks.agent
    def say(task: str) -> str:
        together.wait(10)
        return f"echo {task}"

    @tracer_hooks.hook
    def talk(task: str) -> str:
        return say(task) + say(task)

    def one(number: int) -> None:
        talk(f"t{number}")
        together.wait(10)
        assert run_of(talk).task == f"t{number}"
        assert contents(run_of(talk)) == [f"echo t{number}"] * 2

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(8)))


async def test_parallel_arun_of_a_sync_function_gives_each_its_own() -> None:
    together = threading.Barrier(4)

    @tracer_hooks.hook
    def talk(task: str) -> str:
        together.wait(10)
        return task

    runs = await asyncio.gather(*(tracer_hooks.arun(talk, f"t{number}") for number in range(4)))
    assert [run.task for run in runs] == ["t0", "t1", "t2", "t3"]


async def test_a_run_in_a_task_of_mine_is_mine() -> None:
    await atalk("first")
    await asyncio.create_task(atalk("second"))
    assert run_of(atalk).task == "second"
    await asyncio.wait_for(atalk("third"), 10)
    assert run_of(atalk).task == "third"
    await asyncio.to_thread(lambda: asyncio.run(atalk("fourth")))
    assert run_of(atalk).task == "fourth"


# --- memory ----------------------------------------------------------------------------------------------------------
@tracer_hooks.agent(instructions="Be right.")
def wordy(task: str) -> str:
    return "It is 41. " * 50


@pytest.fixture
def solve() -> Callable[[str], str]:
    # A provider of its own: what another test has observed the process's with keeps ids of its newest 10,000 traces.
    @tracer_hooks.hook(expected="42", retries=1, tracer_provider=TracerProvider())
    def solve(task: str) -> str:
        return wordy(task)

    return solve


def test_a_run_goes_when_newer_ones_have_come(solve: Callable[[str], str]) -> None:
    solve("first")
    first = weakref.ref(run_of(solve))
    for number in range(20):
        solve(f"task {number}")
    gc.collect()
    assert first() is None


@pytest.mark.slow
def test_runs_leave_nothing_behind(solve: Callable[[str], str]) -> None:
    def seen_after(count: int) -> tracemalloc.Snapshot:
        for number in range(count):
            solve(f"task {number}")
        assert tracer_hooks.flush(30)
        gc.collect()
        return tracemalloc.take_snapshot()

    tracemalloc.start()
    try:
        seen = [seen_after(count) for count in (100, 120, 120, 120)]
    finally:
        tracemalloc.stop()
    grown = [
        [each for each in after.compare_to(before, "lineno") if "tracemalloc" not in str(each.traceback)]
        for before, after in itertools.pairwise(seen)
    ]
    left = [sum(each.size_diff for each in lines) for lines in grown]
    # What each run leaves shows in all three; what a cache takes once, or another test's thread, in one.
    assert min(left) < 24_000, "\n".join(map(str, [f"120 runs left {left} bytes behind", *grown[-1][:8]]))


@pytest.mark.parametrize("fails", [False, True])
def test_teams_die_with_their_last_reference(bench: BenchAdapter, fails: bool) -> None:
    def say(told: str, task: str) -> str:
        if fails:
            raise ValueError("broken")
        return "42"

    @tracer_hooks.hook
    def build(prompts: Any = None) -> BenchTeam:
        return BenchTeam(say)

    def use() -> weakref.ref[BenchTeam]:
        team = build()
        tracer_hooks.run(team, "x")
        return weakref.ref(team)

    references = [use() for _ in range(5)]
    gc.collect()
    assert [reference() for reference in references] == [None] * 5


def test_a_team_in_the_place_of_a_dead_one_is_hooked(bench: BenchAdapter) -> None:
    release = threading.Event()

    def tell(run: tracer_hooks.TeamRun) -> None:
        release.wait(10)  # the conductor is at work longer than the team lives

    try:
        for _ in range(20):
            team = tracer_hooks.hook(
                BenchTeam(lambda told, task: "41"), expected="42", diagnose="background", on_failure=tell
            )
            team.run("x")
            assert run_of(team).task == "x"
            del team
    finally:
        release.set()
