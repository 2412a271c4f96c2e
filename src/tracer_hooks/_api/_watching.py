"""Teams that are built inside a hooked function are hooked on the spot, as a part of the function's run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tracer_hooks._guard import guard
from tracer_hooks.adapters import Adapter, PatchSet, TeamCall, find_adapters
from tracer_hooks.telemetry import RunInvocation, current_run


class _PassThrough:
    """The host of a team inside another run: it is never asked, since the team counts as a subject of that run."""

    def call(self, call: TeamCall) -> Any:
        return call.on(call.team)

    acall = stream = astream = call


@contextmanager
def watching(run: RunInvocation) -> Iterator[None]:
    """Within the block, teams that begin to run inside ``run`` are observed as a part of it."""
    patches = PatchSet()

    def watch(adapter: Adapter) -> None:
        def on_team(team: Any) -> None:
            current = current_run()
            if current is run and not run.is_subject(team):
                run.add_subject(team)
                patches.add(adapter.hook(team, _PassThrough()))
                for spec in adapter.describe(team).agents:
                    run.add_agent(spec)

        patches.add(adapter.watch(on_team))

    try:
        for found in find_adapters():
            if found.adapter is not None:
                with guard(f"watch for teams of {found.name}"):
                    watch(found.adapter)
        yield
    finally:
        patches.undo()
