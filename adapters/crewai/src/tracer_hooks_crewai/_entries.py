"""Entry points: a kickoff of a hooked team becomes a run; any other team's is left as it is."""

from __future__ import annotations

import functools
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from tracer_hooks.frameworks import (
    EntryKind,
    RunHost,
    SelectiveHost,
    TeamCall,
    attach,
    attached,
    detach,
    guard,
    guarded,
    passes_through,
    process_lock,
    wrap_entry,
)
from tracer_hooks.telemetry import current_run
from tracer_hooks_crewai._kickoffs import task_text
from tracer_hooks_crewai._roster import is_team
from tracer_hooks_crewai._streams import stream_through
from tracer_hooks_crewai._turns import in_event_loop

_copied_for: ContextVar[Any] = ContextVar("tracer_hooks_crewai_copied_for", default=None)
"""The crew whose ``kickoff_for_each`` is making copies of it."""

_made_for: ContextVar[Any] = ContextVar("tracer_hooks_crewai_made_for", default=None)
"""The team whose entry point is making a stream; a flow's ``akickoff`` has ``kickoff_async`` make it."""


_HOOKED = "__tracer_hooks__"
"""What is attached to a team under this name: what is known of it, the newest hook last."""


class Hooked:
    """A hooked team, or a copy that one made of itself for ``kickoff_for_each``."""

    def __init__(self, team: Any, host: RunHost, *, original: Hooked | None = None) -> None:
        self.own_host = host
        self.original = original
        self.copies: weakref.WeakSet[Hooked] = weakref.WeakSet()
        self._team = weakref.ref(team)
        if original is not None:
            original.copies.add(self)

    @property
    def host(self) -> RunHost:
        """Who conducts the runs."""
        return self.own_host if self.original is None else _CopyHost(self.original.host, self._team())

    def subject(self) -> Any:
        """The team that a run is said to be of."""
        return self.original.subject() if self.original is not None else self._team()

    def passes(self) -> bool:
        """Whether the call is the inside of a run of this very team, or one that is not to be seen."""
        return _made_for.get() is self._team() or passes_through(self.subject(), self.host)

    def take_off(self) -> None:
        """Forget the team."""
        detach(self._team(), _HOOKED, self)


class HookedTeams:
    """Which teams are hooked; each knows it itself, so that nothing here keeps one alive."""

    def __init__(self) -> None:
        self._lock = process_lock()
        self.watchers: list[Callable[[Any], None]] = []
        """Called with every team that is not hooked and about to run; they may hook it."""

    def add(self, team: Any, hooked: Hooked, on_loss: Callable[[], None] | None = None) -> None:
        """Remember a team; ``on_loss``, which must not refer to it, is called when it is garbage collected."""
        with self._lock:
            attach(team, _HOOKED, hooked)
        if on_loss is not None:
            weakref.finalize(team, on_loss).atexit = False

    def remove(self, hooked: Hooked) -> None:
        """Forget a team and the copies it made."""
        with self._lock:
            for one in (hooked, *hooked.copies):
                one.take_off()

    def find(self, team: Any) -> Hooked | None:
        """What is known of a team, from the newest of its hooks; None when it is not hooked."""
        known = attached(team, _HOOKED)
        return known[-1] if known else None

    def about_to_run(self, team: Any) -> Hooked | None:
        """What is known of a team whose entry point is called, after those who watch have had a look at it."""
        found = self.find(team)
        if found is None and self.watchers and current_run() is not None and is_team(team):
            for watcher in list(self.watchers):
                with guard("look at a team inside a run"):
                    watcher(team)
            found = self.find(team)
        return found


@dataclass(frozen=True, kw_only=True)
class _CopyCall(TeamCall):
    """A kickoff of a copy. It is said to be of the copied crew; a retry on a crew built anew is made on that one."""

    copy: Any

    def on(self, team: Any) -> Any:
        return getattr(self.copy if team is self.team else team, self.method)(*self.args, **self.kwargs)


class _CopyHost:
    """Conducts the runs of a copy as runs of the crew that made it."""

    def __init__(self, host: RunHost, copy: Any) -> None:
        self._host, self._copy = host, copy

    def is_bypassed(self, team: Any) -> bool:
        return isinstance(self._host, SelectiveHost) and self._host.is_bypassed(team)

    def call(self, call: TeamCall) -> Any:
        return self._host.call(self._of_copy(call))

    async def acall(self, call: TeamCall) -> Any:
        return await self._host.acall(self._of_copy(call))

    def stream(self, call: TeamCall) -> Iterator[Any]:
        return self._host.stream(call)  # holds the copy's own output

    def astream(self, call: TeamCall) -> AsyncIterator[Any]:
        return self._host.astream(call)

    def _of_copy(self, call: TeamCall) -> _CopyCall:
        return _CopyCall(
            team=call.team, method=call.method, args=call.args, kwargs=call.kwargs, task=call.task, copy=self._copy
        )


