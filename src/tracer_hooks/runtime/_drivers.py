"""Drivers of a call's loop of attempts: plain, awaited, and streaming in both ways.

They own nothing and decide nothing.
"""

from __future__ import annotations

import functools
import inspect
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Generator
from typing import Any, Protocol

from tracer_hooks._background import before_exit
from tracer_hooks._guard import guard
from tracer_hooks.frameworks import TeamCall
from tracer_hooks.runtime._attempt_loop import Action, AttemptLoop, CallTeam, ContinuedCall, failed
from tracer_hooks.runtime._call_context import CallOutcome
from tracer_hooks.runtime._judging import SafeCollector, read_result
from tracer_hooks.telemetry import AsyncSteps, unrecorded

_open: weakref.WeakSet[AttemptLoop] = weakref.WeakSet()


def end_at_exit(loop: AttemptLoop) -> None:
    """Let the end of the process break off ``loop``, if it goes on until then.

    The interpreter lets go of a generator when nothing can be imported or stored any more. Streams of other threads are
    left to these: they may go on when the main thread has ended.
    """
    if threading.current_thread() is threading.main_thread():
        _watch_stream()
        _open.add(loop)


@functools.cache
def _watch_stream() -> None:
    before_exit(_end_all)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_open.clear)  # what goes on in the parent ends there


def _end_all() -> None:
    for loop in list(_open):
        with guard("end a stream with the process"):
            loop.break_off(GeneratorExit())


class Begin(Protocol):
    """Begins the loop of a call, when the call is really made: a coroutine may never be awaited."""

    def __call__(
        self, call: TeamCall, *, streams: bool = False
    ) -> tuple[AttemptLoop, Action | None] | tuple[None, None]:
        """The loop and its first action; none where the call has to be made without us."""


def drive_call(begin: Begin, call: TeamCall) -> Any:
    """Conduct a call that returns."""
    loop, action = begin(call)
    if loop is None:
        with unrecorded():
            return call.on(call.team)
    with loop:
        while action is not None:
            answer = action.now()
            if isinstance(answer, ContinuedCall) and isinstance(action, CallTeam):
                return _continue_call(loop, action, answer.value, call)
            action = loop.answer(answer)
    if loop.error is not None:
        raise loop.error
    return loop.value


async def drive_awaited(begin: Begin, call: TeamCall) -> Any:
    """Conduct a call that is awaited."""
    loop, action = begin(call)
    if loop is None:
        with unrecorded():
            return await call.on(call.team)
    with loop:
        while action is not None:
            action = loop.answer(await action.later())
    if loop.error is not None:
        raise loop.error
    return loop.value


def drive_stream(begin: Begin, call: TeamCall) -> Generator[Any, Any, Any]:
    """Conduct a call that gives a generator."""
    loop, action = begin(call, streams=True)
    if loop is None:
        with unrecorded():
            source = call.on(call.team)
        return (yield from source)
    end_at_exit(loop)
    with loop:
        while action is not None:
            if isinstance(action, CallTeam):
                answer = yield from action.items()
            else:
                if action.boundary is not None:
                    yield action.boundary
                answer = action.now()
            action = loop.answer(answer)
    if loop.error is not None:
        raise loop.error
    return loop.value


async def drive_astream(begin: Begin, call: TeamCall) -> AsyncGenerator[Any, None]:
    """Conduct a call that gives an asynchronous generator."""
    loop, action = begin(call, streams=True)
    if loop is None:
        with unrecorded():
            source = call.on(call.team)
        try:
            async for item in source:
                yield item
        finally:
            await source.aclose()
        return
    stream = _AsyncStream(loop, action)
    try:
        async for item in stream:
            yield item
    except BaseException as error:
        await stream.break_off(error)
        raise


class _AsyncStream:
    """Iterator that a loop yields to a caller that iterates asynchronously, item by item.

    It is an iterator but no generator, for the reason given in :class:`~tracer_hooks.telemetry.AsyncSteps`: whoever
    iterates over it calls :meth:`break_off` with what ended that early.
    """

    def __init__(self, loop: AttemptLoop, action: Action | None) -> None:
        self._course = loop
        self._action: Action | None = action
        self._steps: AsyncSteps[Any] | None = None
        self._collector: SafeCollector | None = None
        self._announced = False

    def __aiter__(self) -> _AsyncStream:
        return self

    async def __anext__(self) -> Any:
        action = self._action
        while action is not None:
            if isinstance(action, CallTeam):
                collector = self._collector = self._collector or action.collector()
                try:
                    self._steps = self._steps or action.steps(collector)
                    return await anext(self._steps)
                except StopAsyncIteration:
                    answer = CallOutcome(None, read_result(collector.result, collector.last))
                except Exception as error:
                    answer = failed(error)
                self._steps = self._collector = None
            elif action.boundary is not None and not self._announced:
                self._announced = True
                return action.boundary
            else:
                answer, self._announced = await action.later(), False
            action = self._action = self._course.answer(answer)
        if self._course.error is not None:
            raise self._course.error
        raise StopAsyncIteration

    async def break_off(self, error: BaseException) -> None:
        """End a stream that the caller broke off, or that was cancelled; nothing happens after its end."""
        steps, self._steps, self._action = self._steps, None, None
        try:
            if steps is not None:
                await steps.aclose()
        finally:
            self._course.break_off(error)


def _continue_call(loop: AttemptLoop, action: CallTeam, value: Any, call: TeamCall) -> Any:
    """A plain function gave an awaitable or a generator: the call goes on in it, and ends at the latest with it."""
    action.begun = value

    def begun(call: TeamCall, *, streams: bool = False) -> tuple[AttemptLoop, Action | None]:
        return loop.becomes_stream() if streams else loop, action

    going: Any
    if inspect.isgenerator(value):
        going = drive_stream(begun, call)
    elif inspect.isasyncgen(value):
        going = drive_astream(begun, call)
    else:
        going = drive_awaited(begun, call)
    # One that is never begun runs none of its own code when it is dropped.
    weakref.finalize(going, loop.break_off, GeneratorExit()).atexit = False
    return going
