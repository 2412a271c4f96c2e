"""Methods of a framework's classes that are wrapped while any of its teams is hooked.

For frameworks that copy agents, models and teams, or build them on the way: a wrapper in an instance's ``__dict__``
would be copied along with a binding to the wrong object. Every wrapper first asks whether the calling code is part of a
hooked run, and is otherwise one context variable away from the original.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from tracer_hooks._background import process_lock

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
            if key not in self._wrapped or not _holds(value, self._wrapped[key][1]):
                wrapper = make(_called_on_an_object(value))
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
                if value is wrapper or not _holds(value, wrapper):
                    del self._wrapped[key]


def _called_on_an_object(method: Any) -> Callable[..., Any]:
    """``method`` as a function of the object: what others wrap methods in may want to be bound to it first."""
    if type(method) is FunctionType:  # not isinstance, which some proxies pass
        return method

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method.__get__(self, type(self))(*args, **kwargs)

    return call


def _holds(method: Any, wrapper: Any) -> bool:
    """Whether ``wrapper`` is ``method``, or what others have wrapped around it, as far as that can be seen."""
    waiting, seen = [method], set[int]()
    while waiting:
        one = waiting.pop()
        if one is wrapper:
            return True
        if id(one) in seen or not callable(one):
            continue
        seen.add(id(one))
        waiting += [cell.cell_contents for cell in getattr(one, "__closure__", None) or () if _is_filled(cell)]
        waiting += [getattr(one, "__func__", None), getattr(one, "__wrapped__", None)]
    return False


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:  # not bound yet
        return False
    return True
