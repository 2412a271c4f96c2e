"""Methods of AutoGen objects that are replaced, shared by every hooked team that the object belongs to.

A tool, a model client or an agent can be part of several hooked teams, and these may be unhooked in any order. So each
replaced method is a stack of layers: a layer is put on once, however many teams ask for it, and the method that was
there comes back, itself, when the last team has let go.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol

from tracer_hooks.adapters import PatchSet


class Wanting(Protocol):
    """Whoever wants a method replaced: a hooked team (``Home``), or someone who watches for teams."""

    patches: PatchSet
    """What to undo when it is wanted no more."""


Make = Callable[[Any, list[Any]], Any]
"""Makes the replacement from the original and the list, which grows and shrinks, of those that want it."""

_MARK = "__tracer_hooks_method__"
"""Attribute of a replacement that holds its :class:`_Method`, which so lives no longer than the owner."""

_lock = threading.RLock()


@dataclass
class _Layer:
    key: str
    make: Make
    homes: list[Wanting]


@dataclass
class _Method:
    owner: Any
    name: str
    layers: list[_Layer] = field(default_factory=list)
    patches: PatchSet = field(default_factory=PatchSet)

    def rebuild(self) -> None:
        self.patches.undo()
        if not self.layers:
            return
        method = getattr(self.owner, self.name)
        for layer in self.layers:
            method = layer.make(method, layer.homes)
        setattr(method, _MARK, self)
        self.patches.patch(self.owner, self.name, method)


def put_layer(owner: Any, name: str, key: str, make: Make, *, home: Wanting) -> None:
    """Replace ``owner.name`` until ``home`` is undone; layers with the same ``key`` are one."""
    with _lock:
        method = _method_of(owner, name)
        layer = next((layer for layer in method.layers if layer.key == key), None)
        if layer is None:
            layer = _Layer(key, make, LiveHomes() if isinstance(owner, (type, ModuleType)) else [])
            method.layers.append(layer)
            layer.homes.append(home)
            method.rebuild()
        elif home not in layer.homes:
            layer.homes.append(home)
        else:
            return
        home.patches.on_undo(lambda: _take_off(method, layer, home))
        if isinstance(layer.homes, LiveHomes):
            weakref.finalize(home, _take_off_if_idle, method, layer)


class LiveHomes(list[Any]):
    """Those that want a method of a class or module replaced, held weakly: these live for ever, a team does not."""

    def __iter__(self) -> Iterator[Any]:
        return (home for ref in list.__iter__(self) if (home := ref()) is not None)

    def __contains__(self, home: object) -> bool:
        return any(known is home for known in self)

    def __bool__(self) -> bool:
        return any(True for _ in self)

    def append(self, home: Any) -> None:
        """Add one."""
        super().append(weakref.ref(home))

    def remove(self, home: Any) -> None:
        """Take one out, and those that are gone."""
        self[:] = [ref for ref in list.__iter__(self) if ref() is not None and ref() is not home]


def _method_of(owner: Any, name: str) -> _Method:
    known = getattr(vars(owner).get(name), _MARK, None)
    return known if isinstance(known, _Method) else _Method(owner, name)


def _take_off(method: _Method, layer: _Layer, home: Wanting) -> None:
    with _lock:
        layer.homes.remove(home)
        _take_off_if_idle(method, layer)


def _take_off_if_idle(method: _Method, layer: _Layer) -> None:
    with _lock:
        if not layer.homes and layer in method.layers:
            method.layers.remove(layer)
            method.rebuild()
