"""What can be run again and again: factories, teams and functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import Any

from tracer_hooks.errors import AdapterError
from tracer_hooks.frameworks import Adapter, Intervention, RewriteInstructions, adapter_for
from tracer_hooks.frameworks.plain import PlainAdapter, PlainTeam
from tracer_hooks.runtime import (
    Check,
    Expected,
    HookOptions,
    Judge,
    Made,
    Rerunner,
    TeamSource,
    factory_of,
    host_of,
    is_built_team,
    replaying_emitter,
    required_in,
    run_awaitable,
)
from tracer_hooks.tasks import SuiteTask, check_of


def rerunner(
    target: Any,
    task: str,
    *,
    check: Check | None = None,
    expected: Expected | None = None,
    prompts: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Rerunner:
    """Make a runner that runs a team on one task as often as it is told to.

    Args:
        target: A factory that builds the team (best: every run then has a team of its own), a team object, or a
            function that takes the task. What was hooked keeps the check that it was hooked with, unless one is given.
        task: What the team is asked to do.
        check: Decides whether a run succeeded.
        expected: The expected answer; decides where there is no check.
        prompts: Instructions by agent, in the place of the team's own. A factory with a parameter ``prompts`` builds
            the team with them; else they are put into the requests to the models.
        name: The team's name; default the one that it was hooked with, else the function's or the framework's.

    Raises:
        AdapterError: ``target`` is no team, and gave none.
    """
    host, options = host_of(target), hooked_options(target)
    judge = judge_of(target, check, expected)
    emitter = replaying_emitter(options.emitter if options is not None else None)
    own = options.name if options is not None else None
    runner = functools.partial(Rerunner, task=task, judge=judge, emitter=emitter, name=name or own)
    told = functools.partial(_prompt_rewrite, dict(prompts or {}))
    function, is_certain = _function_of(target)
    if _is_runner(function, is_factory=is_certain):
        plain = function if host is None else inspect.unwrap(function)
        team = PlainTeam(plain, getattr(plain, "__name__", "team"))
        return runner(lambda: _made(PlainAdapter(), team, task, is_hooked=True), prompts=told)
    source = _source_of(target)
    if source is not None and source.takes_prompts:
        return runner(lambda: _built(source, task, prompts or {}))
    if source is not None:
        return runner(lambda: _built(source, task, {}), prompts=told)
    adapter = adapter_for(target)

    def reset() -> Made:
        run_awaitable(adapter.reset(target))
        return _made(adapter, target, task, is_hooked=host is not None)

    return runner(reset, is_shared=True, prompts=told)


def _prompt_rewrite(prompts: Mapping[str, str]) -> Intervention | None:
    return RewriteInstructions(prompts) if prompts else None


def judge_of(target: Any, check: Check | None = None, expected: Expected | None = None) -> Judge:
    """Return the judge of runs of ``target``: by what is given, else by what it was hooked with."""
    options = hooked_options(target)
    if options is not None and check is None and expected is None:
        check, expected = options.check, options.expected
    return Judge(check, expected)


def is_built_with_prompts(target: Any) -> bool:
    """Tell whether :func:`rerunner` builds a team with other instructions, and does not put them into the requests."""
    source = _source_of(target)
    return source is not None and source.takes_prompts


def hooked_options(target: Any) -> HookOptions | None:
    """Return the options that ``target``, a factory or a team, was hooked with; ``None`` if it was not hooked."""
    factory, host = factory_of(target), host_of(target)
    return factory.options if factory is not None else host.options if host is not None else None


def check_for(target: Any, task: SuiteTask, check: Check | None = None) -> Check | None:
    """Return the check of runs of ``target`` on ``task``; None where that is what the team was hooked with.

    Args:
        target: The factory, team or function.
        task: What it works on.
        check: The user's own, which comes first.

    Raises:
        ConfigError: There is no check, and the task has no reference.
    """
    return check if check is not None or is_judged(target) else check_of(task)


def is_judged(target: Any) -> bool:
    """Tell whether it was hooked with something that says whether a run succeeded."""
    options = hooked_options(target)
    return options is not None and options.is_judged


def _function_of(target: Any) -> tuple[Any, bool]:
    """Return the function to call for a run or for a team, and whether it is known to give a team."""
    factory = factory_of(target)
    return (factory.function, factory.is_certain) if factory is not None else (target, False)


def _source_of(target: Any) -> TeamSource | None:
    """The factory; ``None`` for a team, and for a function that is one."""
    function, is_certain = _function_of(target)
    is_factory = inspect.isroutine(function) or (callable(function) and not is_built_team(function))
    return TeamSource(function) if is_factory and not _is_runner(function, is_factory=is_certain) else None


def _is_runner(function: Any, *, is_factory: bool) -> bool:
    """Tell whether ``function`` is the team itself: it takes the task, where a factory needs nothing but prompts."""
    if is_factory or not inspect.isroutine(function):
        return False
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return True
    return bool(required_in(parameters) - {"prompts"})


def _built(source: TeamSource, task: str, prompts: Mapping[str, str]) -> Made:
    team = source.anew(prompts)
    if inspect.isroutine(team):
        hooked = host_of(team) is not None
        plain = inspect.unwrap(team) if hooked else team
        return _made(PlainAdapter(), PlainTeam(plain, getattr(plain, "__name__", "team")), task, is_hooked=True)
    if not is_built_team(team):
        raise AdapterError(f"the factory gave {team!r}, expected a team, or a function that takes a task")
    return _made(adapter_for(team), team, task, is_hooked=host_of(team) is not None)


def _made(adapter: Adapter, team: Any, task: str, *, is_hooked: bool) -> Made:
    return Made(adapter, adapter.entry(team, task), is_hooked)
