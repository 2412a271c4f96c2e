"""Duties: a run that is broken off, closed or cancelled leaves nothing behind and is no failure."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from tracer_hooks import semconv
from tracer_hooks.schema import RunOutcome, StepKind
from tracer_hooks.telemetry import current_invocation
from tracer_hooks.testing._contract_base import ContractBase, attribute, errors_of, exceptions_of, root_of
from tracer_hooks.testing._observing import Observer
from tracer_hooks.testing._scenarios import TASK, Scenario
from tracer_hooks.testing._scripted_llm import ScriptedLLM
from tracer_hooks.testing._scripted_request import ScriptedRequest
from tracer_hooks.testing._scripted_rules import When

_WAIT_S = 30.0


class _HeldModel:
    """A model whose first reply is held back until the test lets it go."""

    def __init__(self) -> None:
        self.asked, self.released = threading.Event(), threading.Event()

    def __call__(self, request: ScriptedRequest) -> str:
        self.asked.set()
        self.released.wait(_WAIT_S)
        return "The answer is 42."

    async def release_soon(self) -> None:
        """Let the reply go once a cancellation has reached the run; AutoGen's teams wait for what is under way."""
        for _ in range(10):
            await asyncio.sleep(0)
        self.released.set()


class EndingsContract(ContractBase):
    """Early ends."""

    def test_a_stream_that_is_broken_off_is_no_failure(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        seen: list[Any] = []

        async def take_one() -> None:
            async for _ in self.astream(team):
                seen.append((trace.get_current_span(), current_invocation()))
                break
            gc.collect()
            # A generator that was dropped is closed by the event loop, in a task of its own.
            await self._others_done()

        with self.observe(team) as observer:
            self.run_async(take_one())
        assert seen == [(trace.INVALID_SPAN, None)]
        self._was_stopped(observer, "abandoned")

    def test_a_stream_that_is_closed_is_no_failure(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))

        async def take_one() -> None:
            stream: Any = self.astream(team)
            await anext(stream)
            await stream.aclose()
            assert trace.get_current_span() is trace.INVALID_SPAN

        with self.observe(team) as observer:
            self.run_async(take_one())
        self._was_stopped(observer, "abandoned")

    def test_a_plain_stream_that_is_closed_is_no_failure(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(team) as observer:
            stream: Any = self.offered(self.teams.stream, team, TASK)
            next(stream)
            assert trace.get_current_span() is trace.INVALID_SPAN
            stream.close()
        self._was_stopped(observer, "abandoned")

    def test_a_stream_that_is_never_begun_leaves_nothing(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))

        async def open_and_close() -> None:
            stream: Any = self.astream(team)
            await stream.aclose()

        with self.observe(team) as observer:
            self.run_async(open_and_close())
        assert observer.spans == ()

    def test_a_cancelled_run_is_no_failure(self) -> None:
        model = _HeldModel()
        team = self.build("pipeline", self._script(model))
        with self.observe(team) as observer:
            assert self.run_async(self._cancel(team, model)) == "CancelledError"
        self._was_stopped(observer, "cancelled")

    def test_a_run_that_times_out_is_no_failure_of_an_agent(self) -> None:
        model = _HeldModel()
        team = self.build("pipeline", self._script(model))

        async def time_out() -> None:
            async def expire(limit: asyncio.Timeout) -> None:
                await asyncio.to_thread(model.asked.wait, _WAIT_S)
                limit.reschedule(0)
                await model.release_soon()

            try:
                async with asyncio.timeout(None) as limit:
                    expiring = asyncio.create_task(expire(limit))
                    await self.teams.arun(team, TASK)
            finally:
                expiring.cancel()
                model.asked.set()
                model.released.set()

        with self.observe(team) as observer, pytest.raises(TimeoutError):
            self.run_async(time_out())
        self._was_stopped(observer, "cancelled")

    def test_a_team_runs_on_after_a_cancelled_run(self) -> None:
        model = _HeldModel()
        team = self.build("pipeline", self._script(model))
        with self.observe(team) as observer:
            self.run_async(self._cancel(team, model))
        fresh = self.build("pipeline", self.llm(Scenario.PIPELINE))
        with self.observe(fresh) as observer:
            self.run(fresh)
        assert len(observer.trajectory.steps) == 4

    def test_a_stream_that_runs_to_its_end_is_complete(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))

        async def collect() -> int:
            outside = True
            async for _ in self.astream(team):
                outside = outside and current_invocation() is None and trace.get_current_span() is trace.INVALID_SPAN
            assert outside, "an operation of ours was current in the caller's loop"
            return 1

        with self.observe(team) as observer:
            self.run_async(collect())
        assert errors_of(observer) == []
        assert attribute(root_of(observer), semconv.ABANDONED) is None
        assert observer.results[0].text == "Approved: six times seven makes 42."

    # --- pieces ----------------------------------------------------------------------------------------------------
    def _script(self, model: _HeldModel) -> ScriptedLLM:
        self._stack.callback(model.released.set)
        return self.llm([When().then(model)])

    async def _cancel(self, team: Any, model: _HeldModel) -> str:
        task = asyncio.create_task(self.teams.arun(team, TASK))
        asked = asyncio.create_task(asyncio.to_thread(model.asked.wait, _WAIT_S))
        await asyncio.wait([task, asked], return_when=asyncio.FIRST_COMPLETED)
        task.cancel()  # of no effect on a run that ended without asking its model
        await model.release_soon()
        try:
            return str(await task)
        except asyncio.CancelledError as error:
            return type(error).__name__
        finally:
            model.asked.set()
            await asked

    async def _others_done(self) -> None:
        for _ in range(3):
            await asyncio.sleep(0)  # the loop creates the task that closes the generator only in its next round
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others, timeout=_WAIT_S)

    def _was_stopped(self, observer: Observer, reason: str) -> None:
        root = root_of(observer)
        assert root.status.status_code is StatusCode.UNSET
        assert attribute(root, semconv.ABANDONED) == reason
        assert errors_of(observer) == []
        assert exceptions_of(observer) == []
        trajectory = observer.runs[0].trajectory()
        assert trajectory.outcome is RunOutcome.UNKNOWN
        assert not [step for step in trajectory.steps if step.kind is StepKind.ERROR]
