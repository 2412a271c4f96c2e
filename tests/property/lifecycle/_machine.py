"""What a program may do with hooked teams, in any order, and what must hold after each thing that it did."""

import asyncio
import gc
import sys
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from opentelemetry.sdk.trace import TracerProvider

import tracer_hooks
from tracer_hooks import semconv
from tracer_hooks.runtime import _team_host
from tracer_hooks.runtime._team_host import INNER_TEAMS
from tracer_hooks.schema import RunOutcome
from tracer_hooks_testing._base import Balance, CancelledAt

from ._kinds import ANSWER, Kind

MAX_TEAMS = 3
_SETTLE_S = 0.05
_WAIT_S = 20.0


def _wait(run: tracer_hooks.TeamRun) -> None:
    """Wait until the run is stored and diagnosed; where it is not, say what every thread is doing."""
    try:
        run.wait(_WAIT_S)
    except TimeoutError as error:
        stacks = ("".join(traceback.format_stack(frame)) for frame in sys._current_frames().values())
        raise AssertionError(f"{error}; the threads:\n" + "\n".join(stacks)) from error


@dataclass(eq=False)
class Member:
    """A team of the program's, how it is hooked, and the hooked function that uses it, if there is one."""

    team: Any
    attributes: set[str]
    retries: int = 0
    passes: bool = True
    is_hooked: bool = False
    is_usable: bool = True
    office: Any = None
    streams_again: bool = field(default=False)

    @property
    def target(self) -> Any:
        """What is hooked: of plain Python the object that holds the function."""
        return getattr(self.team, "hooked", self.team)


