"""``@tracer_hooks.hook``: on a factory, on a ready team, on a function that runs one."""

from __future__ import annotations

import inspect
from typing import Any

from tracer_hooks._api.conducting._hooked_functions import factory_of, hook_function
from tracer_hooks._api.conducting._hooked_teams import conductor_of, hook_team, is_team, unhook_team
from tracer_hooks._api.conducting._options import HookOptions, as_hook, make_options
from tracer_hooks._api.runs import TeamRun, TeamSource
from tracer_hooks.errors import AdapterError, AdapterNotFoundError

_DECORATED: Any = object()
"""Stands for the target of ``@hook(...)``, which comes later; None is a mistake of the caller's."""


@as_hook(HookOptions)
def hook(target: Any = _DECORATED, /, **options: Any) -> Any:
    """Observe every run of a team, say which agent and step made a failed one fail, and optionally repair it.

    Three kinds of target, all as ``@hook``, ``@hook(...)`` or ``hook(target, ...)``:

    - a **factory** that returns a team, best with a parameter ``prompts=None`` (a mapping from agent name to
      instructions): prompts can then be rewritten, and every retry runs on a team that is built anew;
    - a **team**: an AutoGen team or agent, a CrewAI crew or flow, a compiled LangGraph graph; the object itself is
      returned, hooked;
    - a **function that runs a team**, plain, asynchronous or a generator. Its first argument is taken for the task. A
      function counts as a factory when it has a parameter ``prompts`` and no other required one, or has no required
      parameter and returns a team or a function.

    The team's own API keeps its behaviour and return types; :func:`last_run` gives the rest. What is hooked already is
    given back as it is, with the options of its first hook.

    Args:
        target: What to hook.
        **options: See :class:`HookOptions`; ``capture`` (``"off"``, ``"redacted"``, ``"full"``) and ``store`` (a path
            or ``"off"``) override the environment.

    Raises:
        ConfigError: An option cannot be used.
        AdapterNotFoundError: No installed adapter recognises the team.
        MissingExtraError: The framework's adapter is not installed.
        UnsupportedVersionError: The framework's version is outside the adapter's range.
    """
    made = make_options(**options)
    if target is _DECORATED:
        return lambda decorated: _hook(decorated, made)
    return _hook(target, made)


def unhook(target: Any) -> None:
    """Undo :func:`hook`: every attribute of the team is again what it was. Not hooked: nothing happens.

    A function is then called without us; a factory's next teams are not hooked, those it built already are.
    """
    factory, conductor = factory_of(target), conductor_of(target)
    if factory is not None:
        factory.is_off = True
    if conductor is not None:
        unhook_team(target, conductor)


def last_run(target: Any) -> TeamRun | None:
    """The newest run of a hooked team or function; of the calling task or thread, when it made one.

    Raises:
        AdapterError: ``target`` is not hooked.
    """
    conductor, factory = conductor_of(target), factory_of(target)
    if factory is not None and factory.is_certain:
        raise AdapterError(f"{target!r} is a factory, expected the team that it built: last_run(team)")
    if conductor is None:
        raise AdapterError(
            f"{target!r} is not hooked; expected a team or function that went through tracer_hooks.hook()"
        )
    return conductor.last_run


def _hook(target: Any, options: HookOptions) -> Any:
    if conductor_of(target) is not None or factory_of(target) is not None:
        return target
    if inspect.isclass(target):
        raise AdapterNotFoundError(
            f"{target!r} is a class; expected a team, or a function that builds or runs one. Hook an instance of it"
        )
    if inspect.isroutine(target) or (callable(target) and not is_team(target)):
        return hook_function(target, options)
    return hook_team(target, options, TeamSource())
