"""What can be run again and again: factories, teams and functions."""

from __future__ import annotations

import inspect
from typing import Any

from tracer_hooks._api._awaiting import run_awaitable
from tracer_hooks._api._hooked_functions import factory_of
from tracer_hooks._api._hooked_teams import conductor_of, is_built_team
from tracer_hooks._api._options import HookOptions
from tracer_hooks._api._rerunner import Judge, Made, Rerunner, replaying_emitter
from tracer_hooks._api._source import TeamSource
from tracer_hooks._api._verdict import Check, Expected
from tracer_hooks.adapters import Adapter, adapter_for
from tracer_hooks.adapters.plain import PlainAdapter, PlainTeam
from tracer_hooks.errors import AdapterError


def rerunner(target: Any, task: str, *, check: Check | None = None, expected: Expected | None = None) -> Rerunner:
    """Make a runner that runs a team on one task as often as it is told to.

    Args:
        target: A factory that builds the team (best: every run then has a team of its own), a team object, or a
            function that takes the task. What was hooked keeps the check that it was hooked with, unless one is given.
        task: What the team is asked to do.
        check: Decides whether a run succeeded.
        expected: The expected answer; decides where there is no check.

    Raises:
        AdapterError: ``target`` is no team, and gave none.
    """
    factory, conductor, options = factory_of(target), conductor_of(target), hooked_options(target)
    if options is not None and check is None and expected is None:
        check, expected = options.check, options.expected
    judge = Judge(check, expected)
    emitter = replaying_emitter(options.emitter if options is not None else None)
    function = factory.function if factory is not None else target
    if _is_runner(function, is_factory=factory is not None and factory.is_certain):
        plain = function if conductor is None else inspect.unwrap(function)
        team = PlainTeam(plain, getattr(plain, "__name__", "team"))
        return Rerunner(lambda: _made(PlainAdapter(), team, task, is_hooked=True), task, judge, emitter)
    if inspect.isroutine(function) or (callable(function) and not is_built_team(function)):
        return Rerunner(lambda: _built(TeamSource(function), task), task, judge, emitter)
    adapter = adapter_for(target)

    def reset() -> Made:
        run_awaitable(adapter.reset(target))
        return _made(adapter, target, task, is_hooked=conductor is not None)

    return Rerunner(reset, task, judge, emitter, is_shared=True)


def hooked_options(target: Any) -> HookOptions | None:
    """What ``target``, a factory or a team, was hooked with; ``None`` if it was not hooked."""
    factory, conductor = factory_of(target), conductor_of(target)
    return factory.options if factory is not None else conductor.options if conductor is not None else None


def _is_runner(function: Any, *, is_factory: bool) -> bool:
    """Whether ``function`` is the team itself: it takes the task, where a factory needs nothing but prompts."""
    if is_factory or not inspect.isroutine(function):
        return False
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return True
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    required = {n for n, p in parameters.items() if p.default is p.empty and p.kind not in variadic}
    return bool(required - {"prompts"})


def _built(source: TeamSource, task: str) -> Made:
    team = source.anew()
    if inspect.isroutine(team):
        hooked = conductor_of(team) is not None
        plain = inspect.unwrap(team) if hooked else team
        return _made(PlainAdapter(), PlainTeam(plain, getattr(plain, "__name__", "team")), task, is_hooked=True)
    if not is_built_team(team):
        raise AdapterError(f"the factory gave {team!r}, expected a team, or a function that takes a task")
    return _made(adapter_for(team), team, task, is_hooked=conductor_of(team) is not None)


def _made(adapter: Adapter, team: Any, task: str, *, is_hooked: bool) -> Made:
    return Made(adapter, adapter.entry(team, task), is_hooked)
