"""Host of a hooked team's runs, which begins the loop of attempts of every call.

Beside it: watching for frameworks that are imported later, and for teams that run inside of others.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any

from tracer_hooks._background import process_lock
from tracer_hooks._guard import guard
from tracer_hooks.frameworks import Adapter, PatchSet, TeamCall, attach, detach, find_adapters
from tracer_hooks.frameworks.plain import PlainTeam
from tracer_hooks.runtime._attempt_loop import Action, AttemptLoop
from tracer_hooks.runtime._call_context import CallContext
from tracer_hooks.runtime._drivers import drive_astream, drive_awaited, drive_call, drive_stream
from tracer_hooks.runtime._options import HookOptions
from tracer_hooks.runtime._prompts import AcceptedPrompts
from tracer_hooks.runtime._rerunner import TeamSource
from tracer_hooks.runtime._team_code import TeamCode, calling_module
from tracer_hooks.runtime._team_run import LatestRuns, TeamRun
from tracer_hooks.telemetry import RunInvocation, current_run, unrecorded


class InnerTeams:
    """Every inner team with the number of runs that use it.

    A team that is made once (the expert in a tool, a graph of the module) may be used by several runs at the same time,
    and by the user's own calls beside them. It is hooked by the first run that meets it and unhooked with the last one
    that ends; each run that calls it takes it as a part of itself, and a call outside of any run is let pass.
    """

    def __init__(self) -> None:
        self._lock = process_lock()
        self._inner: dict[int, _InnerTeam] = {}

    def watcher(self, adapter: Adapter) -> Callable[[Any], None]:
        """Return the function that ``adapter`` calls with every team that is about to run and is not hooked."""

        def on_team(team: Any) -> None:
            run = current_run()
            if run is not None and not run.is_subject(team):
                self.join(run, team, adapter)

        return on_team

    def join(self, run: RunInvocation, team: Any, adapter: Adapter) -> None:
        """Make ``team`` a part of ``run``, and hook it for as long as the run lasts at least."""
        with self._lock:
            inner = self._inner.get(id(team))
            if inner is None:
                # The registry holds the team, so that its id stays its own; a run always ends.
                host = _InnerHost(self, adapter)
                inner = self._inner[id(team)] = _InnerTeam(team, adapter.hook(team, host))
            inner.users += 1
        run.add_subject(team)
        run.on_end(functools.partial(self._leave, inner))
        for spec in adapter.describe(team).agents:
            run.add_agent(spec)

    def _leave(self, inner: _InnerTeam) -> None:
        with self._lock:
            inner.users -= 1
            if inner.users == 0:
                del self._inner[id(inner.team)]
                inner.patches.undo()


@dataclass
class _InnerTeam:
    team: Any
    patches: PatchSet
    users: int = 0


class _InnerHost:
    """The host of an inner team: it lets every call pass, and so conducts none."""

    def __init__(self, teams: InnerTeams, adapter: Adapter) -> None:
        self._teams, self._adapter = teams, adapter

    def is_bypassed(self, team: Any) -> bool:
        """Always; a run that is current takes the team as a part of itself first."""
        run = current_run()
        if run is not None and not run.is_subject(team):
            self._teams.join(run, team, self._adapter)
        return True

    # For an adapter that does not ask: the call is made where it cannot come back.
    def call(self, call: TeamCall) -> Any:
        with unrecorded():
            return call.on(call.team)

    stream = astream = call

    async def acall(self, call: TeamCall) -> Any:
        with unrecorded():
            return await call.on(call.team)


INNER_TEAMS = InnerTeams()
"""One for the process: what is hooked are the user's own objects, whichever run meets them."""


class FrameworkWatcher:
    """Watches the frameworks' classes.

    Watching costs up to half a millisecond to begin, so it goes on between runs; a team that no hooked run is around
    is let pass.
    """

    def __init__(self) -> None:
        self._lock = process_lock()
        self._holders = 0
        self._gone: deque[None] = deque()
        self._watched: dict[str, PatchSet] = {}
        self._modules = 0

    def hold(self, holder: object) -> weakref.finalize[Any, Any]:
        """Watch for as long as ``holder`` lives, or until the value is called; calling it twice does no harm."""
        with self._lock:
            self._holders += 1
        self._count_gone()
        finalizer = weakref.finalize(holder, self._release)
        finalizer.atexit = False  # the classes die with the process
        return finalizer

    def refresh(self) -> None:
        """Begin to watch the frameworks that are imported and not watched yet; what is watched stays as it is."""
        if len(sys.modules) == self._modules:
            return
        with self._lock:
            modules = len(sys.modules)
            for found in find_adapters():
                if found.adapter is None or found.name in self._watched:
                    continue
                with guard(f"watch for teams of {found.name}"):
                    patches = found.adapter.watch(INNER_TEAMS.watcher(found.adapter))
                    if patches:  # else the framework is not imported yet
                        self._watched[found.name] = patches
            self._modules = modules  # last: until then other threads wait for what is being put in place
        self._count_gone()

    def pause(self) -> None:
        """Stop watching until the next run."""
        with self._lock:
            while self._watched:
                self._watched.popitem()[1].undo()
            self._modules = 0

    def _release(self) -> None:
        # Also called by the garbage collector, in a thread that may hold a lock for which the holder of ours waits. So
        # it does not wait: whoever holds the lock now counts when done.
        self._gone.append(None)
        self._count_gone()

    def _count_gone(self) -> None:
        while self._gone and self._lock.acquire(blocking=False):
            try:
                while self._gone:
                    self._gone.pop()
                    self._holders -= 1
                if self._holders <= 0:
                    self.pause()
            finally:
                self._lock.release()


