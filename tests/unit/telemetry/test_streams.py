"""Generators that are driven inside an operation: the context never stays behind, the operation always ends."""

from __future__ import annotations

import asyncio
import contextvars
import gc
from collections.abc import AsyncIterator, Iterator
from typing import Any
from unittest.mock import Mock, call

import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from tracer_hooks import semconv
from tracer_hooks.telemetry import RunInvocation, current_invocation, drive, drive_async

from ._runs import Recorded

both = pytest.mark.parametrize("asynchronous", [False, True])


class Source:
    """Counts to three, notes what is current at each step, and whether it was closed."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.seen: list[str | None] = []
        self.closed = False

    def _note(self) -> None:
        invocation = current_invocation()
        self.seen.append(invocation.name if invocation else None)

    def __iter__(self) -> Iterator[int]:
        try:
            for number in range(3):
                self._note()
                yield number
            if self.error is not None:
                raise self.error
        finally:
            self.closed = True

    async def __aiter__(self) -> AsyncIterator[int]:
        try:
            for number in range(3):
                await asyncio.sleep(0)
                self._note()
                yield number
            if self.error is not None:
                raise self.error
        finally:
            self.closed = True


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


def outside() -> bool:
    return current_invocation() is None and trace.get_current_span() is trace.INVALID_SPAN


async def items(source: Source, run: RunInvocation, asynchronous: bool) -> list[tuple[Any, bool]]:
    """What is given, each with whether the generator's operation is left meanwhile."""
    if asynchronous:
        return [(item, outside()) async for item in drive_async(aiter(source), run)]
    return [(item, outside()) for item in drive(iter(source), run)]


@both
async def test_each_step_runs_inside_and_each_item_is_given_outside(recorded: Recorded, asynchronous: bool) -> None:
    run, source = recorded.start(), Source()
    assert await items(source, run, asynchronous) == [(0, True), (1, True), (2, True)]
    assert source.seen == ["team"] * 3
    assert not run.ended, "the caller ends it"
    run.finish()


@both
async def test_a_broken_off_generator_closes_its_source_and_is_no_error(recorded: Recorded, asynchronous: bool) -> None:
    run, source = recorded.start(), Source()
    if asynchronous:
        items = drive_async(aiter(source), run)
        assert await anext(items) == 0
        await items.aclose()
    else:
        assert next(drive(iter(source), run)) == 0
        gc.collect()
    assert (source.closed, run.ended, outside()) == (True, True, True)
    (span,) = recorded.spans
    assert span.status.status_code is StatusCode.UNSET
    assert (span.attributes or {})[semconv.ABANDONED] == "abandoned"


def test_closing_in_another_context_is_silent(recorded: Recorded, caplog: pytest.LogCaptureFixture) -> None:
    run = recorded.start()
    items = drive(iter(Source()), run)
    contextvars.copy_context().run(next, items)
    contextvars.copy_context().run(items.close)
    assert not caplog.records
    assert outside()


@both
async def test_an_error_passes_as_it_is(recorded: Recorded, asynchronous: bool) -> None:
    error = ValueError("boom")
    with pytest.raises(ValueError, match="boom") as raised:
        await items(Source(error), recorded.start(), asynchronous)
    assert raised.value is error
    assert recorded.spans[0].status.status_code is StatusCode.ERROR


async def test_cancellation_is_no_error(recorded: Recorded) -> None:
    run, started = recorded.start(), asyncio.Event()

    async def forever() -> AsyncIterator[int]:
        started.set()
        await asyncio.Event().wait()
        yield 1

    task = asyncio.ensure_future(anext(drive_async(forever(), run)))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (recorded.spans[0].attributes or {})[semconv.ABANDONED] == "cancelled"


@pytest.mark.parametrize("fails", [False, True])
def test_each_item_is_looked_at_and_a_look_that_fails_does_not_stop_the_stream(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fails: bool
) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STRICT", "0")
    look = Mock(side_effect=TypeError("odd item") if fails else None)
    run = recorded.start()
    assert list(drive(iter(Source()), run, on_item=look)) == [0, 1, 2]
    assert look.call_args_list[:1] == [call(0)]
    assert fails or look.call_args_list == [call(0), call(1), call(2)]
    assert ("odd item" in caplog.text) is fails
    run.finish()


async def test_two_streams_side_by_side_do_not_mix(recorded: Recorded) -> None:
    sources = [Source(), Source()]
    runs = [recorded.start("left"), recorded.start("right")]
    streams = [drive_async(aiter(source), run) for source, run in zip(sources, runs, strict=True)]
    for _ in range(3):
        for stream in streams:
            await anext(stream)
    assert [source.seen for source in sources] == [["left"] * 3, ["right"] * 3]
    for stream, run in zip(streams, runs, strict=True):
        await stream.aclose()
        run.finish()
