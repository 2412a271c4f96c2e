"""Patched methods of AutoGen objects, shared by every hooked team that the object belongs to.

A tool, a model client or an agent can be part of several hooked teams, and these may be unhooked in any order. So each
replaced method is a stack of layers: a layer is put on once, however many teams ask for it, and the method that was
there comes back, itself, when the last team has let go.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import MethodType, ModuleType
from typing import Any, Protocol

from tracer_hooks.frameworks import PatchSet, process_lock
from tracer_hooks.telemetry import Invocation, RunInvocation, current_invocation, current_run


class PatchOwner(Protocol):
    """Owner of patches: a hooked team, or a watcher that waits for teams to run."""

    patches: PatchSet
    """Patches to undo when the owner lets go."""


MakeMethod = Callable[[Any, list[Any]], Any]
"""Makes the replacement from the original and the list, which grows and shrinks, of its owners."""
_MARK = "__tracer_hooks_method__"
"""Attribute of a replacement that holds its :class:`_Method`, which so lives no longer than the owner."""
_lock = process_lock()


@dataclass
class _Layer:
    key: str
    make: MakeMethod
    patch_owners: list[PatchOwner]


class _Method:
    """One replaced method. Its replacement is changed in one step, so that no call in another thread meets a gap."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner = owner
        self.name = name
        self.layers: list[_Layer] = []
        self.patches = PatchSet()
        self._original: Any = None
        self._is_own = False

    def add(self, layer: _Layer) -> None:
        """Put a layer on top."""
        if not self.layers:
            self._original = getattr(self.owner, self.name)
            self._is_own = self.name in vars(self.owner)
        self.layers.append(layer)
        self._replace()

    def remove(self, layer: _Layer) -> None:
        """Take a layer off; with the last one the method that was there comes back."""
        self.layers.remove(layer)
        if self.layers:
            self._replace()
        else:
            self.patches.undo()
            self._original = None

    def _replace(self) -> None:
        method = self._original
        for layer in self.layers:
            method = functools.wraps(method)(layer.make(method, layer.patch_owners))
        replacement = method if isinstance(self.owner, (type, ModuleType)) else self._bound(method)
        setattr(getattr(replacement, "__func__", replacement), _MARK, self)
        patches = PatchSet()
        patches.patch(self.owner, self.name, replacement)
        self.patches.undo()  # the former replacement, which is below the new one now
        self.patches = patches

    def _bound(self, method: Any) -> Any:
        """``method`` as a bound method, so that a copy or a pickle of the owner is not tied to the owner.

        ``copy.deepcopy`` binds a method anew to the copy, which then runs its class's own code; a pickle keeps the
        method's name alone. A function in the instance would have the copy run the original object.
        """
        owner, name, own = self.owner, self.name, self._original if self._is_own else None

        def method_of(holder: Any) -> Any:
            if holder is owner:
                return method
            return own if own is not None else getattr(type(holder), name).__get__(holder)

        async def call_async(self: Any, *args: Any, **kwargs: Any) -> Any:
            return await method_of(self)(*args, **kwargs)

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            return method_of(self)(*args, **kwargs)

        replacement: Any = call_async if inspect.iscoroutinefunction(method) else call
        # Of the function, not of the bound method, whose signature would lose its first parameter twice.
        functools.update_wrapper(replacement, getattr(self._original, "__func__", self._original))
        return MethodType(replacement, owner)


def patch_method(owner: Any, name: str, key: str, make: MakeMethod, *, patch_owner: PatchOwner) -> None:
    """Replace ``owner.name`` until ``patch_owner`` is undone; layers with the same ``key`` are one."""
    with _lock:
        method = _method_of(owner, name)
        layer = next((layer for layer in method.layers if layer.key == key), None)
        if layer is None:
            layer = _Layer(key, make, LivePatchOwners() if isinstance(owner, (type, ModuleType)) else [])
            layer.patch_owners.append(patch_owner)
            method.add(layer)
        elif patch_owner not in layer.patch_owners:
            layer.patch_owners.append(patch_owner)
        else:
            return
        patch_owner.patches.on_undo(lambda: _remove_layer(method, layer, patch_owner))
        if isinstance(layer.patch_owners, LivePatchOwners):
            weakref.finalize(patch_owner, _remove_idle_layer, method, layer)


class LivePatchOwners(list[Any]):
    """Owners of a patch of a class or module, held weakly: these live for ever, a team does not."""

    def __iter__(self) -> Iterator[Any]:
        return (patch_owner for ref in list.__iter__(self) if (patch_owner := ref()) is not None)

    def __contains__(self, patch_owner: object) -> bool:
        return any(known is patch_owner for known in self)

    def __bool__(self) -> bool:
        return any(True for _ in self)

    def append(self, patch_owner: Any) -> None:
        """Add an owner."""
        super().append(weakref.ref(patch_owner))

    def remove(self, patch_owner: Any) -> None:
        """Take an owner out, and those that are gone."""
        self[:] = [ref for ref in list.__iter__(self) if ref() is not None and ref() is not patch_owner]


def _method_of(owner: Any, name: str) -> _Method:
    known = getattr(vars(owner).get(name), _MARK, None)
    return known if isinstance(known, _Method) and known.owner is owner else _Method(owner, name)


def _remove_layer(method: _Method, layer: _Layer, patch_owner: PatchOwner) -> None:
    with _lock:
        layer.patch_owners.remove(patch_owner)
        _remove_idle_layer(method, layer)


def _remove_idle_layer(method: _Method, layer: _Layer) -> None:
    with _lock:
        if not layer.patch_owners and layer in method.layers:
            method.remove(layer)


@dataclass(eq=False)
class HookedTeam:
    """One hooked team."""

    team: Any
    """The team, or the single agent, that was hooked."""
    external: bool = False
    """Whether the team, or one inside it, works on a runtime that the user started. Its agents then run in tasks that
    are older than the run and do not inherit our context, so the run is found through :attr:`runs`."""
    runs: list[RunInvocation] = field(default_factory=list)
    """The team's runs in progress; kept up only for external runtimes."""
    agent_names: frozenset[str] = frozenset()
    """The names of the agents whose turns are observed."""
    unprepared: list[Any] = field(default_factory=list)
    """Teams that had run before they were hooked, and whose managers are yet to be observed."""
    patches: PatchSet = field(default_factory=PatchSet)
    """What to undo; also what is patched while the team runs."""

    def run_of_team(self, agent_id: str | None) -> RunInvocation | None:
        """The run in progress on an external runtime, when a runtime's ``agent_id`` is one of this team's."""
        team_id = getattr(self.team, "_team_id", None)  # private in 0.7
        if not self.external or not agent_id or team_id is None or not agent_id.endswith(team_id):
            return None
        return next((run for run in self.runs if not run.ended), None)


def run_for(hooked_teams: Sequence[HookedTeam]) -> RunInvocation | None:
    """The run that the calling code is part of; None outside a run, or where it cannot be told which."""
    run = current_run()
    for hooked_team in hooked_teams:
        if hooked_team.external:
            return _external_run(run, hooked_teams)
    return run


def parent_in(run: RunInvocation) -> Invocation:
    """The enclosing operation of ``run``; the run itself where the calling task did not inherit it."""
    here = current_invocation()
    return here if here is not None and here.run is run else run


def _external_run(current: RunInvocation | None, hooked_teams: Sequence[HookedTeam]) -> RunInvocation | None:
    active = [run for hooked_team in hooked_teams for run in hooked_team.runs if not run.ended]
    if current in active:
        return current
    # A runtime may have been started inside another run; that run's context then reaches our agents.
    return active[0] if len(active) == 1 else current
