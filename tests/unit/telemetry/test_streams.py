"""Generators that are driven inside an operation: the context never stays behind, the operation always ends."""

from __future__ import annotations

import asyncio
import contextvars
import gc
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from tracer_hooks import semconv
from tracer_hooks.telemetry import current_invocation, drive, drive_async

from ._runs import Recorded


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


def test_each_step_runs_inside_and_each_item_is_given_outside(recorded: Recorded) -> None:
    run, source = recorded.start(), Source()
    looked_at: list[Any] = []
    assert [(item, outside()) for item in drive(iter(source), run, on_item=looked_at.append)] == [
        (0, True),
        (1, True),
        (2, True),
    ]
    assert source.seen == ["team"] * 3
    assert looked_at == [0, 1, 2]
    assert not run.ended, "the caller ends it"
    run.finish()


async def test_the_same_for_asynchronous_generators(recorded: Recorded) -> None:
    run, source = recorded.start(), Source()
    assert [(item, outside()) async for item in drive_async(aiter(source), run)] == [(0, True), (1, True), (2, True)]
    assert source.seen == ["team"] * 3
    run.finish()


def test_a_broken_off_generator_closes_its_source_and_is_no_error(recorded: Recorded) -> None:
    run, source = recorded.start(), Source()
    for _ in drive(iter(source), run):
        break
    gc.collect()
    assert source.closed
    assert run.ended
    assert outside()
    (span,) = recorded.spans
    assert span.status.status_code is StatusCode.UNSET
    assert (span.attributes or {})[semconv.ABANDONED] == "abandoned"


async def test_a_closed_asynchronous_generator_closes_its_source(recorded: Recorded) -> None:
    run, source = recorded.start(), Source()
    items = drive_async(aiter(source), run)
    assert await anext(items) == 0
    await items.aclose()
    assert source.closed
    assert (recorded.spans[0].attributes or {})[semconv.ABANDONED] == "abandoned"
    assert outside()


def test_closing_in_another_context_is_silent(recorded: Recorded, caplog: pytest.LogCaptureFixture) -> None:
    run = recorded.start()
    items = drive(iter(Source()), run)
    contextvars.copy_context().run(next, items)
    contextvars.copy_context().run(items.close)
    assert not caplog.records
    assert outside()


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_an_error_passes_as_it_is(recorded: Recorded, asynchronous: bool) -> None:
    error = ValueError("boom")
    run, source = recorded.start(), Source(error)
    with pytest.raises(ValueError, match="boom") as raised:  # noqa: PT012
        if asynchronous:
            async for _ in drive_async(aiter(source), run):
                pass
        else:
            for _ in drive(iter(source), run):
                pass
    assert raised.value is error
    assert recorded.spans[0].status.status_code is StatusCode.ERROR


async def test_cancellation_is_no_error(recorded: Recorded) -> None:
    run, started = recorded.start(), asyncio.Event()

    async def forever() -> AsyncIterator[int]:
        started.set()
        await asyncio.Event().wait()
        yield 1

    async def consume() -> None:
        async for _ in drive_async(forever(), run):
            pass

    task = asyncio.create_task(consume())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (recorded.spans[0].attributes or {})[semconv.ABANDONED] == "cancelled"


def test_a_look_that_fails_does_not_stop_the_stream(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STRICT", "0")

    def look(item: int) -> None:
        raise TypeError("odd item")

    run = recorded.start()
    assert list(drive(iter(Source()), run, on_item=look)) == [0, 1, 2]
    assert "odd item" in caplog.text
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
