"""What a call's course asks a driver to do, each in the two ways it can be done: at once, and awaited."""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
from collections.abc import AsyncIterator, Generator
from dataclasses import dataclass
from typing import Any, Protocol

from tracer_hooks._api.conducting._boundary import RetryBoundary
from tracer_hooks._api.conducting._own_frames import without_own_frames
from tracer_hooks._api.conducting._session import Ended, Opened, Session
from tracer_hooks._api.judging import Ruling, SafeCollector, Undecided, read_result
from tracer_hooks._api.runs import Attempt
from tracer_hooks._background import in_daemon_thread
from tracer_hooks._guard import guard
from tracer_hooks.frameworks import RunResult
from tracer_hooks.frameworks.plain import PlainTeam
from tracer_hooks.schema import RunOutcome
from tracer_hooks.telemetry import AsyncSteps, drive

_UNASKED = Undecided("the check could not be asked")


class Act(Protocol):
    """One thing to do. An exception that leaves it breaks the call off; only :class:`CallTeam` meets the team's own."""

    def now(self) -> Any:
        """Do it in synchronous code."""

    async def later(self) -> Any:
        """Do it in asynchronous code."""


@dataclass(frozen=True)
class GoesOn:
    """The call of a plain function gave an awaitable or a generator: the run goes on in that."""

    value: Any


@dataclass
class CallTeam:
    """Make the call on the team; the answer is an :class:`Ended`."""

    session: Session
    opened: Opened
    begun: Any = None
    """What the call has given already, where it goes on in that."""

    def now(self) -> Ended | GoesOn:
        """The whole call."""
        try:
            with self.opened.run.active():
                value = self._source()
        except Exception as error:
            return _failed(error)
        if isinstance(self.session.call.team, PlainTeam) and _goes_on(value):
            return GoesOn(value)
        return self._ended(value)

    async def later(self) -> Ended:
        """The whole call, awaited."""
        try:
            with self.opened.run.active():
                value = await self._source()
        except Exception as error:
            return _failed(error)
        return self._ended(value)

    def items(self) -> Generator[Any, Any, Ended]:
        """The call's items; what is sent or thrown in goes on to the team's generator."""
        collector = self.collector()
        try:
            with self.opened.run.active():
                source = self._source()
            returned = yield from drive(source, self.opened.run, on_item=collector.see, fails=False)
        except Exception as error:
            return _failed(error)
        return Ended(returned, read_result(collector.result, collector.last))

    def aitems(self) -> AsyncItems:
        """The call's items, one by one."""
        return AsyncItems(self)

    def collector(self) -> SafeCollector:
        """What looks at a stream's items as they pass."""
        return SafeCollector(self.session.adapter, self.session.call)

    def _source(self) -> Any:
        begun, self.begun = self.begun, None
        return begun if begun is not None else self.session.call.on(self.opened.prepared.team)

    def _ended(self, value: Any) -> Ended:
        call, adapter = self.session.call, self.session.adapter
        return Ended(value, read_result(lambda: adapter.result(call, value), value))


class AsyncItems:
    """The items of an asynchronous stream.

    It is an iterator but no generator, for the reason given in :class:`~tracer_hooks.telemetry.AsyncSteps`.

    Attributes:
        ended: How the stream ended; None until it has.
    """

    def __init__(self, act: CallTeam) -> None:
        self.ended: Ended | None = None
        self._act = act
        self._collector = act.collector()
        self._steps: AsyncSteps[Any] | None = None

    def __aiter__(self) -> AsyncItems:
        return self

    async def __anext__(self) -> Any:
        try:
            return await anext(self._opened())
        except StopAsyncIteration:
            self.ended = Ended(None, read_result(self._collector.result, self._collector.last))
            raise
        except Exception as error:
            self.ended = _failed(error)
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Close the team's generator."""
        if self._steps is not None:
            await self._steps.aclose()

    def _opened(self) -> AsyncSteps[Any]:
        if self._steps is None:
            run = self._act.opened.run
            with run.active():
                source: AsyncIterator[Any] = self._act._source()
            self._steps = AsyncSteps(source, run, self._collector.see)
        return self._steps


@dataclass
class AskCheck:
    """Ask whether the run did what it should; the answer is a ruling, or None where nothing says so."""

    session: Session
    opened: Opened
    result: RunResult

    def now(self) -> Ruling | None:
        """Ask at once."""
        with guard("ask the check"):
            return self.session.ask(self.opened, self.result)
        return _UNASKED

    async def later(self) -> Ruling | None:
        """Ask, and await an asynchronous check."""
        with guard("ask the check"):
            return await self.session.ask_async(self.opened, self.result)
        return _UNASKED


@dataclass
class PrepareRetry:
    """Diagnose a failed attempt and choose what its retry tries; the answer is whether there is to be one."""

    session: Session
    attempt: Attempt

    def now(self) -> bool:
        """In the caller's thread."""
        return self.session.prepare_retry(self.attempt)

    async def later(self) -> bool:
        """In another thread: it is work of seconds."""
        prepare = functools.partial(self.session.prepare_retry, self.attempt)
        return await in_daemon_thread(prepare, "tracer-hooks-retry")


@dataclass
class Wait:
    """Wait, since the environment failed and may come back."""

    seconds: float

    def now(self) -> None:
        """In the caller's thread."""
        time.sleep(self.seconds)

    async def later(self) -> None:
        """While the event loop goes on."""
        await asyncio.sleep(self.seconds)


@dataclass
class Announce:
    """Hand a boundary to the caller, who sees a stream; there is nothing else to do."""

    boundary: RetryBoundary

    def now(self) -> None:
        """Nothing."""

    async def later(self) -> None:
        """Nothing."""


@dataclass
class Reopen:
    """Begin the next attempt; the answer is that attempt, or None when there cannot be one."""

    session: Session
    before: Opened

    def now(self) -> Opened | None:
        """Make the team ready at once."""
        return self.session.reopen(self.before)

    async def later(self) -> Opened | None:
        """Await the user's factory in the caller's event loop."""
        return await self.session.reopen_async(self.before)


@dataclass
class Conclude:
    """Diagnose and store a call whose attempts are over, now or in the background."""

    session: Session

    def now(self) -> None:
        """Before the call returns, unless the background was asked for."""
        if self._is_quick() or self.session.options.diagnose != "background":
            self.session.conclude()
        else:
            self._later()

    async def later(self) -> None:
        """In the background, unless the call is to wait for it: saving the run, too, is kept off the event loop."""
        if self._is_quick():
            self.session.finish()
        elif self.session.options.diagnose == "inline":
            await in_daemon_thread(self.session.conclude, "tracer-hooks-diagnose")
        else:
            self._later()

    def _later(self) -> None:
        self.session.later(self.session.conclude, diagnoses=self.session.run.last.outcome is RunOutcome.FAILED)

    def _is_quick(self) -> bool:
        """Whether there is nothing to diagnose or to save: no need to wake another thread."""
        return not self.session.leaves_work


def _failed(error: Exception) -> Ended:
    return Ended(error=without_own_frames(error))


def _goes_on(value: Any) -> bool:
    return inspect.isawaitable(value) or inspect.isgenerator(value) or inspect.isasyncgen(value)
