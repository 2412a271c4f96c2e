r"""Loop of a call's attempts: which are made, in which order, and what happens between them.

The one place that knows it. It does no input or output: it says what is to be done next (an :class:`Action`), a driver
does that in its own way (plain, awaited, streaming) and gives the answer. So the four ways of calling a team cannot
come to differ, and the order can be tested without any of them::

    opened -> judged -> closed -> (prepared -> opened -> judged -> closed)* -> finished
       \         \         \            \                                      /
        '---------'---------'------------'----- broken off, at any point -----'
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from types import TracebackType
from typing import Any, Self, TypeVar

from tracer_hooks._background import in_daemon_thread
from tracer_hooks._guard import guard, report
from tracer_hooks.frameworks.plain import PlainTeam
from tracer_hooks.repair import Repair
from tracer_hooks.runtime._call_context import CallContext, CallOutcome, OpenAttempt
from tracer_hooks.runtime._judging import JudgedRunOutcome, SafeCollector, judge_error, read_result
from tracer_hooks.runtime._team_run import Attempt
from tracer_hooks.schema import RunOutcome
from tracer_hooks.telemetry import AsyncSteps, drive


@dataclass(frozen=True, kw_only=True)
class RetryBoundary:
    """Stands in a stream between a failed attempt and the next one (``retry_streams=True``)."""

    attempt: int
    """The attempt that begins."""
    reason: str | None
    """Why the last one failed."""
    repair: Repair | None
    """What it changes."""

    @classmethod
    def after(cls, attempt: Attempt, repair: Repair | None) -> RetryBoundary:
        """The boundary behind a failed attempt, before one with ``repair``."""
        return cls(attempt=attempt.number + 1, reason=attempt.outcome_reason, repair=repair)


E = TypeVar("E", bound=BaseException)
_OURS = (
    "tracer_hooks.runtime.",
    "tracer_hooks.rerun.",
    "tracer_hooks.improvement.",
    "tracer_hooks.frameworks.",
    "tracer_hooks.telemetry.",
    "tracer_hooks_",
)
"""Modules that stand between the caller, the team, and what the team calls."""
_NOT_OURS = ".teams."
"""Part of the names of modules with teams that an adapter brings; their frames are a team's."""


def without_own_frames(error: E) -> E:
    """``error``, and what it was raised from, without the frames of our wrappers; where it was raised always stays.

    The frames by which it reaches the caller are added when it is raised again. A user looks for a fault of the team,
    and our wrappers only hand calls on.
    """
    seen: set[int] = set()
    chain: BaseException | None = error
    while chain is not None and id(chain) not in seen:
        seen.add(id(chain))
        chain.__traceback__ = _thinned(chain.__traceback__)
        chain = chain.__cause__ or chain.__context__
    return error


