"""Changes to LangChain's and LangGraph's classes: made with the first hooked team, undone with the last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracer_hooks.frameworks import ClassPatches, guard, process_lock, warn_once

Wrapper = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Makes a method's replacement from the method."""


class SharedPatches:
    """A set of class methods to replace for as long as somebody holds it."""

    def __init__(self, install: Callable[[SharedPatches], None]) -> None:
        self._install = install
        self._lock = process_lock()
        self._holders = 0
        self._patches = ClassPatches()

    def acquire(self) -> Callable[[], None]:
        """Make sure that the patches are in place; gives the function that lets go of them again."""
        with self._lock:
            self._holders += 1
            if self._holders == 1:
                with guard("patch the framework's classes"):
                    self._install(self)
        return self._release

    def _release(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._patches.undo()

    def wrap(self, owner: type, name: str, wrapper: Wrapper) -> None:
        """Replace ``owner.name``; where there is no such method, say so once and go on without."""
        if callable(vars(owner).get(name)):
            self._patches.wrap(owner, name, wrapper, purpose="run")
            return
        warn_once(
            f"langgraph {owner.__qualname__}.{name}",
            "tracer-hooks found no method %r on %s.%s; what hooks there is left out. Run: tracer-hooks doctor",
            name,
            owner.__module__,
            owner.__qualname__,
        )
