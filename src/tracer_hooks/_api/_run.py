"""``tracer_hooks.run`` and ``arun``: one task through a team, whatever its framework."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, Unpack

from tracer_hooks._api._conductor import Conductor
from tracer_hooks._api._hook import FACTORY, conductor_of, hook
from tracer_hooks._api._hook_arguments import HookArguments
from tracer_hooks._api._team_run import TeamRun
from tracer_hooks._api._verdict import run_awaitable
from tracer_hooks.adapters import TeamCall
from tracer_hooks.errors import AdapterError


def run(target: Any, task: str, **options: Unpack[HookArguments]) -> TeamRun:
    """Run a team on one task and give the :class:`TeamRun`, diagnosed; an exception of the team is in its ``error``.

    Args:
        target: A factory, a team, or a function that takes a task; hooked already, or hooked now with ``options``.
        task: What to do.
        **options: As for :func:`tracer_hooks.hook`; ignored when ``target`` is hooked already.
    """
    conductor, call = _prepare(target, task, options)
    try:
        value = call.on(call.team)
        if inspect.isawaitable(value):
            run_awaitable(value)
    except Exception as error:
        _only_of_the_run(conductor, error)
    return _newest(conductor).wait()


async def arun(target: Any, task: str, **options: Unpack[HookArguments]) -> TeamRun:
    """The same in asynchronous code; a team with a synchronous API runs in a thread.

    Args:
        target: A factory, a team, or a function that takes a task; hooked already, or hooked now with ``options``.
        task: What to do.
        **options: As for :func:`tracer_hooks.hook`; ignored when ``target`` is hooked already.
    """
    conductor, call = _prepare(target, task, options)
    try:
        if inspect.iscoroutinefunction(getattr(call.team, call.method)):
            await call.on(call.team)
        else:
            value = await asyncio.to_thread(call.on, call.team)
            if inspect.isawaitable(value):
                await value
    except Exception as error:
        _only_of_the_run(conductor, error)
    return await _newest(conductor).diagnosed()


def _prepare(target: Any, task: str, options: Any) -> tuple[Conductor, TeamCall]:
    conductor = conductor_of(target)
    if conductor is None and inspect.isroutine(target):
        hooked = target if getattr(target, FACTORY, False) else hook(target, **options)
        conductor = conductor_of(hooked)
        if conductor is None:  # a factory
            target = hooked()
            if inspect.isawaitable(target):
                target = run_awaitable(target)
            conductor = conductor_of(target)
        else:
            target = hooked
    elif conductor is None:
        conductor = conductor_of(hook(target, **options))
    if conductor is None:
        raise AdapterError(f"{target!r} gave no team; expected a factory, a team, or a function that takes a task")
    if inspect.isroutine(target):
        return conductor, TeamCall(team=_Function(target), method="run", args=(task,), task=task)
    return conductor, conductor.adapter.entry(target, task)


class _Function:
    """A hooked function in the shape of a team."""

    def __init__(self, function: Any) -> None:
        self.run = function


def _only_of_the_run(conductor: Conductor, error: Exception) -> None:
    run = conductor.last_run
    if run is None or all(attempt.error is not error for attempt in run.attempts):
        raise error


def _newest(conductor: Conductor) -> TeamRun:
    run = conductor.last_run
    if run is None:
        raise AdapterError("the team was not run; expected its entry point to go through tracer-hooks")
    return run
