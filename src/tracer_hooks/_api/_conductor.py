"""The host of a hooked team's runs: makes the call, has it judged and diagnosed, and retries it."""

from __future__ import annotations

import asyncio
import contextvars
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tracer_hooks._api._background import submit
from tracer_hooks._api._options import HookOptions
from tracer_hooks._api._outcome import judge_error
from tracer_hooks._api._session import Opened, Session
from tracer_hooks._api._source import TeamSource
from tracer_hooks._api._team_run import Attempt, TeamRun
from tracer_hooks._api._watching import WATCHTOWER
from tracer_hooks._guard import guard
from tracer_hooks.adapters import Adapter, PatchSet, RunResult, StreamCollector, TeamCall
from tracer_hooks.feedback import PromptRewrite
from tracer_hooks.schema import RunOutcome
from tracer_hooks.telemetry import drive, drive_async, suppressed


@dataclass(frozen=True, kw_only=True)
class RetryBoundary:
    """Stands in a stream between a failed attempt and the next one (``retry_streams=True``)."""

    attempt: int
    """The attempt that begins."""
    reason: str | None
    """Why the last one failed."""
    rewrite: PromptRewrite | None
    """What was changed."""


_MINE: contextvars.ContextVar[Mapping[Conductor, TeamRun]] = contextvars.ContextVar("tracer_hooks_runs")
"""The newest run of each team in this task or thread. One variable for all teams: contexts never let go of one."""


