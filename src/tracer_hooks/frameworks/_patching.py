"""Patches of other people's objects and classes, undone exactly, in any order; and values kept in those objects.

Class patches are for frameworks that copy agents, models and teams, or build them on the way: a wrapper in an
instance's ``__dict__`` would be copied along with a binding to the wrong object. Every wrapper first asks whether the
calling code is part of a hooked run, and is otherwise one context variable away from the original.

Values live in the object itself. A dictionary beside the objects, weak or not, cannot do it: a hooked team's runs hold
exceptions, these hold frames, and frames hold the team, so that what is found under the team keeps the team alive.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from types import FunctionType, MemberDescriptorType
from typing import Any

from tracer_hooks._background import process_lock
from tracer_hooks._guard import guard

_ABSENT = object()
_lock = process_lock()
_in_place: weakref.WeakValueDictionary[tuple[int, str, int], _Patch] = weakref.WeakValueDictionary()
"""Every patch in place, by owner, attribute and the value that it found. Weak: a patch lives as long as its set, and
so no longer than the team whose set it is."""


class PatchSet:
    """Attributes that were replaced, and how to put them back.

    Undoing restores the identity of what was there: an attribute that an instance did not have itself is deleted again,
    so that the class's shows through. Two sets may replace the same attribute and be undone in any order. What somebody
    else has put in the place of our value since stays: to take ours away would take theirs, too.
    """

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def __bool__(self) -> bool:
        """Tell whether there is anything to undo."""
        return bool(self._undo)

    def patch(self, owner: Any, name: str, value: Any) -> None:
        """Set ``owner.name`` to ``value``; ``owner`` is an instance, class or module.

        Works on pydantic models and frozen dataclasses too, which refuse ordinary assignment.
        """
        self._undo.append(_Patch(owner, name, value).undo)

    def on_undo(self, action: Callable[[], None]) -> None:
        """Run ``action`` when the set is undone."""
        self._undo.append(action)

    def add(self, other: PatchSet) -> None:
        """Take over what another set has to undo."""
        self._undo += other._undo
        other._undo = []

    def undo(self) -> None:
        """Put everything back, newest first. A second call does nothing."""
        while self._undo:
            action = self._undo.pop()
            with guard("undo a patch"):
                action()


class _Patch:
    """One attribute that was replaced. Patches of one attribute form a chain: each knows the value that it found."""

    __slots__ = ("__weakref__", "_before", "_name", "_owner", "_value")

    def __init__(self, owner: Any, name: str, value: Any) -> None:
        self._owner, self._name, self._value = owner, name, value
        with _lock:
            self._before = _own_value(owner, name)
            _set(owner, name, value)
            _in_place[self._place(self._before)] = self

    def undo(self) -> None:
        with _lock:
            above = _in_place.get(self._place(self._value))
            if _in_place.get(self._place(self._before)) is self:
                del _in_place[self._place(self._before)]
            if above is not None and above is not self:  # another set of ours put its value in the place of ours
                above._before = self._before
                _in_place[self._place(self._before)] = above
            elif _own_value(self._owner, self._name) is self._value:
                _restore(self._owner, self._name, self._before)

    def _place(self, found: Any) -> tuple[int, str, int]:
        return id(self._owner), self._name, id(found)


def _own_value(owner: Any, name: str) -> Any:
    return getattr(owner, name, _ABSENT) if _is_slot(owner, name) else vars(owner).get(name, _ABSENT)


def _is_slot(owner: Any, name: str) -> bool:
    return isinstance(inspect.getattr_static(type(owner), name, None), MemberDescriptorType)


def _set(owner: Any, name: str, value: Any) -> None:
    if isinstance(owner, type):
        setattr(owner, name, value)
    elif _is_slot(owner, name):
        object.__setattr__(owner, name, value)
    else:
        owner.__dict__[name] = value


def _restore(owner: Any, name: str, before: Any) -> None:
    if before is not _ABSENT:
        _set(owner, name, before)
    elif isinstance(owner, type):
        delattr(owner, name)
    elif _is_slot(owner, name):
        object.__delattr__(owner, name)
    else:
        owner.__dict__.pop(name, None)


Make = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Makes the wrapper of a method."""


