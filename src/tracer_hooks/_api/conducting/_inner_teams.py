"""Teams that are used inside hooked runs, without being hooked themselves: hooked while such a run lasts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tracer_hooks._background import process_lock
from tracer_hooks.frameworks import Adapter, PatchSet, TeamCall
from tracer_hooks.telemetry import RunInvocation, current_run, unrecorded


class InnerTeams:
    """Every inner team with the number of runs that use it.

    A team that is made once (the expert in a tool, a graph of the module) may be used by several runs at the same time,
    and by the user's own calls beside them. It is hooked by the first run that meets it and unhooked with the last one
    that ends; each run that calls it takes it as a part of itself, and a call outside of any run is let pass.
    """

    def __init__(self) -> None:
        self._lock = process_lock()
        self._inner: dict[int, _Inner] = {}

    def watcher(self, adapter: Adapter) -> Callable[[Any], None]:
        """What ``adapter`` calls with every team that is about to run and is not hooked."""

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
                inner = self._inner[id(team)] = _Inner(team, adapter.hook(team, host))
            inner.users += 1
        run.add_subject(team)
        run.on_end(functools.partial(self._leave, inner))
        for spec in adapter.describe(team).agents:
            run.add_agent(spec)

    def _leave(self, inner: _Inner) -> None:
        with self._lock:
            inner.users -= 1
            if inner.users == 0:
                del self._inner[id(inner.team)]
                inner.patches.undo()


@dataclass
class _Inner:
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
