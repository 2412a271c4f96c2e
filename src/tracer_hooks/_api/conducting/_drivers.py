"""The drivers of a call's course: plain, awaited, and streaming in both ways. They own nothing and decide nothing."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import AsyncGenerator, Generator
from typing import Any, Protocol

from tracer_hooks._api.conducting._acts import Act, Announce, AsyncItems, CallTeam, GoesOn
from tracer_hooks._api.conducting._course import Course
from tracer_hooks._api.conducting._open_streams import end_at_exit
from tracer_hooks.frameworks import TeamCall
from tracer_hooks.telemetry import unrecorded


class Begin(Protocol):
    """Begins the course of a call, when the call is really made: a coroutine may never be awaited."""

    def __call__(self, call: TeamCall, *, streams: bool = False) -> tuple[Course, Act | None] | tuple[None, None]:
        """The course and its first act; none where the call has to be made without us."""


def drive_call(begin: Begin, call: TeamCall) -> Any:
    """Conduct a call that returns."""
    course, act = begin(call)
    if course is None:
        with unrecorded():
            return call.on(call.team)
    with course:
        while act is not None:
            answer = act.now()
            if isinstance(answer, GoesOn) and isinstance(act, CallTeam):
                return _going_on(course, act, answer.value, call)
            act = course.answer(answer)
    if course.error is not None:
        raise course.error
    return course.value


async def drive_awaited(begin: Begin, call: TeamCall) -> Any:
    """Conduct a call that is awaited."""
    course, act = begin(call)
    if course is None:
        with unrecorded():
            return await call.on(call.team)
    with course:
        while act is not None:
            act = course.answer(await act.later())
    if course.error is not None:
        raise course.error
    return course.value


def drive_stream(begin: Begin, call: TeamCall) -> Generator[Any, Any, Any]:
    """Conduct a call that gives a generator."""
    course, act = begin(call, streams=True)
    if course is None:
        with unrecorded():
            source = call.on(call.team)
        return (yield from source)
    end_at_exit(course)
    with course:
        while act is not None:
            if isinstance(act, Announce):
                yield act.boundary
            act = course.answer((yield from act.items()) if isinstance(act, CallTeam) else act.now())
    if course.error is not None:
        raise course.error
    return course.value


async def drive_astream(begin: Begin, call: TeamCall) -> AsyncGenerator[Any, None]:
    """Conduct a call that gives an asynchronous generator."""
    course, act = begin(call, streams=True)
    if course is None:
        with unrecorded():
            source = call.on(call.team)
        try:
            async for item in source:
                yield item
        finally:
            await source.aclose()
        return
    stream = _AsyncStream(course, act)
    try:
        async for item in stream:
            yield item
    except BaseException as error:
        await stream.break_off(error)
        raise


class _AsyncStream:
    """What a course yields to a caller that iterates asynchronously, item by item.

    It is an iterator but no generator, for the reason given in :class:`~tracer_hooks.telemetry.AsyncSteps`: whoever
    iterates over it calls :meth:`break_off` with what ended that early.
    """

    def __init__(self, course: Course, act: Act | None) -> None:
        self._course = course
        self._act: Act | None = act
        self._items: AsyncItems | None = None
        self._announced = False

    def __aiter__(self) -> _AsyncStream:
        return self

    async def __anext__(self) -> Any:
        act = self._act
        while act is not None:
            if isinstance(act, Announce) and not self._announced:
                self._announced = True
                return act.boundary
            if isinstance(act, CallTeam):
                items = self._items = self._items or act.aitems()
                async for item in items:
                    return item
                answer, self._items = items.ended, None
            else:
                answer, self._announced = await act.later(), False
            act = self._act = self._course.answer(answer)
        if self._course.error is not None:
            raise self._course.error
        raise StopAsyncIteration

    async def break_off(self, error: BaseException) -> None:
        """End a stream that the caller broke off, or that was cancelled; nothing happens after its end."""
        items, self._items, self._act = self._items, None, None
        try:
            if items is not None:
                await items.aclose()
        finally:
            self._course.break_off(error)


def _going_on(course: Course, act: CallTeam, value: Any, call: TeamCall) -> Any:
    """A plain function gave an awaitable or a generator: the call goes on in it, and ends at the latest with it."""
    act.begun = value

    def begun(call: TeamCall, *, streams: bool = False) -> tuple[Course, Act | None]:
        return course.becomes_stream() if streams else course, act

    going: Any
    if inspect.isgenerator(value):
        going = drive_stream(begun, call)
    elif inspect.isasyncgen(value):
        going = drive_astream(begun, call)
    else:
        going = drive_awaited(begun, call)
    # One that is never begun runs none of its own code when it is dropped.
    weakref.finalize(going, course.break_off, GeneratorExit()).atexit = False
    return going
