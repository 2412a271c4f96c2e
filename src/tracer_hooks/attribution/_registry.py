"""Attributors by name."""

from __future__ import annotations

from collections.abc import Callable

from tracer_hooks.attribution._protocol import Attributor
from tracer_hooks.attribution._rules import RulesAttributor
from tracer_hooks.errors import ConfigError

AUTO = "auto"

_FACTORIES: dict[str, Callable[[], Attributor]] = {"rules": RulesAttributor, "structural": RulesAttributor}


def get_attributor(name: str | Attributor = AUTO) -> Attributor:
    """The attributor of that name; an attributor is handed back as it is.

    Args:
        name: ``"auto"`` takes the best one that is installed.

    Raises:
        ConfigError: No attributor has that name, or ``name`` is something else altogether.
    """
    if not isinstance(name, str):
        if isinstance(name, Attributor):
            return name
        raise ConfigError(
            f"expected the name of an attributor or an object with attribute() and attribute_many(), got {name!r}"
        )
    factory = _FACTORIES.get("structural" if name == AUTO else name)
    if factory is None:
        known = ", ".join(repr(one) for one in attributor_names())
        raise ConfigError(f"unknown attributor {name!r}, expected one of {known}. Run: tracer-hooks doctor")
    return factory()


def attributor_names() -> tuple[str, ...]:
    """Every name that :func:`get_attributor` takes, ``"auto"`` first."""
    return (AUTO, *sorted(_FACTORIES))


def register_attributor(name: str, factory: Callable[[], Attributor]) -> None:
    """Make an attributor available under ``name`` in this process; an attributor of the same name is replaced.

    Raises:
        ConfigError: The name is empty or ``"auto"``.
    """
    if not name or name == AUTO:
        raise ConfigError(f"an attributor cannot be called {name!r}, expected any name but '' and {AUTO!r}")
    _FACTORIES[name] = factory
