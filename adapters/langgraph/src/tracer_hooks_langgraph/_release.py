"""Which LangGraph is installed, and whether this adapter was made for it."""

from __future__ import annotations

import functools
import re
from importlib.metadata import PackageNotFoundError, requires, version

from tracer_hooks.errors import MissingExtraError, UnsupportedVersionError

_DISTRIBUTION = "tracer-hooks-langgraph"
_FRAMEWORK, _CORE = "langgraph", "langchain-core"


@functools.cache
def langgraph_version() -> str:
    """The installed version of langgraph.

    Raises:
        MissingExtraError: It, or langchain-core, is not installed.
        UnsupportedVersionError: One of them is outside the range that this distribution requires.
    """
    _checked(_CORE)
    return _checked(_FRAMEWORK)


def _checked(name: str) -> str:
    try:
        installed = version(name)
    except PackageNotFoundError as error:
        raise MissingExtraError("hooking a LangGraph team", "tracer-hooks[langgraph]") from error
    supported = _supported_range(name)
    if not is_within(installed, supported):
        raise UnsupportedVersionError(
            f"{name} {installed!r} is installed, expected {supported!r}. Run: pip install '{name}{supported}'"
        )
    return installed


def is_within(installed: str, supported: str) -> bool:
    """Whether a version satisfies a list of bounds such as ``>=1.0,<2``; an empty list is satisfied by all."""
    found = _numbers(installed)
    for operator, bound in re.findall(r"(>=|<)\s*([\d.]+)", supported):
        below = found < _numbers(bound)
        if below if operator == ">=" else not below:
            return False
    return True


def _supported_range(name: str) -> str:
    """The range in our own metadata: pyproject.toml is the one place that states it."""
    try:
        needed = requires(_DISTRIBUTION) or []
    except PackageNotFoundError:
        return ""  # run from a checkout, without an installation
    for requirement in needed:
        match = re.match(r"([\w.-]+)\s*(.*)", requirement)
        if match and match.group(1) == name and "extra" not in match.group(2):
            return match.group(2).strip()
    return ""


def _numbers(text: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match.group().split(".")) if match else ()
