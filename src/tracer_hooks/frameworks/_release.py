"""Which release of a framework is installed, and whether an adapter was made for it."""

from __future__ import annotations

import functools
import re
from importlib.metadata import PackageNotFoundError, requires, version

from tracer_hooks.errors import MissingExtraError, UnsupportedVersionError


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
    """Whether a version satisfies a list of bounds such as ``>=1.0,<2``; an empty list is satisfied by all."""
    found = _numbers(installed)
    for operator, bound in re.findall(r"(>=|<)\s*([\d.]+)", supported):
        below = found < _numbers(bound)
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


def _numbers(text: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match.group().split(".")) if match else ()