class Conductor:
    """Conducts the runs of one team.

    Args:
        adapter: The framework's adapter.
        source: Where teams come from.
        options: How to judge, diagnose and repair.
    """

    def __init__(self, adapter: Adapter, source: TeamSource, options: HookOptions) -> None:
        self.adapter = adapter
        self.options = options
        self.patches = PatchSet()
        self._source = source
        self._pending: PromptRewrite | None = None
        self._newest: TeamRun | None = None
        WATCHTOWER.hold(self)

    @property
    def last_run(self) -> TeamRun | None:
        """The newest run of the calling task or thread, else the newest run."""
        return _MINE.get({}).get(self) or self._newest

    # --- RunHost ---------------------------------------------------------------------------------------------------
    def call(self, call: TeamCall) -> Any:
        begun = self._begin(call)
        if begun is None:
            with suppressed():
                return call.on(call.team)
        session, opened = begun
        while True:
            attempt = self._attempt(session, opened)
            session.settle(attempt)
            if not session.wants_retry(attempt):
                break
            session.diagnose(attempt)
            session.propose(attempt)
            reopened = session.reopen(attempt, opened)
            if reopened is None:
                break
            opened = reopened
        self._after(session, attempt, in_background=self._in_background(False))
        return _deliver(session.run)

    async def acall(self, call: TeamCall) -> Any:
        begun = self._begin(call)
        if begun is None:
            with suppressed():
                return await call.on(call.team)
        session, opened = begun
        while True:
            attempt = await self._attempt_async(session, opened)
            session.settle(attempt)
            if not session.wants_retry(attempt):
                break
            await asyncio.to_thread(session.diagnose, attempt)
            await asyncio.to_thread(session.propose, attempt)
            reopened = await session.reopen_async(attempt, opened)
            if reopened is None:
                break
            opened = reopened
        self._after(session, attempt, in_background=self._in_background(True))
        return _deliver(session.run)

    def stream(self, call: TeamCall) -> Iterator[Any]:
        begun = self._begin(call)
        if begun is None:
            with suppressed():
                source = call.on(call.team)
            yield from source
            return
        session, opened = begun
        while True:
            attempt = yield from self._stream_attempt(session, opened)
            session.settle(attempt)
            if not self._goes_on(session, attempt):
                break
            session.diagnose(attempt)
            session.propose(attempt)
            reopened = session.reopen(attempt, opened)
            if reopened is None:
                break
            opened = reopened
            yield self._boundary(attempt)
        self._after(session, attempt, in_background=self._in_background(False))
        if attempt.error is not None:
            raise attempt.error

    async def astream(self, call: TeamCall) -> AsyncIterator[Any]:
        begun = self._begin(call)
        if begun is None:
            with suppressed():
                source = call.on(call.team)
            async for item in source:
                yield item
            return
        session, opened = begun
        while True:
            items = self._astream_attempt(session, opened)
            try:
                async for item in items:
                    yield item
            finally:
                await items.aclose()
            attempt = session.run.last
            session.settle(attempt)
            if not self._goes_on(session, attempt):
                break
            await asyncio.to_thread(session.diagnose, attempt)
            await asyncio.to_thread(session.propose, attempt)
            reopened = await session.reopen_async(attempt, opened)
            if reopened is None:
                break
            opened = reopened
            yield self._boundary(attempt)
        self._after(session, attempt, in_background=self._in_background(True))
        if attempt.error is not None:
            raise attempt.error

    # --- one attempt -----------------------------------------------------------------------------------------------
    def _attempt(self, session: Session, opened: Opened) -> Attempt:
        call = session.call
        try:
            with opened.run.active():
                native = call.on(opened.prepared.team)
        except Exception as error:
            return session.failed_call(opened, error)
        except BaseException as error:
            self._broken_off(session, opened, error)
            raise
        result = self._result(lambda: self.adapter.result(call, native), native)
        return session.close(opened, session.judge(opened, result), result=result)

    async def _attempt_async(self, session: Session, opened: Opened) -> Attempt:
        call = session.call
        try:
            with opened.run.active():
                native = await call.on(opened.prepared.team)
        except Exception as error:
            return session.failed_call(opened, error)
        except BaseException as error:
            self._broken_off(session, opened, error)
            raise
        result = self._result(lambda: self.adapter.result(call, native), native)
        return session.close(opened, await session.judge_async(opened, result), result=result)

    def _stream_attempt(self, session: Session, opened: Opened) -> Generator[Any, None, Attempt]:
        collector = SafeCollector(self.adapter, session.call)
        try:
            with opened.run.active():
                source = session.call.on(opened.prepared.team)
            yield from drive(source, opened.run, on_item=collector.see, fails=False)
        except Exception as error:
            return session.failed_call(opened, error)
        except BaseException as error:
            self._broken_off(session, opened, error)
            raise
        result = self._result(collector.result, collector.last)
        return session.close(opened, session.judge(opened, result), result=result)

    async def _astream_attempt(self, session: Session, opened: Opened) -> AsyncGenerator[Any, None]:
        collector = SafeCollector(self.adapter, session.call)
        items = None
        try:
            with opened.run.active():
                source = session.call.on(opened.prepared.team)
            items = drive_async(source, opened.run, on_item=collector.see, fails=False)
            async for item in items:
                yield item
        except Exception as error:
            session.failed_call(opened, error)
            return
        except BaseException as error:
            if items is not None:
                await items.aclose()
            self._broken_off(session, opened, error)
            raise
        result = self._result(collector.result, collector.last)
        session.close(opened, await session.judge_async(opened, result), result=result)

    def _result(self, read: Callable[[], RunResult], native: Any) -> RunResult:
        with guard("read the result"):
            return read()
        return RunResult(text="", native=native)

    def _broken_off(self, session: Session, opened: Opened, error: BaseException) -> None:
        """Record a run that was cancelled or broken off; it is not diagnosed."""
        if not isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError)):
            opened.run.discard()  # a private signal of ours: there was no run
            return
        with guard("record a run that was broken off"):
            session.close(opened, judge_error(error), error=error)
            session.finish()

    # --- around the attempts ---------------------------------------------------------------------------------------
    def _begin(self, call: TeamCall) -> tuple[Session, Opened] | None:
        """Open the first attempt; None when we cannot, and the call has to be made without us."""
        with guard("open the run"):
            WATCHTOWER.refresh()
            session = Session(call, self.adapter, self._source, self.options, self)
            opened = session.open(self._take_pending())
            self._newest = session.run
            _MINE.set(weakref.WeakKeyDictionary({**_MINE.get({}), self: session.run}))
            return session, opened
        return None

    def _take_pending(self) -> PromptRewrite | None:
        pending, self._pending = self._pending, None
        return pending

    def _goes_on(self, session: Session, attempt: Attempt) -> bool:
        if self.options.retry_streams:
            return session.wants_retry(attempt)
        if self.options.policy.max_retries and attempt.outcome is RunOutcome.FAILED:
            # A stream is never replayed behind the caller's back: the rewrite is tried in the next run.
            session.diagnose(attempt)
            self._pending = session.propose(attempt)
            attempt.decision = attempt.decision or "tried in the next run"
        return False

    def _boundary(self, attempt: Attempt) -> RetryBoundary:
        return RetryBoundary(
            attempt=attempt.number + 1, reason=attempt.trajectory.outcome_reason, rewrite=attempt.rewrite
        )

    def _in_background(self, is_async: bool) -> bool:
        mode = self.options.diagnose
        return mode == "background" or (mode in ("auto", True) and is_async)

    def _after(self, session: Session, attempt: Attempt, *, in_background: bool) -> None:
        def work() -> None:
            with guard("finish the run"):
                if attempt.attribution is None:
                    session.diagnose(attempt)
            session.finish()

        if in_background:
            submit(work)
        else:
            work()


class SafeCollector:
    """An adapter's collector; a failure in it is ours, and leaves the stream as it is."""

    def __init__(self, adapter: Adapter, call: TeamCall) -> None:
        self.last: Any = None
        self._collector: StreamCollector | None = None
        with guard("look at a stream"):
            self._collector = adapter.collector(call)

    def see(self, item: Any) -> None:
        """Look at one item."""
        self.last = item
        if self._collector is not None:
            self._collector.see(item)

    def result(self) -> RunResult:
        """What came out."""
        return self._collector.result() if self._collector is not None else RunResult(text="", native=self.last)


def _deliver(run: TeamRun) -> Any:
    """The native result of the best attempt, or its exception."""
    best = run.best
    if best.error is not None:
        raise best.error
    return best.result.native if best.result is not None else None
