"""The host of a hooked team's runs: makes the call, has it judged and diagnosed, and retries it."""

from __future__ import annotations

import asyncio
import inspect
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

from tracer_hooks._api._async_conduct import AsyncConduct
from tracer_hooks._api._background import submit
from tracer_hooks._api._latest import LatestRuns
from tracer_hooks._api._options import HookOptions
from tracer_hooks._api._reading import SafeCollector, read_result
from tracer_hooks._api._session import Opened, Session
from tracer_hooks._api._source import TeamSource
from tracer_hooks._api._team_run import Attempt, TeamRun
from tracer_hooks._api._watching import WATCHTOWER
from tracer_hooks._guard import guard
from tracer_hooks.adapters import Adapter, PatchSet, TeamCall
from tracer_hooks.feedback import PromptRewrite
from tracer_hooks.schema import RunOutcome
from tracer_hooks.telemetry import drive, unrecorded


@dataclass(frozen=True, kw_only=True)
class RetryBoundary:
    """Stands in a stream between a failed attempt and the next one (``retry_streams=True``)."""

    attempt: int
    """The attempt that begins."""
    reason: str | None
    """Why the last one failed."""
    rewrite: PromptRewrite | None
    """What was changed."""


class NotARun(BaseException):
    """Leaves a call that turned out not to be a run; not an Exception, so that no handler of the user's takes it."""


