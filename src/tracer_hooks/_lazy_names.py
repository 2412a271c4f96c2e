"""Names of a package that are loaded at their first use (PEP 562), so that importing the package stays fast."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, Iterable[str]], *, moved: Mapping[str, str] | None = None) -> None:
    """Let a package load its names when they are asked for; its ``__init__`` calls this last.

    ``if TYPE_CHECKING:`` it imports the same names from the same homes, for type checkers and editors. They do not see
    the ``__getattr__`` that the package gets here, so that a name that does not exist stays an error to them.

    Args:
        package: The package's ``__name__``. Its ``__all__`` is what ``dir`` lists.
        homes: The names that each module defines. A module is named relative to the package: ``"._log"``.
        moved: Former names, each with its new place, such as ``"tracer_hooks.endpoint:Endpoint"``; using one warns.
    """
    module = sys.modules[package]
    home_of = {name: home for home, names in homes.items() for name in names}
    places = moved or {}

    def load(name: str) -> Any:
        if name in places:
            home, _, new_name = places[name].partition(":")
            warnings.warn(
                f"{package}.{name} is deprecated: use {home}.{new_name}; the old name goes with version 0.3",
                DeprecationWarning,
                stacklevel=2,
            )
            return getattr(import_module(home), new_name)
        home = home_of.get(name, "")
        if not home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home, package), name)
        setattr(module, name, value)  # so that this function is asked only once
        return value

    vars(module).update(__getattr__=load, __dir__=lambda: sorted(module.__all__))
