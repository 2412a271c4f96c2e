"""Which AutoGen is installed, and whether this adapter was made for it."""

from __future__ import annotations

import functools
import re
from importlib.metadata import PackageNotFoundError, requires, version

from tracer_hooks.errors import MissingExtraError, UnsupportedVersionError

_DISTRIBUTION = "tracer-hooks-autogen"
_FRAMEWORK = "autogen-agentchat"


@functools.cache
def autogen_version() -> str:
    """The installed version of autogen-agentchat.

    Raises:
        MissingExtraError: It is not installed.
        UnsupportedVersionError: It is outside the range that this distribution requires.
    """
    try:
        installed = version(_FRAMEWORK)
    except PackageNotFoundError as error:
        raise MissingExtraError("hooking an AutoGen team", "tracer-hooks[autogen]") from error
    supported = _supported_range()
    if not is_within(installed, supported):
        raise UnsupportedVersionError(
            f"{_FRAMEWORK} {installed!r} is installed, expected {supported!r}. "
            f"Run: pip install '{_FRAMEWORK}{supported}'"
        )
    return installed


def is_within(installed: str, supported: str) -> bool:
    """Whether a version satisfies a list of bounds such as ``>=0.7,<0.8``; an empty list is satisfied by all."""
    found = _numbers(installed)
    for operator, bound in re.findall(r"(>=|<)\s*([\d.]+)", supported):
        below = found < _numbers(bound)
        if below if operator == ">=" else not below:
            return False
    return True


def _supported_range() -> str:
    """The range in our own metadata: pyproject.toml is the one place that states it."""
    try:
        needed = requires(_DISTRIBUTION) or []
    except PackageNotFoundError:
        return ""  # run from a checkout, without an installation
    for requirement in needed:
        if requirement.startswith(_FRAMEWORK) and "extra" not in requirement:
            return requirement.removeprefix(_FRAMEWORK).strip()
    return ""


def _numbers(text: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match.group().split(".")) if match else ()
