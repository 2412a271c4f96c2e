"""Entry points of a team, wrapped so that each call goes to the host of the run: check, diagnosis, retries."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from tracer_hooks._guard import guard, guarded
from tracer_hooks.telemetry import current_run, is_suppressed


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

    def is_bypassed(self, team: Any) -> bool:
        """Tell whether the call of ``team`` that is about to be made goes on as if ``team`` were not hooked.

        Asked in the caller's context. A host may use the occasion to make the team a part of the run that is current.
        """


class EntryKind(StrEnum):
    """Way in which an entry point gives its result."""

    CALL = "call"
    COROUTINE = "coroutine"
    GENERATOR = "generator"
    ASYNC_GENERATOR = "async_generator"


TaskOf = Callable[[tuple[Any, ...], dict[str, Any]], str]
"""The task as text, from an entry point's arguments."""


def passes_through(team: Any, host: RunHost) -> bool:
    """Tell whether a call of one of ``team``'s entry points goes to the framework's own method and not to ``host``.

    It does inside a run of this very team: that is how the host makes the call, and how ``run`` may call ``run_stream``
    inside. It does where nothing is to be seen, and where the host lets it pass.
    """
    run = current_run()
    if is_suppressed() or (run is not None and run.is_subject(team)):
        return True
    if isinstance(host, SelectiveHost):
        with guard("ask whether a call is conducted"):
            return host.is_bypassed(team)
    return False


def wrap_entry(
    team: Any, method: str, kind: EntryKind, host: RunHost, *, original: Callable[..., Any], task_of: TaskOf
) -> Callable[..., Any]:
    """A replacement for ``team.method`` that conducts the call through ``host``.

    Where :func:`passes_through` says so the wrapper calls ``original``. Another team that is called inside a run gets a
    run of its own.
    """
    safe_task = guarded("read the task", "")(task_of)
    passes = functools.partial(passes_through, team, host)

    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> TeamCall:
        return TeamCall(team=team, method=method, args=args, kwargs=kwargs, task=safe_task(args, kwargs))

    conducted = _CONDUCTED[kind]

    # No generator functions: an argument error must surface at the call, as without us.
    @functools.wraps(original)
    def entry(*args: Any, **kwargs: Any) -> Any:
        return original(*args, **kwargs) if passes() else getattr(host, conducted)(call(args, kwargs))

    @functools.wraps(original)
    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        return await (original(*args, **kwargs) if passes() else host.acall(call(args, kwargs)))

    return coroutine if kind is EntryKind.COROUTINE else entry


_CONDUCTED = {
    EntryKind.CALL: "call",
    EntryKind.COROUTINE: "acall",
    EntryKind.GENERATOR: "stream",
    EntryKind.ASYNC_GENERATOR: "astream",
}
"""The host's method for each kind of entry point."""