FRAMEWORK_WATCHER = FrameworkWatcher()
"""One for the process, since what is watched are the frameworks' classes."""
_HOST_OF_TEAM = "__tracer_hooks_conductor__"


class TeamHost:
    """Conducts the runs of one team.

    Args:
        adapter: The framework's adapter.
        source: Where teams come from.
        options: How to judge, diagnose and repair.
        is_no_result: Says of what a call returned that it is no result, so that the call was no run; for functions of
            which only the first call shows what they do.

    Attributes:
        is_off: Whether the team was unhooked; its calls are then made without us.
        is_tentative: Whether it is not known yet that calls of the team are runs.
    """

    def __init__(
        self,
        adapter: Adapter,
        source: TeamSource,
        options: HookOptions,
        *,
        is_no_result: Callable[[Any], bool] | None = None,
    ) -> None:
        self.adapter = adapter
        self.options = options
        self.patches = PatchSet()
        self.is_off = False
        self.is_tentative = is_no_result is not None
        self.is_no_result = is_no_result or (lambda value: False)
        self.latest = LatestRuns()
        self.prompts = AcceptedPrompts(adapter, options) if options.prompts == "accepted" else None
        self._source = source
        self._home = calling_module() if source.factory is None else ""
        self._code: TeamCode | None = None
        self._watching = FRAMEWORK_WATCHER.hold(self)
        self._team: weakref.ref[Any] | None = None

    def hook(self, team: Any) -> None:
        """Make every run of ``team`` go through this host."""
        attributes = _own_attributes(team)
        self.patches.add(self.adapter.hook(team, self))
        self._team = _reference(team)
        if _own_attributes(team) == attributes:
            # The adapter patches classes alone; the team must keep its host alive all the same, and no longer than
            # it lives itself.
            attach(team, _HOST_OF_TEAM, self)
            self.patches.on_undo(functools.partial(_release_team, self._team, self))

    def unhook(self) -> None:
        """Put back what hooking changed. Work in the background may keep this host; it watches no more."""
        self.is_off = True
        self.patches.undo()
        self._watching()

    def conducts(self, team: object) -> bool:
        """Tell whether ``team`` is the team object that was hooked."""
        return self._team is None or self._team() is team

    def begins(self, run: TeamRun) -> None:
        """Note that a call is a run."""
        self.is_tentative = False
        self.latest.add(run)

    @property
    def last_run(self) -> TeamRun | None:
        """The newest run of the calling task or thread, else the newest run."""
        return self.latest.newest

    # --- RunHost ---------------------------------------------------------------------------------------------------
    def is_bypassed(self, team: Any) -> bool:
        """Tell whether the team was unhooked, as a method may show that the caller took from it before."""
        return self.is_off

    def call(self, call: TeamCall) -> Any:
        return drive_call(self._begin, call)

    def acall(self, call: TeamCall) -> Coroutine[Any, Any, Any]:
        return drive_awaited(self._begin, call)

    def stream(self, call: TeamCall) -> Generator[Any, Any, Any]:
        return drive_stream(self._begin, call)

    def astream(self, call: TeamCall) -> AsyncGenerator[Any, None]:
        return drive_astream(self._begin, call)

    def _begin(self, call: TeamCall, *, streams: bool = False) -> tuple[AttemptLoop, Action | None] | tuple[None, None]:
        """Begin the loop of a call; none when we cannot, and the call has to be made without us."""
        with guard("open the run"):
            FRAMEWORK_WATCHER.refresh()
            context = CallContext(call, self, self._source)
            context.run.code = self._code = self._code or self._code_of(call.team)
            opened = context.open()
            if not self.is_tentative:
                self.latest.add(context.run)
            loop = AttemptLoop(context, opened, streams=streams, retries=not streams or self.options.retry_streams)
            return loop, loop.start()
        return None, None

    def _code_of(self, team: Any) -> TeamCode:
        origin = self._source.factory or (team.run if isinstance(team, PlainTeam) else team)
        return TeamCode.of(origin, self.options.check, self._home, is_whole=not self._source.has_arguments)


def _release_team(team: weakref.ref[Any] | None, host: TeamHost) -> None:
    if team is not None:
        detach(team(), _HOST_OF_TEAM, host)


def _own_attributes(team: Any) -> dict[str, int]:
    return {name: id(value) for name, value in getattr(team, "__dict__", {}).items()}


def _reference(team: Any) -> weakref.ref[Any] | None:
    try:
        return weakref.ref(team)
    except TypeError:
        return None
