"""Names, modules and attributes loaded or computed at their first use. Stands beside all layers."""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any, Self, TypeVar, overload

from tracer_hooks._moved import moved_name
from tracer_hooks.errors import MissingExtraError

_IMPORT = re.compile(r"^    from (\S+) import (\([^)]*\)|[^\n(]*)", re.MULTILINE)
_AS_ITSELF = re.compile(r"\b(\w+) as \1\b")


def lazy_names(package: str, *, eager: Iterable[str] = ()) -> list[str]:
    """Let a package load its names when they are asked for; its ``__init__`` calls this last.

    ``if TYPE_CHECKING:`` the package imports each name from its home, ``as`` itself, for type checkers and editors; the
    same lines are read here, so that a name is written once. Type checkers do not see the ``__getattr__`` that the
    package gets here: a name that does not exist stays an error to them.

    Args:
        package: The package's ``__name__``.
        eager: Public names that the package defines itself.

    Returns:
        The package's public names, sorted: its ``__all__``.
    """
    module = sys.modules[package]
    source = module.__loader__.get_source(package)  # type: ignore[union-attr]
    home_of = {name: home for home, names in _IMPORT.findall(source) for name in _AS_ITSELF.findall(names)}
    public = sorted({*home_of, *eager})

    def load(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            return moved_name(package, name)
        value = import_module(f"{package}.{name}") if home == package else getattr(import_module(home), name)
        setattr(module, name, value)  # so that this function is asked only once
        return value

    vars(module).update(__getattr__=load, __dir__=lambda: public)
    return public


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