def sync_entry(original: Callable[..., Any], method: str, teams: HookedTeams) -> Callable[..., Any]:
    """A plain kickoff of a class, which is a run where the team is hooked."""

    @functools.wraps(original)
    def kickoff(self: Any, *args: Any, **kwargs: Any) -> Any:
        hooked = teams.about_to_run(self)
        # An agent's kickoff inside an event loop only gives the coroutine of its kickoff_async, which is an entry too.
        if hooked is None or hooked.passes() or (hasattr(self, "backstory") and in_event_loop()):
            return original(self, *args, **kwargs)
        if _streams(self):
            with _making_a_stream_of(self):
                output = original(self, *args, **kwargs)
            _stream(hooked, self, method, args, kwargs, output)
            return output
        return _wrapped(hooked, self, method, EntryKind.CALL, original)(*args, **kwargs)

    return kickoff


def async_entry(original: Callable[..., Any], method: str, teams: HookedTeams) -> Callable[..., Any]:
    """An asynchronous kickoff of a class, which is a run where the team is hooked."""

    @functools.wraps(original)
    async def kickoff(self: Any, *args: Any, **kwargs: Any) -> Any:
        hooked = teams.about_to_run(self)
        if hooked is None or hooked.passes():
            return await original(self, *args, **kwargs)
        if _streams(self):
            with _making_a_stream_of(self):
                output = await original(self, *args, **kwargs)
            _stream(hooked, self, method, args, kwargs, output)
            return output
        return await _wrapped(hooked, self, method, EntryKind.COROUTINE, original)(*args, **kwargs)

    return kickoff


def for_each(original: Callable[..., Any]) -> Callable[..., Any]:
    """``kickoff_for_each``: the copies that it makes are hooked like the crew itself."""

    @functools.wraps(original)
    def kickoff_for_each(self: Any, *args: Any, **kwargs: Any) -> Any:
        mark = _copied_for.set(self)
        try:
            return original(self, *args, **kwargs)
        finally:
            _copied_for.reset(mark)

    return kickoff_for_each


def afor_each(original: Callable[..., Any]) -> Callable[..., Any]:
    """``kickoff_for_each_async`` and ``akickoff_for_each``, the same."""

    @functools.wraps(original)
    async def kickoff_for_each(self: Any, *args: Any, **kwargs: Any) -> Any:
        mark = _copied_for.set(self)
        try:
            return await original(self, *args, **kwargs)
        finally:
            _copied_for.reset(mark)

    return kickoff_for_each


def copy(original: Callable[..., Any], teams: HookedTeams) -> Callable[..., Any]:
    """``Crew.copy``: copies made for ``kickoff_for_each`` are hooked, copies that the user makes are not."""

    @functools.wraps(original)
    def copy_crew(self: Any, *args: Any, **kwargs: Any) -> Any:
        copied = original(self, *args, **kwargs)
        with guard("hook a copy of a crew"):
            hooked = teams.find(self) if _copied_for.get() is self else None
            if hooked is not None:
                teams.add(copied, Hooked(copied, hooked.own_host, original=hooked))
        return copied

    return copy_crew


def _streams(team: Any) -> bool:
    return bool(getattr(team, "stream", False)) and not hasattr(team, "backstory")


@contextmanager
def _making_a_stream_of(team: Any) -> Iterator[None]:
    mark = _made_for.set(team)
    try:
        yield
    finally:
        _made_for.reset(mark)


def _wrapped(hooked: Hooked, team: Any, method: str, kind: EntryKind, original: Any) -> Callable[..., Any]:
    bound = original.__get__(team)
    task_of = functools.partial(_task_of, team)
    return wrap_entry(hooked.subject(), method, kind, hooked.host, original=bound, task_of=task_of)


def _task_of(team: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    return task_text(team, args, kwargs)


@guarded("observe a stream", None)
def _stream(hooked: Hooked, team: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
    call = TeamCall(team=hooked.subject(), method=method, args=args, kwargs=kwargs, task=_task_of(team, args, kwargs))
    stream_through(hooked.host, call, output)
