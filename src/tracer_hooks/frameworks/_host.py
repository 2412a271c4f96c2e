"""The seam between a framework's entry points and whoever conducts the run: check, diagnosis, retries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, kw_only=True)
class TeamCall:
    """A user's call of one of a team's entry points.

    The host makes the call happen with ``getattr(team, method)(*args, **kwargs)`` inside a run whose subject is the
    team: the wrapped entry point then passes through to the framework's own method. A retry does the same on a team
    that is built anew.
    """

    team: Any
    method: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    task: str = ""
    """The task as text."""

    def on(self, team: Any) -> Any:
        """Make the call on ``team``; gives what the entry point gives (a value, coroutine or generator)."""
        return getattr(team, self.method)(*self.args, **self.kwargs)


class RunHost(Protocol):
    """Conducts runs: opens the run, makes the call, judges, diagnoses, retries, and gives the native result."""

    def call(self, call: TeamCall) -> Any:
        """Conduct a call that returns."""

    async def acall(self, call: TeamCall) -> Any:
        """Conduct a call that is awaited."""

    def stream(self, call: TeamCall) -> Iterator[Any]:
        """Conduct a call that gives a generator."""

    def astream(self, call: TeamCall) -> AsyncIterator[Any]:
        """Conduct a call that gives an asynchronous generator."""


@runtime_checkable
class SelectiveHost(Protocol):
    """A :class:`RunHost` that does not conduct every call: asked before each, so that it never has to hand one back."""

    def lets_pass(self, team: Any) -> bool:
        """Whether the call of ``team`` that is about to be made goes on as if ``team`` were not hooked.

        Asked in the caller's context. A host may use the occasion to make the team a part of the run that is current.
        """
