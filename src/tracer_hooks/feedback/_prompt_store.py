"""Every version of every prompt, so that each can be compared and taken back."""

from __future__ import annotations

import difflib
import threading
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable

from pydantic import AwareDatetime, Field

from tracer_hooks.errors import StoreError
from tracer_hooks.schema import Record, Text


class PromptVersion(Record):
    """One version of one agent's prompt."""

    agent: Text
    """Whose prompt it is."""
    version: int = Field(ge=1)
    """Counted from 1 for each agent."""
    text: Text
    """The prompt."""
    note: Text = ""
    """Where it comes from."""
    created_at: AwareDatetime = Field(default_factory=lambda: datetime.now(UTC))
    """When it was saved (UTC)."""


@runtime_checkable
class PromptStore(Protocol):
    """Keeps versions of prompts. Versions are only added: a rollback is a new version with an old text."""

    def save(self, agent: str, text: str, *, note: str = "") -> PromptVersion:
        """Add a version; the newest one is handed back when it has the same text."""
        ...

    def current(self, agent: str) -> PromptVersion | None:
        """The newest version; None for an agent without any."""
        ...

    def versions(self, agent: str) -> tuple[PromptVersion, ...]:
        """All versions, the oldest first."""
        ...

    def rollback(self, agent: str, version: int) -> PromptVersion:
        """Make the text of ``version`` the newest one."""
        ...

    def diff(self, agent: str, before: int, after: int) -> str:
        """What changed between two versions, as a unified diff."""
        ...


class InMemoryPromptStore:
    """A :class:`PromptStore` that lasts as long as the process; safe with several threads."""

    def __init__(self) -> None:
        self._versions: dict[str, list[PromptVersion]] = {}
        self._lock = threading.Lock()

    def save(self, agent: str, text: str, *, note: str = "") -> PromptVersion:
        """Add a version; the newest one is handed back when it has the same text."""
        with self._lock:
            known = self._versions.setdefault(agent, [])
            version = PromptVersion(agent=agent, version=len(known) + 1, text=text, note=note)
            if known and known[-1].text == version.text:
                return known[-1]
            known.append(version)
            return version

    def current(self, agent: str) -> PromptVersion | None:
        """The newest version; None for an agent without any."""
        with self._lock:
            known = self._versions.get(agent)
            return known[-1] if known else None

    def versions(self, agent: str) -> tuple[PromptVersion, ...]:
        """All versions, the oldest first."""
        with self._lock:
            return tuple(self._versions.get(agent, ()))

    def rollback(self, agent: str, version: int) -> PromptVersion:
        """Make the text of ``version`` the newest one.

        Raises:
            StoreError: The agent has no such version.
        """
        return self.save(agent, self._find(agent, version).text, note=f"rollback to version {version}")

    def diff(self, agent: str, before: int, after: int) -> str:
        """What changed between two versions, as a unified diff.

        Raises:
            StoreError: The agent has no such version.
        """
        old, new = self._find(agent, before), self._find(agent, after)
        return prompt_diff(old.text, new.text, before_name=f"{agent} v{before}", after_name=f"{agent} v{after}")

    def _find(self, agent: str, version: int) -> PromptVersion:
        for one in self.versions(agent):
            if one.version == version:
                return one
        known = ", ".join(str(one.version) for one in self.versions(agent)) or "none"
        raise StoreError(
            f"no version {version!r} of the prompt of {agent!r}, expected one of: {known}. "
            "Run: tracer-hooks prompts list"
        )


def prompt_diff(before: str, after: str, *, before_name: str = "before", after_name: str = "after") -> str:
    """What changed between two prompts, as a unified diff; empty when nothing did."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), before_name, after_name, lineterm="")
    return "\n".join(lines)
