"""Teams that are built inside a hooked run are hooked on the spot, as a part of that run."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any

from tracer_hooks._guard import guard
from tracer_hooks.adapters import Adapter, PatchSet, TeamCall, find_adapters
from tracer_hooks.telemetry import current_run


class _PassThrough:
    """The host of a team inside another run: it is never asked, since the team counts as a subject of that run."""

    def call(self, call: TeamCall) -> Any:
        return call.on(call.team)

    acall = stream = astream = call


class Watchtower:
    """Watches every imported framework while at least one hooked team lives.

    Watching costs up to half a millisecond to begin, so it goes on between runs; a team that no hooked run is around
    is let pass.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._holders = 0
        self._patches: PatchSet | None = None
        self._modules = 0

    def hold(self, holder: object) -> weakref.finalize[Any, Any]:
        """Watch for as long as ``holder`` lives, or until the value is called."""
        with self._lock:
            self._holders += 1
        return weakref.finalize(holder, self._release)

    def refresh(self) -> None:
        """Begin to watch, also the frameworks that were imported since the last time."""
        modules = len(sys.modules)
        if self._patches is not None and modules == self._modules:
            return
        with self._lock:
            self._stop()
            patches = PatchSet()
            for found in find_adapters():
                if found.adapter is not None:
                    with guard(f"watch for teams of {found.name}"):
                        patches.add(found.adapter.watch(_hooks_on_the_spot(found.adapter)))
            self._patches, self._modules = patches, len(sys.modules)

    def release(self) -> None:
        """Stop watching until the next run, if nothing else holds it: a team was unhooked."""
        with self._lock:
            if self._holders <= 1:
                self._stop()

    def _release(self) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders <= 0:
                self._stop()

    def pause(self) -> None:
        """Stop watching until the next run."""
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        if self._patches is not None:
            self._patches.undo()
            self._patches = None


def _hooks_on_the_spot(adapter: Adapter) -> Any:
    def on_team(team: Any) -> None:
        run = current_run()
        if run is None or run.is_subject(team):
            return
        run.add_subject(team)
        run.on_end(adapter.hook(team, _PassThrough()).undo)
        for spec in adapter.describe(team).agents:
            run.add_agent(spec)

    return on_team


WATCHTOWER = Watchtower()
"""One for the process, since what is watched are the frameworks' classes."""
