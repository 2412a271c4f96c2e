"""Entry points: a kickoff of a hooked team is a run, streaming ones included; any other team's is left as it is."""

from __future__ import annotations

import functools
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from tracer_hooks.frameworks import (
    EntryKind,
    RunHost,
    RunResult,
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
from tracer_hooks_crewai._convert import is_team, task_text, to_run_result
from tracer_hooks_crewai._turns import in_event_loop


@dataclass(frozen=True, kw_only=True)
class StreamCall(TeamCall):
    """A streaming kickoff. The first time it is made on the caller's team, it draws the output the caller holds.

    CrewAI starts to work when the first chunk is drawn, so the output can be made before the run begins.
    """

    output: Any = None
    """What the caller holds."""
    source: Any = None
    """The iterator that CrewAI gave it."""
    drawn: list[Any] = field(default_factory=list)
    """The outputs that were drawn, in order; the last one holds the result."""

    def is_first(self, team: Any) -> bool:
        """Tell whether the caller's own output is to be drawn: once, and for the caller's team."""
        return team is self.team and not self.drawn

    def pass_result(self, output: Any) -> None:
        """Give the result of a later attempt to the output that the caller holds."""
        with guard("hand on the result of a stream"):
            result = _result_of(output)
            if result is not None:
                self.output._set_result(result)


@dataclass(frozen=True, kw_only=True)
class SyncStreamCall(StreamCall):
    """A streaming kickoff that is iterated with ``for``."""

    def on(self, team: Any) -> Iterator[Any]:
        """The chunks."""
        if self.is_first(team):
            self.drawn.append(self.output)
            return iter(self.source)
        output = getattr(team, self.method)(*self.args, **self.kwargs)
        self.drawn.append(output)
        return self._again(output)

    def _again(self, output: Any) -> Iterator[Any]:
        try:
            yield from output
            self.pass_result(output)
        finally:
            output.close()


@dataclass(frozen=True, kw_only=True)
class AsyncStreamCall(StreamCall):
    """A streaming kickoff that is iterated with ``async for``."""

    async def on(self, team: Any) -> AsyncIterator[Any]:
        """The chunks."""
        if self.is_first(team):
            self.drawn.append(self.output)
            try:
                async for chunk in self.source:
                    yield chunk
            finally:
                await self.source.aclose()
            return
        output = await getattr(team, self.method)(*self.args, **self.kwargs)
        self.drawn.append(output)
        try:
            async for chunk in output:
                yield chunk
            self.pass_result(output)
        finally:
            await output.aclose()


class CrewAICollector:
    """Says at the end of a stream what came out; the chunks themselves are not kept."""

    def __init__(self, call: TeamCall) -> None:
        self._call = call
        self._text: list[str] = []

    def see(self, item: Any) -> None:
        """Keep the text of a chunk, in case the stream ends without a result."""
        text = getattr(item, "content", None)
        if isinstance(text, str):
            self._text.append(text)

    def result(self) -> RunResult:
        """Return the result of the kickoff, from what was streamed."""
        outputs = self._call.drawn if isinstance(self._call, StreamCall) else []
        native = _result_of(outputs[-1]) if outputs else None
        if native is None:
            return RunResult(text="".join(self._text), native=outputs[-1] if outputs else None)
        return to_run_result(native)


def stream_through(host: RunHost, call: TeamCall, output: Any) -> None:
    """Have ``output`` draw its chunks through ``host``: the run begins with the first and ends with the last."""
    common = {"team": call.team, "method": call.method, "args": call.args, "kwargs": call.kwargs, "task": call.task}
    if getattr(output, "_sync_iterator", None) is not None:
        source = output._sync_iterator
        output._sync_iterator = host.stream(SyncStreamCall(**common, output=output, source=source))
    elif getattr(output, "_async_iterator", None) is not None:
        source = output._async_iterator
        output._async_iterator = host.astream(AsyncStreamCall(**common, output=output, source=source))


def _result_of(output: Any) -> Any:
    """The result of a stream that was drawn to its end; ``result`` itself refuses until the caller's loop has ended."""
    return getattr(output, "_result", None)


_copied_for: ContextVar[Any] = ContextVar("tracer_hooks_crewai_copied_for", default=None)
"""The crew whose ``kickoff_for_each`` is making copies of it."""
_made_for: ContextVar[Any] = ContextVar("tracer_hooks_crewai_made_for", default=None)
"""The team whose entry point is making a stream; a flow's ``akickoff`` has ``kickoff_async`` make it."""
_HOOKED = "__tracer_hooks__"
"""What is attached to a team under this name: what is known of it, the newest hook last."""


class HookedKickoffs:
    """A hooked team, or a copy that one made of itself for ``kickoff_for_each``."""

    def __init__(self, team: Any, host: RunHost, *, original: HookedKickoffs | None = None) -> None:
        self.own_host = host
        self.original = original
        self.copies: weakref.WeakSet[HookedKickoffs] = weakref.WeakSet()
        self._team = weakref.ref(team)
        if original is not None:
            original.copies.add(self)

    @property
    def host(self) -> RunHost:
        """Host that conducts the runs."""
        return self.own_host if self.original is None else _CopyHost(self.original.host, self._team())

    def subject(self) -> Any:
        """The team that a run is said to be of."""
        return self.original.subject() if self.original is not None else self._team()

    def passes(self) -> bool:
        """Tell whether the call is the inside of a run of this very team, or one that is not to be seen."""
        return _made_for.get() is self._team() or passes_through(self.subject(), self.host)

    def take_off(self) -> None:
        """Forget the team."""
        detach(self._team(), _HOOKED, self)


class HookedTeams:
    """Register of hooked teams; each knows it itself, so that nothing here keeps one alive."""

    def __init__(self) -> None:
        self._lock = process_lock()
        self.watchers: list[Callable[[Any], None]] = []
        """Called with every team that is not hooked and about to run; they may hook it."""

    def add(self, team: Any, hooked: HookedKickoffs, on_loss: Callable[[], None] | None = None) -> None:
        """Remember a team; ``on_loss``, which must not refer to it, is called when it is garbage collected."""
        with self._lock:
            attach(team, _HOOKED, hooked)
        if on_loss is not None:
            weakref.finalize(team, on_loss).atexit = False

    def remove(self, hooked: HookedKickoffs) -> None:
        """Forget a team and the copies it made."""
        with self._lock:
            for known in (hooked, *hooked.copies):
                known.take_off()

    def find(self, team: Any) -> HookedKickoffs | None:
        """Return the newest hook of a team; None when it is not hooked."""
        known = attached(team, _HOOKED)
        return known[-1] if known else None

    def about_to_run(self, team: Any) -> HookedKickoffs | None:
        """Return the hook of a team whose entry point is called, after those who watch have had a look at it."""
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


def wrap_sync_entry(original: Callable[..., Any], method: str, teams: HookedTeams) -> Callable[..., Any]:
    """A plain kickoff of a class, which is a run where the team is hooked."""

    def kickoff(self: Any, *args: Any, **kwargs: Any) -> Any:
        hooked = teams.about_to_run(self)
        # An agent's kickoff inside an event loop only gives the coroutine of its kickoff_async, which is an entry too.
        if hooked is None or hooked.passes() or (hasattr(self, "backstory") and in_event_loop()):
            return original(self, *args, **kwargs)
        if _is_streaming_team(self):
            with _set_within(_made_for, self):
                output = original(self, *args, **kwargs)
            _stream_through_host(hooked, self, method, args, kwargs, output)
            return output
        return _through_host(hooked, self, method, EntryKind.CALL, original)(*args, **kwargs)

    return kickoff


def wrap_async_entry(original: Callable[..., Any], method: str, teams: HookedTeams) -> Callable[..., Any]:
    """An asynchronous kickoff of a class, which is a run where the team is hooked."""

    async def kickoff(self: Any, *args: Any, **kwargs: Any) -> Any:
        hooked = teams.about_to_run(self)
        if hooked is None or hooked.passes():
            return await original(self, *args, **kwargs)
        if _is_streaming_team(self):
            with _set_within(_made_for, self):
                output = await original(self, *args, **kwargs)
            _stream_through_host(hooked, self, method, args, kwargs, output)
            return output
        return await _through_host(hooked, self, method, EntryKind.COROUTINE, original)(*args, **kwargs)

    return kickoff


def copied_for_each(team: Any) -> AbstractContextManager[None]:
    """``kickoff_for_each`` and its asynchronous twins: the copies that they make are hooked like the crew itself."""
    return _set_within(_copied_for, team)


def wrap_copy(original: Callable[..., Any], teams: HookedTeams) -> Callable[..., Any]:
    """``Crew.copy``: copies made for ``kickoff_for_each`` are hooked, copies that the user makes are not."""

    def copy_crew(self: Any, *args: Any, **kwargs: Any) -> Any:
        copied = original(self, *args, **kwargs)
        with guard("hook a copy of a crew"):
            hooked = teams.find(self) if _copied_for.get() is self else None
            if hooked is not None:
                teams.add(copied, HookedKickoffs(copied, hooked.own_host, original=hooked))
        return copied

    return copy_crew


def _is_streaming_team(team: Any) -> bool:
    return bool(getattr(team, "stream", False)) and not hasattr(team, "backstory")


@contextmanager
def _set_within(variable: ContextVar[Any], team: Any) -> Iterator[None]:
    mark = variable.set(team)
    try:
        yield
    finally:
        variable.reset(mark)


def _through_host(hooked: HookedKickoffs, team: Any, method: str, kind: EntryKind, original: Any) -> Callable[..., Any]:
    bound, task_of = original.__get__(team), functools.partial(task_text, team)
    return wrap_entry(hooked.subject(), method, kind, hooked.host, original=bound, task_of=task_of)


@guarded("observe a stream", None)
def _stream_through_host(
    hooked: HookedKickoffs, team: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
) -> None:
    call = TeamCall(team=hooked.subject(), method=method, args=args, kwargs=kwargs, task=task_text(team, args, kwargs))
    stream_through(hooked.host, call, output)
