"""Attributes that are computed once, without a lock."""

from __future__ import annotations

import functools
from typing import Any, Self, TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class cached_property(functools.cached_property[T_co]):
    """``functools.cached_property`` as it is from Python 3.12 on.

    Up to 3.11 it holds a lock, one for all objects of a class, while it computes. A process that is forked meanwhile
    inherits the lock, and nobody ever frees it there. Two threads may compute the value at the same time; both get the
    one that is stored first.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T_co: ...
    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Any:
        if instance is None:
            return self
        name = self.attrname
        if name is None:
            raise TypeError("a cached_property has no name before its class is made")
        known = instance.__dict__
        return known[name] if name in known else known.setdefault(name, self.func(instance))
