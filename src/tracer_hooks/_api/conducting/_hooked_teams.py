"""Which teams are hooked, and by which conductor."""

from __future__ import annotations

import inspect
import weakref
from typing import Any

from tracer_hooks._api.conducting._conductor import Conductor
from tracer_hooks._api.conducting._options import HookOptions
from tracer_hooks._api.runs import TeamSource
from tracer_hooks._guard import warn_once
from tracer_hooks.errors import AdapterNotFoundError, MissingExtraError
from tracer_hooks.frameworks import KnowsCopies, adapter_for, find_adapters

CONDUCTOR = "__tracer_hooks_conductor__"
"""Attribute of a hooked function that holds its conductor."""

_conductors: weakref.WeakValueDictionary[int, Conductor] = weakref.WeakValueDictionary()
"""By the id of the team object."""


def conductor_of(target: Any) -> Conductor | None:
    """The conductor of a hooked team or function."""
    if inspect.isroutine(target):
        own = getattr(target, CONDUCTOR, None)
        return own if isinstance(own, Conductor) and not own.is_off else None
    conductor = _conductors.get(id(target))
    # A conductor that is still at work may outlive its team, whose id then goes to another object.
    if conductor is not None and conductor.conducts(target):
        return conductor
    for found in find_adapters():
        if isinstance(found.adapter, KnowsCopies) and found.adapter.recognises(target):
            host = found.adapter.host_of(target)
            return host if isinstance(host, Conductor) else None
    return None


def hook_team(team: Any, options: HookOptions, source: TeamSource) -> Any:
    """Hook a team object, once; gives the object."""
    if conductor_of(team) is not None:
        return team
    adapter = adapter_for(team)
    adapter.framework_version()
    conductor = Conductor(adapter, source, options)
    conductor.hook(team)
    _conductors[id(team)] = conductor
    return team


def unhook_team(team: Any, conductor: Conductor) -> None:
    """Put back what hooking changed."""
    conductor.unhook()
    if _conductors.get(id(team)) is conductor:
        del _conductors[id(team)]


def is_team(target: Any) -> bool:
    """Whether an adapter recognises ``target``, or would if it were installed."""
    try:
        adapter_for(target)
    except AdapterNotFoundError:
        return False
    except MissingExtraError:  # let hook_team say what to install
        return True
    return True


def is_built_team(value: Any) -> bool:
    """Whether what a function returned is a team, and not the result of one, so that the function is a factory."""
    if value is None or isinstance(value, (str, bytes, int, float, dict, list, tuple)):
        return False
    if inspect.isroutine(value) and not inspect.isbuiltin(value):
        return True
    try:
        adapter_for(value)
    except AdapterNotFoundError:
        return False
    except MissingExtraError as error:  # maybe a team, maybe its result; the user's call must not fail for it
        warn_once(f"not observed: {error.requirement}", "tracer-hooks observes nothing here: %s", error)
        return False
    return True
