"""Tasks drawn from a seed, no two alike."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

from tracer_hooks.errors import ConfigError
from tracer_hooks.suites._task import SuiteTask

_TRIES: Final = 200
"""Draws in a row that may repeat an earlier task before the source counts as empty."""


def number_from(*parts: object) -> int:
    """A 31-bit number that depends on all of ``parts``, the same on every machine.

    Seeds are mixed instead of added up, so that place 1 of seed 0 has nothing to do with place 0 of seed 1.
    """
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def different_tasks(count: int, draw: Callable[[int], SuiteTask | None]) -> tuple[SuiteTask, ...]:
    """``count`` tasks with different texts out of ``draw(0)``, ``draw(1)``, ...; a draw may give None.

    Raises:
        ConfigError: The draws repeat themselves before there are enough.
    """
    found: dict[str, SuiteTask] = {}
    place = misses = 0
    while len(found) < count:
        task = draw(place)
        place += 1
        if task is not None and task.text not in found:
            found[task.text], misses = task, 0
            continue
        misses += 1
        if misses >= _TRIES:
            raise ConfigError(f"only {len(found)} different tasks were found, {count} are wanted; ask for fewer")
    return tuple(found.values())