class Conductor:
    """Conducts the runs of one team.

    Args:
        adapter: The framework's adapter.
        source: Where teams come from.
        options: How to judge, diagnose and repair.

    Attributes:
        is_off: Whether the team was unhooked; its calls are then made without us.
    """

    def __init__(self, adapter: Adapter, source: TeamSource, options: HookOptions) -> None:
        self.adapter = adapter
        self.options = options
        self.patches = PatchSet()
        self.is_off = False
        self.latest = LatestRuns()
        self._source = source
        self.watching = WATCHTOWER.hold(self)
        self.kept_by: weakref.finalize[Any, Any] | None = None
        self.team: weakref.ref[Any] | None = None

    def conducts(self, team: object) -> bool:
        """Whether ``team`` is the team object that was hooked."""
        return self.team is None or self.team() is team

    @property
    def last_run(self) -> TeamRun | None:
        """The newest run of the calling task or thread, else the newest run."""
        return self.latest.newest

    # --- RunHost ---------------------------------------------------------------------------------------------------
    def call(self, call: TeamCall) -> Any:
        begun = self._begin(call)
        if begun is None:
            with unrecorded():
                return call.on(call.team)
        session, opened = begun
        with session:
            attempt = self._attempt(session, opened)
            while isinstance(attempt, Attempt) and session.wants_retry(attempt):
                session.diagnose(attempt)
                session.propose(attempt)
                reopened = session.reopen(attempt, opened)
                if reopened is None:
                    break
                opened = reopened
                attempt = self._attempt(session, opened)
            if not isinstance(attempt, Attempt):
                return self._goes_on_later(session, opened, attempt)
            self.after(session, attempt, is_async=False)
        return _deliver(session.run)

    async def acall(self, call: TeamCall) -> Any:
        begun = self._begin(call)
        if begun is None:
            with unrecorded():
                return await call.on(call.team)
        return await self._conduct_async(*begun)

    def stream(self, call: TeamCall) -> Generator[Any, Any, Any]:
        begun = self._begin(call)
        if begun is None:
            with unrecorded():
                source = call.on(call.team)
            return (yield from source)
        return (yield from self._conduct_stream(*begun))

    async def astream(self, call: TeamCall) -> AsyncIterator[Any]:
        begun = self._begin(call)
        if begun is None:
            with unrecorded():
                source = call.on(call.team)
            try:
                async for item in source:
                    yield item
            finally:
                await source.aclose()
            return
        conducted = AsyncConduct(self, *begun)
        try:
            async for item in conducted:
                yield item
        except BaseException as error:
            await conducted.break_off(error)
            raise

    # --- a whole call ----------------------------------------------------------------------------------------------
    def _goes_on_later(self, session: Session, opened: Opened, native: Any) -> Any:
        """A plain function gave an awaitable or a generator: the run goes on in it."""
        if inspect.isgenerator(native):
            return self._conduct_stream(session, opened, native)
        if inspect.isasyncgen(native):
            return self._goes_on_in(AsyncConduct(self, session, opened, native))
        return self._conduct_async(session, opened, native)

    async def _conduct_async(self, session: Session, opened: Opened, first: Awaitable[Any] | None = None) -> Any:
        with session:
            attempt = await self._attempt_async(session, opened, first)
            while session.wants_retry(attempt):
                await asyncio.to_thread(session.diagnose, attempt)
                await asyncio.to_thread(session.propose, attempt)
                reopened = await session.reopen_async(attempt, opened)
                if reopened is None:
                    break
                opened = reopened
                attempt = await self._attempt_async(session, opened)
            self.after(session, attempt, is_async=True)
        return _deliver(session.run)

    def _conduct_stream(
        self, session: Session, opened: Opened, first: Iterator[Any] | None = None
    ) -> Generator[Any, Any, Any]:
        with session:
            attempt = yield from self._stream_attempt(session, opened, first)
            while self.options.retry_streams and session.wants_retry(attempt):
                session.diagnose(attempt)
                session.propose(attempt)
                yield self.boundary(attempt)
                reopened = session.reopen(attempt, opened)
                if reopened is None:
                    break
                opened = reopened
                attempt = yield from self._stream_attempt(session, opened)
            self.after(session, attempt, is_async=False, is_stream=True)
        if attempt.error is not None:
            raise attempt.error
        return session.returned

    async def _goes_on_in(self, conducted: AsyncConduct) -> AsyncGenerator[Any, None]:
        try:
            async for item in conducted:
                yield item
        except BaseException as error:
            await conducted.break_off(error)
            raise

    # --- one attempt -----------------------------------------------------------------------------------------------
    def _attempt(self, session: Session, opened: Opened) -> Attempt | Any:
        """The attempt; or what a plain function gave, if that is where the run goes on."""
        try:
            with opened.run.active():
                native = session.call.on(opened.prepared.team)
            if self.adapter.name == "python" and _is_later(native):
                return native
            result = read_result(lambda: self.adapter.result(session.call, native), native)
            judged = session.judge(opened, result)
        except Exception as error:
            return session.failed(opened, error)
        except BaseException as error:
            self.broken_off(session, opened, error)
            raise
        return session.close(opened, judged, result=result)

    async def _attempt_async(self, session: Session, opened: Opened, first: Awaitable[Any] | None = None) -> Attempt:
        try:
            with opened.run.active():
                native = await (first if first is not None else session.call.on(opened.prepared.team))
            result = read_result(lambda: self.adapter.result(session.call, native), native)
            judged = await session.judge_async(opened, result)
        except Exception as error:
            return session.failed(opened, error)
        except BaseException as error:
            self.broken_off(session, opened, error)
            raise
        return session.close(opened, judged, result=result)

    def _stream_attempt(
        self, session: Session, opened: Opened, first: Iterator[Any] | None = None
    ) -> Generator[Any, Any, Attempt]:
        collector = SafeCollector(self.adapter, session.call)
        try:
            with opened.run.active():
                source = first if first is not None else session.call.on(opened.prepared.team)
            session.returned = yield from drive(source, opened.run, on_item=collector.see, fails=False)
            result = read_result(collector.result, collector.last)
            judged = session.judge(opened, result)
        except Exception as error:
            return session.failed(opened, error)
        except BaseException as error:
            self.broken_off(session, opened, error)
            raise
        return session.close(opened, judged, result=result)

    def broken_off(self, session: Session, opened: Opened, error: BaseException) -> None:
        """Record a run that was cancelled or broken off; it is not diagnosed."""
        if isinstance(error, NotARun):
            session.discard(opened)
            self.latest.remove(session.run)
        else:
            session.failed(opened, error)

    @staticmethod
    def boundary(attempt: Attempt) -> RetryBoundary:
        """What stands in a stream between ``attempt`` and the next one."""
        return RetryBoundary(
            attempt=attempt.number + 1, reason=attempt.trajectory.outcome_reason, rewrite=attempt.rewrite
        )

    # --- around the attempts ---------------------------------------------------------------------------------------
    def _begin(self, call: TeamCall) -> tuple[Session, Opened] | None:
        """Open the first attempt; None when we cannot, and the call has to be made without us."""
        if self.is_off:
            return None
        with guard("open the run"):
            WATCHTOWER.refresh()
            session = Session(call, self.adapter, self._source, self.options, self)
            opened = session.open()
            self.latest.add(session.run)
            return session, opened
        return None

    def after(self, session: Session, attempt: Attempt, *, is_async: bool, is_stream: bool = False) -> None:
        """Diagnose and store a call whose attempts are over, now or in the background."""

        def work() -> None:
            try:
                with guard("diagnose the run"):
                    session.diagnose(attempt)
                    if is_stream and not self.options.retry_streams:
                        session.propose_for_next_run(attempt)
            finally:
                session.finish()

        if attempt.outcome is not RunOutcome.FAILED and self.options.config.store is None:
            return session.finish()  # nothing to diagnose or to save: no need to wake another thread
        mode = self.options.diagnose
        if mode == "background" or (is_async and mode != "inline"):
            submit(work)  # saving the run, too, is kept off the event loop
        else:
            work()


def _is_later(native: Any) -> bool:
    return inspect.isawaitable(native) or inspect.isgenerator(native) or inspect.isasyncgen(native)


def _deliver(run: TeamRun) -> Any:
    """The native result of the best attempt, or its exception."""
    best = run.best
    if best.error is not None:
        raise best.error
    return best.result.native if best.result is not None else None
