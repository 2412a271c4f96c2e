"""Methods of AutoGen objects that are replaced, shared by every hooked team that the object belongs to.

A tool, a model client or an agent can be part of several hooked teams, and these may be unhooked in any order. So each
replaced method is a stack of layers: a layer is put on once, however many teams ask for it, and the method that was
there comes back, itself, when the last team has let go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tracer_hooks.adapters import PatchSet


class Wanting(Protocol):
    """Whoever wants a method replaced: a hooked team (``Home``), or someone who watches for teams."""

    patches: PatchSet
    """What to undo when it is wanted no more."""


Make = Callable[[Any, list[Any]], Any]
"""Makes the replacement from the original and the list, which grows and shrinks, of those that want it."""

_methods: dict[tuple[int, str], _Method] = {}
_lock = threading.RLock()


@dataclass
class _Layer:
    key: str
    make: Make
    homes: list[Wanting] = field(default_factory=list)


@dataclass
class _Method:
    owner: Any  # held, so that its id stays its own
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
        self.patches.patch(self.owner, self.name, method)


def put_layer(owner: Any, name: str, key: str, make: Make, *, home: Wanting) -> None:
    """Replace ``owner.name`` until ``home`` is undone; layers with the same ``key`` are one."""
    with _lock:
        method = _methods.setdefault((id(owner), name), _Method(owner, name))
        layer = next((layer for layer in method.layers if layer.key == key), None)
        if layer is None:
            layer = _Layer(key, make)
            method.layers.append(layer)
            layer.homes.append(home)
            method.rebuild()
        elif home not in layer.homes:
            layer.homes.append(home)
        else:
            return
        home.patches.on_undo(lambda: _take_off(method, layer, home))


def _take_off(method: _Method, layer: _Layer, home: Wanting) -> None:
    with _lock:
        layer.homes.remove(home)
        if layer.homes:
            return
        method.layers.remove(layer)
        method.rebuild()
        if not method.layers:
            _methods.pop((id(method.owner), method.name), None)
