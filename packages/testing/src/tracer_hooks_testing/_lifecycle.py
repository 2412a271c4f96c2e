"""Duties: a team is used a second time, by several runs at once, cancelled anywhere and unhooked in any order."""

from __future__ import annotations

import asyncio
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest
from opentelemetry.sdk.trace import TracerProvider

import tracer_hooks
from tracer_hooks import semconv
from tracer_hooks.frameworks import RunResult
from tracer_hooks.schema import RunOutcome
from tracer_hooks.testing import ErrorReply, RecordingHost, When
from tracer_hooks_testing._base import Balance, CancelledAt, ContractBase, every_way
from tracer_hooks_testing._isolation import attributes, changes
from tracer_hooks_testing._teams import TASK, ContractTeams, NotOfferedError, Scenario

_MAX_FRAMES = 6
"""Of ours, in a traceback that begins inside the framework."""
_OUR_FRAME = re.compile(r'File "[^"]*[/\\\\]tracer_hooks(?!_testing)(?:_\w+)?[/\\\\](?!testing[/\\\\])')
_MAX_POINTS = 400
_WAIT_S = 30.0
_SETTLE_S = 0.1


class LifecycleContract(ContractBase):
    """Second use, overlap, cancellation, undo. These go through :func:`tracer_hooks.hook`, as users do."""

    at_once: ClassVar[int] = 20
    """How many runs use a team at the same time."""

    # --- a team inside a function ----------------------------------------------------------------------------------
    @pytest.mark.parametrize("way", ["run", "arun"])
    def test_a_team_inside_a_function_is_a_part_of_every_run(self, way: str) -> None:
        if way == "run" and type(self.teams).run is ContractTeams.run:
            pytest.skip(f"{self.teams.adapter}: no entry point but asynchronous ones")
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        before = attributes(team, *self.teams.parts(team))
        bare = self._own(way, team)
        answers, steps = [], []
        with self._surveyed() as survey:
            office = self._hooked(self._office(way, team))
            for _ in range(3):
                answers += [self._use(way, office, team), self._own(way, team)]
                steps.append(len(_last(office).trajectory.steps))
        assert answers == [bare] * 6
        assert steps == [4, 4, 4]
        assert survey.started.count(semconv.OP_INVOKE_WORKFLOW) == 3
        tracer_hooks.unhook(office)
        assert [self._use(way, office, team), self._own(way, team)] == [bare] * 2
        self._is_as_before(before, team)

    def test_a_team_inside_functions_that_overlap(self) -> None:
        llm = self.llm(Scenario.PIPELINE)
        shared = self.build("pipeline", llm)
        others = [shared if self.teams.runs_at_once else self.build("pipeline", llm) for _ in range(self.at_once - 1)]
        teams = [shared, *others]
        before = attributes(shared, *self.teams.parts(shared))
        bare = self._own("arun", shared)
        with self._surveyed():
            offices = [self._hooked(self._office("arun", team)) for team in teams]

            async def use(at: int) -> tuple[str, int]:
                if at % 5 == 4 and self.teams.runs_at_once:  # the user's own calls between the runs
                    return self._text(shared, await self.teams.arun(shared, TASK)), 4
                result = await offices[at](TASK)
                return self._text(teams[at], result), len(_last(offices[at]).trajectory.steps)

            async def together() -> list[tuple[str, int]]:
                return await asyncio.gather(*(use(at) for at in range(len(teams))))

            seen = self.run_async(together())
        assert seen == [(bare, 4)] * len(teams)
        for office in offices:
            tracer_hooks.unhook(office)
        self._is_as_before(before, shared)

    def test_a_team_inside_functions_in_threads(self) -> None:
        if not self.teams.runs_at_once:
            pytest.skip(f"{self.teams.adapter}: one team object runs once at a time")
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        before = attributes(team, *self.teams.parts(team))
        bare = self._own("run", team)
        with self._surveyed():
            office = self._hooked(self._office("run", team))

            def use(_: int) -> tuple[str, int]:
                return self._use("run", office, team), len(_last(office).trajectory.steps)

            with ThreadPoolExecutor(8) as pool:
                seen = list(pool.map(use, range(self.at_once)))
        assert seen == [(bare, 4)] * self.at_once
        tracer_hooks.unhook(office)
        self._is_as_before(before, team)

    # --- cancelled -------------------------------------------------------------------------------------------------
    def test_a_call_may_be_cancelled_wherever_it_waits(self) -> None:
        points = self._cancel_everywhere(lambda team: self.teams.cancellable(team, TASK), retry_streams=False)
        assert points > 1

    def test_a_stream_may_be_cancelled_wherever_it_waits(self) -> None:
        async def consume(team: Any) -> None:
            async for _ in self.teams.astream(team, TASK):
                pass

        self.astream(self.build("single", self.llm(Scenario.SINGLE)))  # skips where there is none
        points = self._cancel_everywhere(consume, retry_streams=True)
        assert points > 1

    def _cancel_everywhere(self, use: Callable[[Any], Any], *, retry_streams: bool) -> int:
        """Cancel a call of two attempts at each of its points; gives how many there are."""
        llm = self.llm(Scenario.SINGLE)
        for point in range(_MAX_POINTS):
            team = self.build("single", llm)
            before = attributes(team, *self.teams.parts(team))
            with self._surveyed() as survey:
                hooked = self._hooked(team, check=_fails, retries=1, retry_streams=retry_streams)
                cancelling = CancelledAt(point)
                ending = self.run_async(self._cancelled(cancelling, use(hooked)))
                run = tracer_hooks.last_run(hooked)
                if run is not None:
                    run.wait(_WAIT_S)
                tracer_hooks.unhook(hooked)
            self._is_consistent(run, survey, cancelled=cancelling.was_reached and ending == "CancelledError")
            self._is_as_before(before, team)
            if not cancelling.was_reached:
                return point
        raise AssertionError(f"the call waits at more than {_MAX_POINTS} points")

    async def _cancelled(self, cancelling: CancelledAt, work: Any) -> str:
        async def whole() -> None:
            await cancelling.run(work)

        task = asyncio.create_task(whole())
        await asyncio.wait([task])
        # AutoGen's teams go on in tasks of their own, some of which wait for ever then.
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            done, waiting = await asyncio.wait(others, timeout=_SETTLE_S)
            if not done:
                for one in waiting:
                    one.cancel()
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if isinstance(error, NotOfferedError):
            pytest.skip(f"{self.teams.adapter}: {error}")
        return type(error).__name__ if error is not None else ""

    def _is_consistent(self, run: tracer_hooks.TeamRun | None, survey: Balance, *, cancelled: bool) -> None:
        attempts = run.attempts if run is not None else []
        started = survey.started.count(semconv.OP_INVOKE_WORKFLOW)
        assert len(attempts) == started, "attempts recorded are calls made"
        assert [attempt.number for attempt in attempts] == [*range(1, len(attempts) + 1)]
        assert len({attempt.trajectory.run_id for attempt in attempts}) == len(attempts)
        outcomes = [attempt.outcome for attempt in attempts]
        assert outcomes[:-1] == [RunOutcome.FAILED] * len(outcomes[:-1])
        if not cancelled:
            assert outcomes == [RunOutcome.FAILED] * 2

    # --- undone ----------------------------------------------------------------------------------------------------
    @pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["oldest first", "newest first"])
    def test_hooks_of_one_team_may_be_undone_in_any_order(self, order: Sequence[int]) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        before = attributes(team, *self.teams.parts(team))
        observers = [RecordingHost(self.adapter), RecordingHost(self.adapter)]
        patches = [self.hook(team, observer) for observer in observers]
        self.run(team)
        patches[order[0]].undo()
        self.run(team)
        assert len(observers[order[1]].runs) >= 1, "the hook that is left observes"
        assert len(observers[order[1]].runs[-1].trajectory().steps) == 4
        patches[order[1]].undo()
        counts = [len(observer.runs) for observer in observers]
        self.run(team)
        assert [len(observer.runs) for observer in observers] == counts
        self._is_as_before(before, team)

    def test_a_team_that_a_run_uses_may_be_hooked_and_unhooked(self) -> None:
        team = self.build("pipeline", self.llm(Scenario.PIPELINE))
        before = attributes(team, *self.teams.parts(team))
        bare = self._own("arun", team)
        with self._surveyed():
            office = self._hooked(self._office("arun", team))
            assert self._use("arun", office, team) == bare
            self._hooked(team)
            assert self._use("arun", office, team) == bare
            assert len(_last(team).trajectory.steps) == 4, "a team that is hooked itself has runs of its own"
            tracer_hooks.unhook(team)
            assert self._use("arun", office, team) == bare
            assert len(_last(office).trajectory.steps) == 4
            tracer_hooks.unhook(office)
        self._is_as_before(before, team)

    def test_a_method_that_was_taken_before_unhook_passes_through(self) -> None:
        team = self.build("single", self.llm(Scenario.SINGLE))
        call = self.adapter.entry(team, TASK)
        with self._surveyed() as survey:
            hooked = self._hooked(team)
            method = getattr(team, call.method)
            tracer_hooks.unhook(hooked)
            value = method(*call.args, **call.kwargs)
            native = self.run_async(value) if asyncio.iscoroutine(value) else value
        assert survey.started == []
        assert self._text(team, native) == self._own("arun" if asyncio.iscoroutine(value) else "run", team)

    # --- errors ----------------------------------------------------------------------------------------------------
    @every_way
    def test_a_traceback_shows_few_frames_of_ours(self, way: str) -> None:
        team = self.build("single", self.llm([When().then(ErrorReply(400, message="no such model"))]))
        with self._surveyed():
            self._hooked(team)
            with pytest.raises(Exception) as caught:  # noqa: PT011  # each framework raises its own
                self.conduct(way, team)
        shown = traceback.format_exception(caught.value, chain=False)
        assert _frames_of_ours(shown) <= _MAX_FRAMES, "".join(shown)

    # --- pieces ----------------------------------------------------------------------------------------------------
    @contextmanager
    def _surveyed(self) -> Iterator[Balance]:
        """A provider for :meth:`_hooked`; afterwards every span that was started has to be ended."""
        survey = Balance()
        self._provider = TracerProvider()
        self._provider.add_span_processor(survey)
        yield survey
        assert list(survey.open.values()) == [], "spans that were never ended"

    def _hooked(self, target: Any, **options: Any) -> Any:
        hooked: Any = tracer_hooks.hook(target, store="off", tracer_provider=self._provider, **options)
        self._stack.callback(tracer_hooks.unhook, hooked)
        return hooked

    def _office(self, way: str, team: Any) -> Callable[..., Any]:
        """A function that runs ``team``, as a server's request handler does."""
        if way == "run":
            return lambda task: self.teams.run(team, task)

        async def office(task: str) -> Any:
            return await self.teams.arun(team, task)

        return office

    def _use(self, way: str, office: Callable[..., Any], team: Any) -> str:
        value = self.offered(office, TASK)
        return self._text(team, self.run_async(value) if way == "arun" else value)

    def _own(self, way: str, team: Any) -> str:
        """The answer of a call of the user's own."""
        (native,) = self.conduct(way, team)
        return self._text(team, native)

    def _text(self, team: Any, native: Any) -> str:
        return self.adapter.result(self.adapter.entry(team, TASK), native).text

    def _is_as_before(self, before: dict[Any, Any], team: Any) -> None:
        after = attributes(team, *self.teams.parts(team))
        known = {key: before[key] for key in before.keys() & after.keys()}
        assert changes(known, after, only_ours=True) == []
        classes = {key: known[key] for key in known if isinstance(known[key][0], type)}
        assert changes(classes, {key: after[key] for key in classes}) == []


def _fails(result: RunResult) -> bool:
    return False


def _last(hooked: Any) -> tracer_hooks.TeamRun:
    run = tracer_hooks.last_run(hooked)
    assert run is not None
    return run


def _frames_of_ours(shown: Sequence[str]) -> int:
    return sum(len(_OUR_FRAME.findall(part)) for part in shown)
