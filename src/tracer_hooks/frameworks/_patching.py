"""Changes to other people's objects, kept in sets, and undone exactly, in whatever order the sets are undone."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from types import MemberDescriptorType
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
        """Whether there is anything to undo."""
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
