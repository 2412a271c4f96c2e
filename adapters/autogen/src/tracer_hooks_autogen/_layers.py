"""Methods of AutoGen objects that are replaced, shared by every hooked team that the object belongs to.

A tool, a model client or an agent can be part of several hooked teams, and these may be unhooked in any order. So each
replaced method is a stack of layers: a layer is put on once, however many teams ask for it, and the method that was
there comes back, itself, when the last team has let go.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import MethodType, ModuleType
from typing import Any, Protocol

from tracer_hooks.frameworks import PatchSet, process_lock


class Wanting(Protocol):
    """Whoever wants a method replaced: a hooked team (``Home``), or someone who watches for teams."""

    patches: PatchSet
    """What to undo when it is wanted no more."""


Make = Callable[[Any, list[Any]], Any]
"""Makes the replacement from the original and the list, which grows and shrinks, of those that want it."""

_MARK = "__tracer_hooks_method__"
"""Attribute of a replacement that holds its :class:`_Method`, which so lives no longer than the owner."""

_lock = process_lock()


@dataclass
class _Layer:
    key: str
    make: Make
    homes: list[Wanting]


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
            method = layer.make(method, layer.homes)
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
        owner = self.owner
        replacement: Any
        if inspect.iscoroutinefunction(method):

            async def call_async(self: Any, *args: Any, **kwargs: Any) -> Any:
                return await (method if self is owner else original(self))(*args, **kwargs)

            replacement = call_async
        else:

            def call(self: Any, *args: Any, **kwargs: Any) -> Any:
                return (method if self is owner else original(self))(*args, **kwargs)

            replacement = call
        name, own = self.name, self._original if self._is_own else None

        def original(copy: Any) -> Any:
            return own if own is not None else getattr(type(copy), name).__get__(copy)

        # Of the function, not of the bound method, whose signature would lose its first parameter twice.
        functools.update_wrapper(replacement, getattr(self._original, "__func__", self._original))
        return MethodType(replacement, owner)


def put_layer(owner: Any, name: str, key: str, make: Make, *, home: Wanting) -> None:
    """Replace ``owner.name`` until ``home`` is undone; layers with the same ``key`` are one."""
    with _lock:
        method = _method_of(owner, name)
        layer = next((layer for layer in method.layers if layer.key == key), None)
        if layer is None:
            layer = _Layer(key, make, LiveHomes() if isinstance(owner, (type, ModuleType)) else [])
            layer.homes.append(home)
            method.add(layer)
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
    return known if isinstance(known, _Method) and known.owner is owner else _Method(owner, name)


def _take_off(method: _Method, layer: _Layer, home: Wanting) -> None:
    with _lock:
        layer.homes.remove(home)
        _take_off_if_idle(method, layer)


def _take_off_if_idle(method: _Method, layer: _Layer) -> None:
    with _lock:
        if not layer.homes and layer in method.layers:
            method.remove(layer)
