"""Methods of CrewAI's classes, wrapped while any team is hooked.

Classes, not instances: CrewAI copies agents, models and crews (``kickoff_for_each``, ``Crew.copy``, the manager of a
hierarchical crew) and builds them inside flows. A wrapper in an instance's ``__dict__`` would be copied along with a
binding to the wrong object, and would make the object impossible to pickle. Every wrapper first asks whether the
calling code is part of a hooked run, and is otherwise one context variable away from the original.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

Make = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Makes the wrapper of a method."""


class ClassPatches:
    """Wrapped methods, each wrapped once, and how to put them back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wrapped: dict[tuple[type, str, str], tuple[Any, Any]] = {}

    def wrap(self, cls: type, name: str, make: Make, *, purpose: str) -> bool:
        """Wrap ``name`` where ``cls`` or a base defines it, once for each ``purpose``; False when none does."""
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        if owner is None:
            return False
        with self._lock:
            if (owner, name, purpose) not in self._wrapped:
                before = vars(owner)[name]
                wrapper = make(before)
                setattr(owner, name, wrapper)
                self._wrapped[(owner, name, purpose)] = (before, wrapper)
        return True

    def undo(self) -> None:
        """Put every method back, newest first.

        A method that somebody else wrapped on top of ours stays, since removing ours would remove theirs too: our
        wrapper then only passes through, and is not applied a second time.
        """
        with self._lock:
            for key, (before, wrapper) in reversed(list(self._wrapped.items())):
                owner, name, _ = key
                if vars(owner).get(name) is wrapper:
                    setattr(owner, name, before)
                    del self._wrapped[key]
