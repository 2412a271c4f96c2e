"""What an instrumentor changed in a framework's modules and classes, and what its undoing left changed."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

_ABSENT = object()

PACKAGES = {
    "autogen": ("autogen_agentchat", "autogen_core", "autogen_ext"),
    "crewai": ("crewai",),
    "langgraph": ("langchain", "langchain_core", "langchain_openai", "langgraph"),
}


class Snapshot:
    """The functions of a framework's modules and classes as they are now.

    Args:
        framework: Key of :data:`PACKAGES`.
    """

    def __init__(self, framework: str) -> None:
        self._roots = PACKAGES[framework]
        self._before = {id(owner): (owner, dict(vars(owner))) for owner in self._owners()}

    def changed(self) -> list[tuple[Any, str, Any]]:
        """Owner, name and original of every function or method that is another one now."""
        found = []
        for owner, before in self._before.values():
            now = vars(owner)
            for name in now.keys() | before.keys():
                original = before.get(name, _ABSENT)
                if now.get(name, _ABSENT) is not original and self._counts(owner, original, now.get(name, _ABSENT)):
                    found.append((owner, name, original))
        return found

    def restore(self) -> list[str]:
        """Put back what is changed; gives the names of the places."""
        places = []
        for owner, name, original in self.changed():
            places.append(f"{owner.__name__}.{name}")
            if original is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        return sorted(places)

    def _counts(self, owner: Any, original: Any, now: Any) -> bool:
        if original is _ABSENT and isinstance(owner, ModuleType):
            return False  # a module that was imported late
        return any(callable(value) and not isinstance(value, type) for value in (original, now))

    def _owners(self) -> list[Any]:
        owners: dict[int, Any] = {}
        for name, module in list(sys.modules.items()):
            # Some packages keep lazy stand-ins in sys.modules; those are left alone.
            if name.split(".")[0] not in self._roots or type(module) is not ModuleType:
                continue
            owners[id(module)] = module
            for value in list(vars(module).values()):
                if isinstance(value, type) and str(value.__module__).split(".")[0] in self._roots:
                    owners[id(value)] = value
        return list(owners.values())
