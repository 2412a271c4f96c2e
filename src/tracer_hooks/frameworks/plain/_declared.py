"""Agents whose instructions are declared while a factory builds a team in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_DECLARED: ContextVar[dict[str, str] | None] = ContextVar("tracer_hooks_declared", default=None)


@contextmanager
def declared_agents() -> Iterator[dict[str, str]]:
    """Collects, by name, the instructions of the agents that are declared within the block."""
    found: dict[str, str] = {}
    token = _DECLARED.set(found)
    try:
        yield found
    finally:
        _DECLARED.reset(token)


def declare(name: object, instructions: object) -> None:
    """Note an agent; one whose name or instructions are known in its calls only is passed over."""
    found = _DECLARED.get()
    if found is not None and isinstance(name, str) and isinstance(instructions, str):
        found[name] = instructions
