"""Names, modules and attributes loaded or computed at their first use. Stands beside all layers."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Self, TypeVar, overload

from tracer_hooks._moved import moved_name
from tracer_hooks.errors import MissingExtraError


def lazy_names(package: str, homes: Mapping[str, Iterable[str]]) -> None:
    """Let a package load its names when they are asked for; its ``__init__`` calls this last.

    ``if TYPE_CHECKING:`` it imports the same names from the same homes, for type checkers and editors. They do not see
    the ``__getattr__`` that the package gets here, so that a name that does not exist stays an error to them.

    Args:
        package: The package's ``__name__``. Its ``__all__`` is what ``dir`` lists.
        homes: The names that each module defines. A module is named relative to the package: ``"._log"``.
    """
    module = sys.modules[package]
    home_of = {name: home for home, names in homes.items() for name in names}

    def load(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            return moved_name(package, name)
        value = getattr(import_module(home, package), name)
        setattr(module, name, value)  # so that this function is asked only once
        return value

    vars(module).update(__getattr__=load, __dir__=lambda: sorted(module.__all__))


def require(module: str, *, extra: str, feature: str) -> ModuleType:
    """Import ``module``, or say what to install.

    Args:
        module: Dotted module name.
        extra: The extra of ``tracer-hooks`` that brings it.
        feature: What the caller wanted it for; begins the message.

    Raises:
        MissingExtraError: The module, or something it needs, is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(feature, f"tracer-hooks[{extra}]") from error


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
