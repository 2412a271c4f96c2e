"""One asynchronous stream, conducted step by step: its attempts, its judgement, its end however it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from tracer_hooks._api._reading import SafeCollector, read_result
from tracer_hooks._api._session import Opened, Session
from tracer_hooks.telemetry import AsyncSteps

if TYPE_CHECKING:
    from tracer_hooks._api._conductor import Conductor


class AsyncConduct:
    """Iterates over what a stream yields, and does at its end what has to be done.

    It is an iterator but no generator, for the reason given in :class:`~tracer_hooks.telemetry.AsyncSteps`.

    Args:
        conductor: Whose call it is.
        session: The call.
        opened: Its first attempt.
        first: The generator of the first attempt, when the call has been made already.
    """

    def __init__(
        self, conductor: Conductor, session: Session, opened: Opened, first: AsyncIterator[Any] | None = None
    ) -> None:
        self._conductor = conductor
        self._session = session
        self._opened = opened
        self._first = first
        self._collector = SafeCollector(conductor.adapter, session.call)
        self._steps: AsyncSteps[Any] | None = None
        self._waits_for_retry = False
        self._is_over = False

    def __aiter__(self) -> AsyncConduct:
        return self

    async def __anext__(self) -> Any:
        if self._waits_for_retry and not await self._reopened():
            return await self._stop()
        try:
            try:
                return await self._next_item()
            except StopAsyncIteration:
                await self._close_attempt()
        except Exception as error:
            self._session.failed(self._opened, error)
        return await self._go_on_or_stop()

    async def break_off(self, error: BaseException) -> None:
        """End a stream that the caller broke off, or that was cancelled; nothing happens after a normal end."""
        if self._is_over:
            return
        self._is_over = True
        try:
            if self._steps is not None:
                await self._steps.aclose()
        finally:
            if not self._waits_for_retry:
                self._conductor.broken_off(self._session, self._opened, error)
            self._session.finish_off_the_loop()

    async def _next_item(self) -> Any:
        if self._steps is None:
            with self._opened.run.active():
                source = self._first if self._first is not None else self._session.call.on(self._opened.prepared.team)
            self._first = None
            self._steps = AsyncSteps(source, self._opened.run, self._collector.see)
        return await anext(self._steps)

    async def _close_attempt(self) -> None:
        result = read_result(self._collector.result, self._collector.last)
        judged = await self._session.judge_async(self._opened, result)
        self._session.close(self._opened, judged, result=result)

    async def _go_on_or_stop(self) -> Any:
        attempt = self._session.run.last
        if not (self._conductor.options.retry_streams and self._session.wants_retry(attempt)):
            return await self._stop()
        await asyncio.to_thread(self._session.diagnose, attempt)
        await asyncio.to_thread(self._session.propose, attempt)
        self._waits_for_retry = True
        return self._conductor.boundary(attempt)

    async def _reopened(self) -> bool:
        self._waits_for_retry = False
        reopened = await self._session.reopen_async(self._session.run.last, self._opened)
        if reopened is None:
            return False
        self._opened, self._steps = reopened, None
        self._collector = SafeCollector(self._conductor.adapter, self._session.call)
        return True

    async def _stop(self) -> Any:
        self._is_over = True
        attempt = self._session.run.last
        self._conductor.after(self._session, attempt, is_async=True, is_stream=True)
        if attempt.error is not None:
            raise attempt.error
        raise StopAsyncIteration
