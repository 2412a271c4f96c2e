"""Discovery of adapters by the entry points of the group ``tracer_hooks.adapters``, and the releases they support."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, requires, version
from inspect import getattr_static

from tracer_hooks._guard import guarded, warn_once
from tracer_hooks.errors import AdapterNotFoundError, MissingExtraError, UnsupportedVersionError
from tracer_hooks.frameworks._protocol import Adapter

GROUP = "tracer_hooks.adapters"
_ENTRY_POINTS = ("run", "arun", "invoke", "ainvoke", "kickoff", "execute", "solve", "chat", "stream")
"""Usual names of methods that run a team."""
_EXTRAS = {"autogen_agentchat": "autogen", "crewai": "crewai", "langgraph": "langgraph", "langchain": "langgraph"}


@dataclass(frozen=True)
class FoundAdapter:
    """An entry point, and the adapter it gave or the reason why it gave none."""

    name: str
    adapter: Adapter | None
    problem: str | None = None


@functools.cache
def find_adapters() -> tuple[FoundAdapter, ...]:
    """Every adapter that is installed, loaded; one that fails to load is reported, not raised."""
    return tuple(_load(point) for point in sorted(entry_points(group=GROUP), key=lambda point: point.name))


def get_adapter(name: str) -> Adapter:
    """The installed adapter called ``name``.

    Raises:
        AdapterNotFoundError: There is none, or it cannot be loaded.
    """
    known = find_adapters()
    for found in known:
        if found.name == name and found.adapter is not None:
            return found.adapter
        if found.name == name:
            raise AdapterNotFoundError(f"adapter {name!r} cannot be loaded: {found.problem}. Run: tracer-hooks doctor")
    names = ", ".join(repr(found.name) for found in known) or "none"
    raise AdapterNotFoundError(f"no adapter {name!r} is installed (found: {names}). Run: tracer-hooks doctor")


def adapter_for(team: object) -> Adapter:
    """The installed adapter that recognises ``team``.

    Raises:
        MissingExtraError: The framework is known, but its adapter is not installed.
        AdapterNotFoundError: No adapter recognises the object.
    """
    for found in find_adapters():
        if found.adapter is not None and _recognises(found.adapter, team):
            return found.adapter
    modules = {base.__module__.partition(".")[0] for base in type(team).__mro__}
    for module in sorted(modules & _EXTRAS.keys()):
        raise MissingExtraError(f"hooking a {type(team).__name__}", f"tracer-hooks[{_EXTRAS[module]}]")
    raise AdapterNotFoundError(
        f"no installed adapter recognises {type(team).__module__}.{type(team).__qualname__}; "
        f"expected an AutoGen team or agent, a CrewAI Crew or Flow, a compiled LangGraph graph, or a function. "
        f"{_advice_for(team) or 'Run: tracer-hooks doctor'}"
    )


def _advice_for(team: object) -> str | None:
    """Advise on a team of the user's own class: its entry point is a function like any other."""
    for name in _ENTRY_POINTS:
        if callable(getattr_static(team, name, None)):
            return f"For a team of your own class, hook its method: team.{name} = tracer_hooks.hook(team.{name})"
    return None


@guarded("ask an adapter whether it recognises the team", False)
def _recognises(adapter: Adapter, team: object) -> bool:
    return adapter.recognises(team)


def _load(point: EntryPoint) -> FoundAdapter:
    try:
        adapter = point.load()()
    except Exception as error:  # a third party's adapter may fail in any way; the others must go on
        warn_once(
            f"adapter {point.name}", "tracer-hooks cannot load the adapter %r (%s): %s", point.name, point.value, error
        )
        return FoundAdapter(point.name, None, f"{type(error).__name__}: {error}")
    if not isinstance(adapter, Adapter):
        return FoundAdapter(point.name, None, f"{point.value} is not an Adapter")
    return FoundAdapter(point.name, adapter)


@functools.cache  # a run begins with it, and looking into the installed distributions takes milliseconds
def supported_version(framework: str, *, adapter: str, extra: str) -> str:
    """The installed version of a framework's distribution.

    The range is read from the adapter's own metadata: its ``pyproject.toml`` is the one place that states it.

    Args:
        framework: The framework's distribution, for example ``"crewai"``.
        adapter: The adapter's distribution, for example ``"tracer-hooks-crewai"``.
        extra: The extra of ``tracer-hooks`` that brings both.

    Raises:
        MissingExtraError: The framework is not installed.
        UnsupportedVersionError: It is installed in a version outside the adapter's range.
    """
    try:
        installed = version(framework)
    except PackageNotFoundError as error:
        raise MissingExtraError(f"hooking a {framework} team", f"tracer-hooks[{extra}]") from error
    supported = _supported_range(framework, adapter)
    if not is_within(installed, supported):
        raise UnsupportedVersionError(
            f"{framework} {installed!r} is installed, expected {supported!r}. Run: pip install '{framework}{supported}'"
        )
    return installed


def is_within(installed: str, supported: str) -> bool:
    """Tell whether a version satisfies a list of bounds such as ``>=1.0,<2``; an empty list is satisfied by all."""
    found = _version_numbers(installed)
    for operator, bound in re.findall(r"(>=|<)\s*([\d.]+)", supported):
        below = found < _version_numbers(bound)
        if below if operator == ">=" else not below:
            return False
    return True


def _supported_range(framework: str, adapter: str) -> str:
    try:
        needed = requires(adapter) or []
    except PackageNotFoundError:
        return ""  # run from a checkout, without an installation
    for requirement in needed:
        match = re.match(r"([\w.-]+)\s*(.*)", requirement)
        if match and match.group(1) == framework and "extra" not in match.group(2):
            return ",".join(sorted(match.group(2).replace(" ", "").split(","), reverse=True))  # the floor first
    return ""


def _version_numbers(text: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match.group().split(".")) if match else ()