class Lifecycle(RuleBasedStateMachine):
    """Hook, call, call at once, stream, break off, cancel, unhook, forget."""

    kind: Kind
    steps_done = 0

    def __init__(self) -> None:
        super().__init__()
        self._members: list[Member] = []
        self._runner = asyncio.Runner()
        self._survey = Balance()
        self._provider = TracerProvider()
        self._provider.add_span_processor(self._survey)
        self._classes = {owner: dict(vars(owner)) for owner in self.kind.classes()}

    def teardown(self) -> None:
        for member in self._members:
            self._unhook(member)
        self._members.clear()
        self._runner.close()
        self._nothing_is_left()

    # --- what a program does ---------------------------------------------------------------------------------------
    @initialize()
    def begin(self) -> None:
        self._add()

    @precondition(lambda self: len(self._members) < MAX_TEAMS)
    @rule()
    def build(self) -> None:
        self._add()

    @rule(at=st.integers(0, 9), passes=st.booleans(), retries=st.integers(0, 1), again=st.booleans())
    def hook(self, at: int, passes: bool, retries: int, again: bool) -> None:
        member = self._pick(at)
        if member.is_hooked:
            assert tracer_hooks.hook(member.target) is member.target
            return
        member.passes, member.retries, member.streams_again, member.is_hooked = passes, retries, again, True
        tracer_hooks.hook(
            member.target,
            check=lambda result: passes,
            retries=retries,
            repair="plain",  # every attempt begins with the first member, whose acts are counted
            retry_streams=again,
            store="off",
            tracer_provider=self._provider,
        )

    @rule(at=st.integers(0, 9))
    def hook_a_function_that_uses_it(self, at: int) -> None:
        member = self._pick(at)
        if member.office is not None:
            return
        kind, team = self.kind, member.team

        async def office(task: str) -> str:
            return await kind.call(team)

        member.office = tracer_hooks.hook(office, store="off", tracer_provider=self._provider)

    @rule(at=st.integers(0, 9))
    def call(self, at: int) -> None:
        member = self._pick(at)
        if member.is_usable:
            self._await(self._called(member))

    @rule(at=st.integers(0, 9))
    def call_the_function(self, at: int) -> None:
        member = self._pick(at)
        if member.is_usable and member.office is not None:
            self._await(self._office_called(member))

    @rule()
    def call_all_at_once(self) -> None:
        async def together() -> None:
            works: list[Awaitable[None]] = []
            for member in self._members:
                if member.is_usable:
                    is_office = member.office is not None and not member.is_hooked
                    works.append(self._office_called(member) if is_office else self._called(member))
            await asyncio.gather(*works)

        self._await(together())

    @rule(at=st.integers(0, 9), items=st.integers(0, 3))
    def stream_and_break_off(self, at: int, items: int) -> None:
        member = self._pick(at)
        if member.is_usable and self.kind.streams:
            self._await(self._streamed(member, items))

    @rule(at=st.integers(0, 9), point=st.integers(0, 12))
    def cancel(self, at: int, point: int) -> None:
        member = self._pick(at)
        if member.is_usable:
            self._await(self._cancelled(member, point))

    @rule(at=st.integers(0, 9))
    def unhook(self, at: int) -> None:
        self._unhook(self._pick(at))

    @rule(at=st.integers(0, 9), first=st.booleans())
    def forget(self, at: int, first: bool) -> None:
        if len(self._members) < 2:
            return
        member = self._pick(at)
        if first or not self.kind.lets_go:
            self._unhook(member)
        self._members.remove(member)
        del member
        gc.collect()

    # --- what must hold --------------------------------------------------------------------------------------------
    @invariant()
    def counted(self) -> None:
        type(self).steps_done += 1

    @invariant()
    def every_span_has_ended(self) -> None:
        deadline = time.monotonic() + _WAIT_S
        while self._survey.open and time.monotonic() < deadline:
            time.sleep(0)  # a diagnosis in the background has a span, too
        assert dict(self._survey.open) == {}

    @invariant()
    def what_is_not_hooked_is_as_it_was(self) -> None:
        assert not INNER_TEAMS._inner, "no run goes on, so no team is a part of one"
        for member in self._members:
            if not member.is_hooked:
                left = {name for name in vars(member.team).keys() - member.attributes if _is_ours(member.team, name)}
                assert left == set()
        if not any(member.is_hooked or member.office is not None for member in self._members):
            self._nothing_is_left()

    # --- pieces ----------------------------------------------------------------------------------------------------
    def _add(self) -> None:
        team = self.kind.build()
        self._members.append(Member(team, set(vars(team))))

    def _pick(self, at: int) -> Member:
        return self._members[at % len(self._members)]

    def _await(self, work: Any) -> None:
        self._runner.run(work)

    def _unhook(self, member: Member) -> None:
        tracer_hooks.unhook(member.target)
        member.is_hooked = False
        if member.office is not None:
            tracer_hooks.unhook(member.office)
            member.office = None

    async def _called(self, member: Member) -> None:
        before, earlier = self.kind.calls(member.team), self._last(member)
        assert await self.kind.call(member.team) == ANSWER
        self._was_recorded(member, earlier, self.kind.calls(member.team) - before)

    def _was_recorded(self, member: Member, earlier: Any, calls: int) -> None:
        if not member.is_hooked:
            assert calls == 1
            return
        run = self._last(member)
        assert run is not None
        assert run is not earlier
        retries = member.retries if member.streams_again or not self.kind.calls_stream else 0
        assert calls == 1 + (0 if member.passes else retries), "attempts made"
        assert len(run.attempts) == calls, "attempts recorded are calls made"
        wanted = RunOutcome.SUCCEEDED if member.passes else RunOutcome.FAILED
        assert [attempt.outcome for attempt in run.attempts] == [wanted] * calls
        assert all(attempt.trajectory.steps for attempt in run.attempts)

    async def _office_called(self, member: Member) -> None:
        office = member.office
        assert await office("x") == ANSWER
        run = tracer_hooks.last_run(office)
        assert run is not None
        assert len(run.attempts) == 1
        # A team that is hooked itself has runs of its own; any other is a part of the function's run.
        assert bool(run.trajectory.steps) is not member.is_hooked

    async def _streamed(self, member: Member, items: int) -> None:
        roots = self._roots()
        stream = self.kind.stream(member.team)
        seen = 0
        async for _ in stream:
            seen += 1
            if seen > items:
                break
        await stream.aclose()  # type: ignore[attr-defined]
        await self._settled()
        member.is_usable = self.kind.runs_on
        self._is_consistent(member, self._roots() - roots)

    async def _cancelled(self, member: Member, point: int) -> None:
        roots = self._roots()
        cancelling = CancelledAt(point)

        async def whole() -> None:
            await cancelling.run(self.kind.call(member.team))

        task = asyncio.create_task(whole())
        await asyncio.wait([task])
        await self._settled()
        if cancelling.was_reached:
            member.is_usable = self.kind.runs_on
        else:
            assert task.exception() is None
        self._is_consistent(member, self._roots() - roots)

    def _is_consistent(self, member: Member, started: int) -> None:
        """Of the newest call: each attempt is a run that was started, and only the last one may be open to doubt."""
        if not member.is_hooked:
            assert started == 0
            return
        run = self._last(member)
        if started:
            assert run is not None
            assert len(run.attempts) == started
            _wait(run)
            numbers = [attempt.number for attempt in run.attempts]
            assert numbers == [*range(1, started + 1)]
            assert all(attempt.outcome is RunOutcome.FAILED for attempt in run.attempts[:-1])

    def _roots(self) -> int:
        return self._survey.started.count(semconv.OP_INVOKE_WORKFLOW)

    def _last(self, member: Member) -> Any:
        return tracer_hooks.last_run(member.target) if member.is_hooked else None

    async def _settled(self) -> None:
        """AutoGen's teams go on in tasks of their own after a cancellation, some of which then wait for ever."""
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            done, waiting = await asyncio.wait(others, timeout=_SETTLE_S)
            if not done:
                for task in waiting:
                    task.cancel()

    def _nothing_is_left(self) -> None:
        deadline = time.monotonic() + _WAIT_S
        while _team_host.FRAMEWORK_WATCHER._holders and time.monotonic() < deadline:
            gc.collect()  # a team that was forgotten while hooked; work in the background may hold it a moment longer
        assert _team_host.FRAMEWORK_WATCHER._holders == 0
        changed = [
            f"{owner.__name__}.{name}"
            for owner, before in self._classes.items()
            for name in before.keys() | vars(owner).keys()
            if vars(owner).get(name) is not before.get(name) and not name.startswith("__")
        ]
        assert changed == []


def machine_of(kind: Callable[[], Kind]) -> type[Lifecycle]:
    """The state machine over one kind of team."""
    return type(f"Lifecycle{kind.__name__}", (Lifecycle,), {"kind": kind(), "steps_done": 0})


def _is_ours(owner: Any, name: str) -> bool:
    value = vars(owner)[name]
    function = getattr(value, "__func__", value)
    return str(getattr(function, "__globals__", {}).get("__name__", "")).startswith("tracer_hooks")
