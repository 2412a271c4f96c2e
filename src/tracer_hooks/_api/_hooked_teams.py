"""Which teams are hooked, and by which conductor."""

from __future__ import annotations

import inspect
import weakref
from typing import Any

from tracer_hooks._api._conductor import Conductor
from tracer_hooks._api._options import HookOptions
from tracer_hooks._api._source import TeamSource
from tracer_hooks._api._watching import WATCHTOWER
from tracer_hooks._guard import warn_once
from tracer_hooks.adapters import KnowsCopies, adapter_for, find_adapters
from tracer_hooks.errors import AdapterNotFoundError, MissingExtraError

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
    attributes = _own_attributes(team)
    conductor.patches.add(adapter.hook(team, conductor))
    conductor.team = _reference(team)
    _conductors[id(team)] = conductor
    if _own_attributes(team) == attributes:
        # The adapter patches classes alone; the team must keep its conductor alive all the same. Where the team's own
        # wrappers do that, this would keep the team alive for ever: what is patched can be put back.
        conductor.kept_by = weakref.finalize(team, lambda kept: None, conductor)
    return team


def unhook_team(team: Any, conductor: Conductor) -> None:
    """Put back what hooking changed."""
    conductor.patches.undo()
    conductor.is_off = True
    _conductors.pop(id(team), None)
    if conductor.kept_by is not None:
        # The team lives on: its next hook is another conductor, and this one must not go on watching.
        conductor.kept_by.detach()
        conductor.watching()
    else:
        WATCHTOWER.release()


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


def _own_attributes(team: Any) -> set[str]:
    return set(getattr(team, "__dict__", ()))


def _reference(team: Any) -> weakref.ref[Any] | None:
    try:
        return weakref.ref(team)
    except TypeError:
        return None
