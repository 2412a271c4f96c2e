"""Changes to other people's objects, kept in one list and undone exactly."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MemberDescriptorType
from typing import Any

from tracer_hooks._guard import guard

_ABSENT = object()


class PatchSet:
    """Attributes that were replaced, and how to put them back.

    Undoing restores the identity of what was there: an attribute that an instance did not have itself is deleted again,
    so that the class's shows through.
    """

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def patch(self, owner: Any, name: str, value: Any) -> None:
        """Set ``owner.name`` to ``value``; ``owner`` is an instance, class or module.

        Works on pydantic models and frozen dataclasses too, which refuse ordinary assignment.
        """
        before = getattr(owner, name, _ABSENT) if _is_slot(owner, name) else vars(owner).get(name, _ABSENT)
        _set(owner, name, value)
        self._undo.append(lambda: _restore(owner, name, before))

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
