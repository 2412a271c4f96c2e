"""``tracer_hooks.run`` and ``arun``: one task through a team, whatever its framework."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any

from opentelemetry.trace import NoOpTracerProvider

from tracer_hooks.config import is_disabled
from tracer_hooks.errors import AdapterError
from tracer_hooks.runtime._hook import factory_of, hook, hook_with, host_of
from tracer_hooks.runtime._judging import run_awaitable
from tracer_hooks.runtime._options import HookOptions, as_run, make_options
from tracer_hooks.runtime._team_host import TeamHost
from tracer_hooks.runtime._team_run import TeamRun, own_scope


@as_run(HookOptions)
def run(target: Any, task: str, **options: Any) -> TeamRun:
    """Run a team on one task and give the :class:`TeamRun`, diagnosed; an exception of the team is in its ``error``.

    Args:
        target: A factory, a team, or a function that takes a task; hooked already, or hooked now with ``options``.
        task: What to do.
        **options: As for :func:`tracer_hooks.hook`; when ``target`` is hooked already they are not used, and a log line
            says so. Under ``TRACER_HOOKS_DISABLED`` the run is made once, and stays in memory: it is judged, and
            neither exported, stored nor diagnosed.

    Raises:
        ConfigError: An option cannot be used.
        AdapterError: ``target`` is no team, or a factory that gave none.
    """
    own_scope()  # runs in tasks and threads below are then known as ours
    hooked = _hooked(target, options)
    if factory_of(hooked) is not None:
        built = _guarded_call(hooked, lambda: _to_end(hooked()))
        if host_of(built) is None:
            return _newest(hooked).wait()  # it took no task and ran the team itself
        hooked = built
    _guarded_call(hooked, lambda: _to_end(_call(hooked, task)()))
    return _newest(hooked).wait()


@as_run(HookOptions)
async def arun(target: Any, task: str, **options: Any) -> TeamRun:
    """The same in asynchronous code; a team with a synchronous API runs in a thread.

    Args:
        target: A factory, a team, or a function that takes a task; hooked already, or hooked now with ``options``.
        task: What to do.
        **options: As for :func:`run`.

    Raises:
        ConfigError: An option cannot be used.
        AdapterError: ``target`` is no team, or a factory that gave none.
    """
    own_scope()
    hooked = _hooked(target, options)
    if factory_of(hooked) is not None:
        built = await _guarded_acall(hooked, hooked)
        if host_of(built) is None:
            return await _newest(hooked).diagnosed()
        hooked = built
    await _guarded_acall(hooked, _call(hooked, task))
    return await _newest(hooked).diagnosed()


def _hooked(target: Any, options: dict[str, Any]) -> Any:
    """``target``, hooked; where everything is switched off, so that only the caller, who asks for it, sees the run."""
    if is_disabled():
        quiet = {"tracer_provider": NoOpTracerProvider(), "store": "off", "diagnose": False, "retries": 0}
        own = {"prompts": "own", "prompt_control": 0.0, "on_finding": None}
        return hook_with(target, make_options(**{**options, **quiet, **own}))
    return hook(target, **options)


def _call(hooked: Any, task: str) -> Callable[[], Any]:
    host = host_of(hooked)
    if host is None:
        raise AdapterError(f"{hooked!r} gave no team; expected a factory, a team, or a function that takes a task")
    if inspect.isroutine(hooked):
        return functools.partial(hooked, task)
    call = host.adapter.entry(hooked, task)
    return functools.partial(getattr(hooked, call.method), *call.args, **call.kwargs)


def _guarded_call(hooked: Any, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        _only_of_the_run(hooked, error)


async def _guarded_acall(hooked: Any, call: Callable[[], Any]) -> Any:
    is_async = inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call)
    try:
        value = call() if is_async else await asyncio.to_thread(_drained, call)
        return await _awaited(value)
    except Exception as error:
        _only_of_the_run(hooked, error)


def _to_end(value: Any) -> Any:
    """Wait for what comes of a call, and return it."""
    if inspect.isawaitable(value) or inspect.isasyncgen(value):
        return run_awaitable(_awaited(value))
    return _drained(lambda: value)


async def _awaited(value: Any) -> Any:
    if inspect.isasyncgen(value):
        async for _ in value:
            pass
        return None
    return await value if inspect.isawaitable(value) else value


def _drained(call: Callable[[], Any]) -> Any:
    value = call()
    if inspect.isgenerator(value):
        for _ in value:
            pass
        return None
    return value


def _only_of_the_run(hooked: Any, error: Exception) -> None:
    host: TeamHost | None = host_of(hooked)
    run = host.last_run if host is not None else None
    if run is None or all(attempt.error is not error for attempt in run.attempts):
        raise error


def _newest(hooked: Any) -> TeamRun:
    host: TeamHost | None = host_of(hooked)
    run = host.last_run if host is not None else None
    if run is None:
        raise AdapterError(f"{hooked!r} was not run; expected its entry point to go through tracer-hooks")
    return run
