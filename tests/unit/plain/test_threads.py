"""Agents in threads: recorded where the context goes along, and noticed where it does not."""

from __future__ import annotations

import contextvars
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import tracer_hooks
from tracer_hooks.telemetry import Emitter, RunStart


@tracer_hooks.agent
def clerk(part: str) -> str:
    return f"read {part}"


def in_a_pool(task: str) -> str:
    with ThreadPoolExecutor(2) as pool:
        return " ".join(pool.map(clerk, task.split()))


def with_context(task: str) -> str:
    with ThreadPoolExecutor(2) as pool:
        parts = [pool.submit(contextvars.copy_context().run, clerk, part) for part in task.split()]
        return " ".join(part.result() for part in parts)


def test_a_pool_without_the_context_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    hooked = tracer_hooks.hook(in_a_pool)
    for _ in range(2):
        assert hooked("a b") == "read a read b"
    assert tracer_hooks.last_run(hooked).trajectory.steps == ()
    (said,) = caplog.messages
    assert "does not record agent 'clerk'" in said
    assert "while team 'in_a_pool' runs in another one" in said
    assert "contextvars.copy_context().run" in said


def test_with_the_context_every_step_is_there(caplog: pytest.LogCaptureFixture) -> None:
    hooked = tracer_hooks.hook(with_context)
    hooked("a b c")
    assert len(tracer_hooks.last_run(hooked).trajectory.steps) == 3
    assert caplog.messages == []


def test_agents_outside_of_every_run_are_nobodys_business(caplog: pytest.LogCaptureFixture) -> None:
    assert in_a_pool("a b") == "read a read b"
    assert caplog.messages == []


def test_what_a_check_calls_is_no_lost_step(caplog: pytest.LogCaptureFixture) -> None:
    hooked = tracer_hooks.hook(with_context, check=lambda result: with_context("x") == "read x")
    hooked("a")
    assert caplog.messages == []


def test_two_teams_at_once_do_not_blame_each_other(caplog: pytest.LogCaptureFixture) -> None:
    hooked, together = tracer_hooks.hook(with_context), threading.Barrier(2)

    def work() -> None:
        together.wait(60)
        for _ in range(10):
            hooked("a b")

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert caplog.messages == []


def test_a_run_that_nobody_ended_is_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    run = Emitter().start_run(RunStart(team="left"))
    del run
    gc.collect()
    assert in_a_pool("a b") == "read a read b"
    assert caplog.messages == []
