"""Attributors by name, and fitted ones by directory."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from tracer_hooks.diagnosis._protocol import Attributor
from tracer_hooks.errors import ConfigError, MissingExtraError

AUTO = "auto"
GROUP = "tracer_hooks.attributors"
"""Entry points of this group are attributors of other distributions: ``name = "module:callable"``."""

# Modules are imported when the attributor is asked for: some bring torch with them.
_SHIPPED: dict[str, str] = {
    "contrast": "tracer_hooks.diagnosis.contrast:ContrastAttributor",
    "ensemble": "tracer_hooks.diagnosis.ranking._ensemble:EnsembleAttributor",
    "judge": "tracer_hooks.diagnosis.judge:JudgeAttributor",
    "structural": "tracer_hooks.diagnosis.ranking._attributor:StructuralAttributor",
}
_OF_MODELS = ("encoder", "prefill")
"""Attributors of the distribution tracer-hooks-models, whose entry points name them."""
# With architectures left out, neither the encoder nor a pool with it was better on a team never seen, and both cost a
# hundred times as much; see the benchmarks page.
_AUTOMATIC = _SHIPPED["structural"]
_REGISTERED: dict[str, Callable[[], Attributor]] = {}


def get_attributor(name: str | Path | Attributor = AUTO) -> Attributor:
    """The attributor of that name, or the fitted one in that directory; an attributor is handed back as it is.

    Args:
        name: ``"auto"`` takes the best that is installed. A path, or a name with a separator in it, is a directory that
            ``tracer-hooks fit`` wrote.

    Raises:
        ConfigError: No attributor has that name, the directory holds none, or ``name`` is something else altogether.
        MissingExtraError: The attributor needs a package that is not installed.
        AttributionError: The directory holds an attributor that cannot be read.
    """
    if isinstance(name, Path):
        return _load(name)
    if not isinstance(name, str):
        if isinstance(name, Attributor):
            return name
        raise ConfigError(f"expected the name of an attributor or an object with a name and attribute(), got {name!r}")
    if name in _REGISTERED:
        return _REGISTERED[name]()
    if name == AUTO:
        return _made(_AUTOMATIC)
    if name in _SHIPPED:
        return _made(_SHIPPED[name])
    for point in entry_points(group=GROUP, name=name):
        return _from_entry_point(point)
    if name in _OF_MODELS:
        raise MissingExtraError(f"the attributor {name!r}", "tracer-hooks[models]")
    if Path(name).is_dir() or "/" in name or "\\" in name:
        return _load(Path(name))
    known = ", ".join(repr(one) for one in attributor_names())
    raise ConfigError(
        f"unknown attributor {name!r}, expected one of {known} or a directory that `tracer-hooks fit` wrote. "
        "Run: tracer-hooks doctor"
    )


def attributor_names() -> tuple[str, ...]:
    """Every name that :func:`get_attributor` takes, ``"auto"`` first."""
    return (AUTO, *sorted({*_SHIPPED, *_OF_MODELS, *_REGISTERED, *(point.name for point in entry_points(group=GROUP))}))


def register_attributor(name: str, factory: Callable[[], Attributor]) -> None:
    """Make an attributor available under ``name`` in this process; an attributor of the same name is replaced.

    Raises:
        ConfigError: The name is empty or ``"auto"``.
    """
    if not name or name == AUTO:
        raise ConfigError(f"an attributor cannot be called {name!r}, expected any name but '' and {AUTO!r}")
    _REGISTERED[name] = factory


def _load(directory: Path) -> Attributor:
    """The fitted attributor in a directory: the one whose ``NAME.json`` lies there."""
    for name in (*_SHIPPED, *_OF_MODELS):
        if (directory / f"{name}.json").is_file():
            load = getattr(_class_of(name), "load", None)
            if load is not None:  # of one that cannot be fitted, a file of that name is somebody else's
                found: Attributor = load(directory)
                return found
    raise ConfigError(
        f"no fitted attributor in {str(directory)!r}, expected a directory that `tracer-hooks fit` wrote. "
        f"Run: tracer-hooks fit --labels PATH --out {str(directory)!r}"
    )


def _from_entry_point(point: EntryPoint) -> Attributor:
    """Return what the callable of an entry point makes.

    Raises:
        ConfigError: It cannot be loaded, or makes no attributor; the message names the distribution.
    """
    owner = f"the attributor {point.name!r} of {point.dist.name if point.dist is not None else point.value!r}"
    try:
        found = point.load()()
    except MissingExtraError:
        raise
    except Exception as error:  # a third party's code may fail in any way
        raise ConfigError(
            f"{owner} cannot be loaded: {type(error).__name__}: {error}. Expected {point.value!r} to make one; "
            "update or remove that distribution"
        ) from error
    if not isinstance(found, Attributor):
        raise ConfigError(f"{owner} is {found!r}, expected an object with a name and attribute()")
    return found


def _class_of(name: str) -> Any:
    """Return what makes the attributor ``name`` of ours.

    Raises:
        MissingExtraError: Its distribution is not installed.
    """
    if name in _SHIPPED:
        return _imported(_SHIPPED[name])
    for point in entry_points(group=GROUP, name=name):
        return point.load()
    raise MissingExtraError(f"the attributor {name!r}", "tracer-hooks[models]")


def _made(place: str) -> Attributor:
    attributor: Attributor = _imported(place)()
    return attributor


def _imported(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