def _thinned(trace: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    while trace is not None:
        if trace.tb_next is None or not _is_ours(trace):
            kept.append(trace)
        trace = trace.tb_next
    for entry, following in pairwise(kept):
        entry.tb_next = following
    return kept[0] if kept else None


def _is_ours(trace: TracebackType) -> bool:
    name = str(trace.tb_frame.f_globals.get("__name__", ""))
    return name.startswith(_OURS) and _NOT_OURS not in name


@dataclass(frozen=True, kw_only=True)
class CallWork:
    """One piece of work beside the team's own call; an exception that leaves it breaks the call off."""

    what: str
    """In words."""
    now: Callable[[], Any]
    """Does it in synchronous code."""
    later: Callable[[], Awaitable[Any]]
    """Does it in asynchronous code."""
    boundary: RetryBoundary | None = None
    """What the caller of a stream is handed first."""


@dataclass(frozen=True)
class ContinuedCall:
    """The call of a plain function gave an awaitable or a generator: the run goes on in that."""

    value: Any


@dataclass
class CallTeam:
    """Make the call on the team; the answer is an :class:`CallOutcome`."""

    context: CallContext
    opened: OpenAttempt
    begun: Any = None
    """What the call has given already, where it goes on in that."""

    def now(self) -> CallOutcome | ContinuedCall:
        """The whole call."""
        try:
            with self.opened.run.active():
                value = self._source()
        except Exception as error:
            return failed(error)
        goes_on = inspect.isawaitable(value) or inspect.isgenerator(value) or inspect.isasyncgen(value)
        if isinstance(self.context.call.team, PlainTeam) and goes_on:
            return ContinuedCall(value)
        return self._ended(value)

    async def later(self) -> CallOutcome:
        """The whole call, awaited."""
        try:
            with self.opened.run.active():
                value = await self._source()
        except Exception as error:
            return failed(error)
        return self._ended(value)

    def items(self) -> Generator[Any, Any, CallOutcome]:
        """The call's items; what is sent or thrown in goes on to the team's generator."""
        collector = self.collector()
        try:
            with self.opened.run.active():
                source = self._source()
            returned = yield from drive(source, self.opened.run, on_item=collector.see, fails=False)
        except Exception as error:
            return failed(error)
        return CallOutcome(returned, read_result(collector.result, collector.last))

    def steps(self, collector: SafeCollector) -> AsyncSteps[Any]:
        """The call's items, one by one, in asynchronous code; ``collector`` sees them."""
        run = self.opened.run
        with run.active():
            source: AsyncIterator[Any] = self._source()
        return AsyncSteps(source, run, collector.see)

    def collector(self) -> SafeCollector:
        """Return the collector that looks at a stream's items as they pass."""
        return SafeCollector(self.context.adapter, self.context.call)

    def _source(self) -> Any:
        begun, self.begun = self.begun, None
        return begun if begun is not None else self.context.call.on(self.opened.prepared.team)

    def _ended(self, value: Any) -> CallOutcome:
        call, adapter = self.context.call, self.context.adapter
        return CallOutcome(value, read_result(lambda: adapter.result(call, value), value))


Action = CallWork | CallTeam


def failed(error: Exception) -> CallOutcome:
    """The end of a call that raised."""
    return CallOutcome(error=without_own_frames(error))


Actions = Generator[Action, Any, Any]
_NOT_FOLLOWED = JudgedRunOutcome(outcome=RunOutcome.UNKNOWN, reason="tracer-hooks could not follow it")


class Stage(StrEnum):
    """Stages of a call."""

    OPENED = "opened"
    """An attempt goes on."""
    JUDGED = "judged"
    """The attempt gave a result, and it is known what that is worth."""
    CLOSED = "closed"
    """The attempt is over and recorded."""
    PREPARED = "prepared"
    """It was diagnosed, and the next attempt knows what to try."""
    FINISHED = "finished"
    """Nothing more happens."""


class AttemptLoop:
    """The state machine of one call.

    Only what the team itself raised can fail an attempt, and an attempt is closed once: what breaks the loop off
    finds it either inside an attempt, which is then closed as broken off, or between two, with nothing left to close.

    Args:
        context: What is done for the call.
        opened: The first attempt.
        retries: Whether a failed attempt may be followed by another one; not in a stream that the caller must not see
            twice.
        streams: Whether the call gives its result item by item.

    Attributes:
        stage: How far it has come.
    """

    def __init__(
        self, context: CallContext, opened: OpenAttempt, *, retries: bool = True, streams: bool = False
    ) -> None:
        self.stage = Stage.OPENED
        self.context = context
        self._retries = retries
        self._streams = streams
        self._open: OpenAttempt | None = opened
        self._ended = CallOutcome()
        self._actions = self._attempts(opened)

    # --- for the drivers -------------------------------------------------------------------------------------------
    def start(self) -> Action | None:
        """The first action."""
        return self.answer(None)

    def answer(self, answer: Any) -> Action | None:
        """Tell what came of the last action; gives the next one, or None at the end."""
        try:
            return self._actions.send(answer)
        except StopIteration:
            self.stage = Stage.FINISHED
        except Exception as error:  # ours: what the team gave is delivered all the same
            self._end(_NOT_FOLLOWED, self._ended)
            report("conduct the call", error)
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.break_off(error)

    def break_off(self, error: BaseException) -> None:
        """End the loop where it stands, since the caller was cancelled or let go; at its end nothing happens."""
        self._end(judge_error(error), CallOutcome(error=error))

    def becomes_stream(self) -> AttemptLoop:
        """The call turns out to give its result item by item; gives the loop."""
        self._streams, self._retries = True, self.context.options.retry_streams
        return self

    @property
    def error(self) -> BaseException | None:
        """Exception that the caller is to get: the best attempt's, of a stream the last one's."""
        attempts = self.context.run.attempts
        if not attempts:
            return self._ended.error
        return (attempts[-1] if self._streams else self.context.run.best).error

    @property
    def value(self) -> Any:
        """Value for the caller: the best attempt's native result, of a stream what the generator returned."""
        if self._streams or not self.context.run.attempts:
            return self._ended.value
        return self.context.run.native

    # --- the loop ------------------------------------------------------------------------------------------------
    def _attempts(self, opened: OpenAttempt) -> Actions:
        context = self.context
        attempt = yield from self._attempt(opened)
        while attempt is not None and self._retries and context.wants_retry(attempt):
            prepare = functools.partial(context.prepare_retry, attempt)  # work of seconds: off the event loop
            prepare_later = functools.partial(in_daemon_thread, prepare, "tracer-hooks-retry")
            is_prepared: bool = yield CallWork(what="prepare a retry", now=prepare, later=prepare_later)
            if not is_prepared:
                break
            self.stage = Stage.PREPARED
            seconds = context.recovery.wait_s
            if seconds > 0:  # the environment failed and may come back
                ways = functools.partial(time.sleep, seconds), functools.partial(asyncio.sleep, seconds)
                yield CallWork(what="wait", now=ways[0], later=ways[1])
            reopened: OpenAttempt | None = yield CallWork(
                what="reopen",
                now=functools.partial(context.reopen, opened),
                later=functools.partial(context.reopen_async, opened),
                boundary=RetryBoundary.after(attempt, context.recovery.repair) if self._streams else None,
            )
            if reopened is None:
                break
            opened = reopened
            attempt = yield from self._attempt(opened)
        if attempt is not None:
            if not self._retries:
                context.leave_failed(attempt)
            yield CallWork(what="conclude", now=context.conclude_now, later=context.conclude_later)

    def _attempt(self, opened: OpenAttempt) -> Generator[Action, Any, Attempt | None]:
        """One attempt; None when it turned out to be no run."""
        context, self.stage, self._open = self.context, Stage.OPENED, opened
        ended: CallOutcome = yield CallTeam(context, opened)
        self._ended, judged = ended, _NOT_FOLLOWED
        if ended.error is not None:
            judged = judge_error(ended.error)
        elif ended.result is not None and context.is_run(opened, ended):
            ruling = yield CallWork(
                what="ask the check",
                now=functools.partial(context.ask, opened, ended.result),
                later=functools.partial(context.ask_async, opened, ended.result),
            )
            judged = context.judge(ended.result, ruling)
        self.stage, self._open = Stage.JUDGED, None
        attempt = context.close(opened, judged, ended)
        self.stage = Stage.CLOSED
        return attempt

    def _end(self, judged: JudgedRunOutcome, ended: CallOutcome) -> None:
        """End before the end; an attempt that goes on is closed like this."""
        if self.stage is Stage.FINISHED or sys.is_finalizing():  # nothing can be imported or stored any more
            return
        self.stage = Stage.FINISHED
        opened, self._open = self._open, None
        try:
            with guard("end the call"):
                self._actions.close()
                if opened is not None:
                    self.context.close(opened, judged, ended)
        finally:
            if opened is not None:
                opened.run.finish()  # nothing to do but after a fault of ours
            self.context.recovery.break_off(self.context.run)
            self.context.finish_off_the_loop()