class ClassPatches:
    """Wrapped methods, each wrapped once, and how to put them back."""

    def __init__(self) -> None:
        self._lock = process_lock()
        self._wrapped: dict[tuple[type, str, str], tuple[Any, Any]] = {}

    def wrap(self, cls: type, name: str, make: Make, *, purpose: str) -> bool:
        """Wrap ``name`` where ``cls`` or a base defines it, once for each ``purpose``; False when none does."""
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        if owner is None:
            return False
        key, value = (owner, name, purpose), vars(owner)[name]
        with self._lock:
            # One that is known and was put back by somebody else is applied again.
            if key not in self._wrapped or not _wraps(value, self._wrapped[key][1]):
                wrapper = make(_as_function_of_object(value))
                setattr(owner, name, wrapper)
                self._wrapped[key] = (value, wrapper)
        return True

    def undo(self) -> None:
        """Put every method back, newest first.

        A method that somebody else wrapped on top of ours stays, since removing ours would remove theirs too: our
        wrapper then only passes through, and is not applied a second time. One that somebody else put back is gone.
        """
        with self._lock:
            for key, (before, wrapper) in reversed(list(self._wrapped.items())):
                owner, name, _ = key
                value = vars(owner).get(name)
                if value is wrapper:
                    setattr(owner, name, before)
                if value is wrapper or not _wraps(value, wrapper):
                    del self._wrapped[key]


def _as_function_of_object(method: Any) -> Callable[..., Any]:
    """``method`` as a function of the object: what others wrap methods in may want to be bound to it first."""
    if type(method) is FunctionType:  # not isinstance, which some proxies pass
        return method

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method.__get__(self, type(self))(*args, **kwargs)

    return call


def _wraps(method: Any, wrapper: Any) -> bool:
    """Tell whether ``wrapper`` is ``method``, or what others have wrapped around it, as far as that can be seen."""
    waiting, seen = [method], set[int]()
    while waiting:
        candidate = waiting.pop()
        if candidate is wrapper:
            return True
        if id(candidate) in seen or not callable(candidate):
            continue
        seen.add(id(candidate))
        waiting += [cell.cell_contents for cell in getattr(candidate, "__closure__", None) or () if _is_filled(cell)]
        waiting += [getattr(candidate, "__func__", None), getattr(candidate, "__wrapped__", None)]
    return False


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:  # not bound yet
        return False
    return True


class _Attachment:
    """Holds values for one object; a copy or a pickle of that object has no use of them."""

    __slots__ = ("_owner", "_values")

    def __init__(self, owner: Any, values: tuple[Any, ...]) -> None:
        self._owner = weakref.ref(owner)
        self._values = values

    def values_for(self, owner: Any) -> tuple[Any, ...]:
        """The values; none for another object, such as a shallow copy."""
        return self._values if self._owner() is owner else ()

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return object, ()


def attached(owner: Any, name: str) -> tuple[Any, ...]:
    """Values kept in ``owner`` under ``name``, the newest last."""
    found = getattr(owner, "__dict__", {}).get(name)
    return found.values_for(owner) if isinstance(found, _Attachment) else ()


def attach(owner: Any, name: str, value: Any) -> bool:
    """Keep ``value`` in ``owner``; False for an object that can hold nothing, or cannot be referred to weakly."""
    try:
        owner.__dict__[name] = _Attachment(owner, (*attached(owner, name), value))
    except (AttributeError, TypeError):
        return False
    return True


def detach(owner: Any, name: str, value: Any) -> None:
    """Take ``value`` out of ``owner`` again; values are taken out in any order."""
    left = tuple(kept for kept in attached(owner, name) if kept is not value)
    if left:
        owner.__dict__[name] = _Attachment(owner, left)
    else:
        getattr(owner, "__dict__", {}).pop(name, None)
