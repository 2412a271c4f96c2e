"""A hooked team, as the replaced methods know it, and the run that a call belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracer_hooks.frameworks import PatchSet
from tracer_hooks.telemetry import Invocation, RunInvocation, current_invocation, current_run


class Home:
    """One hooked team.

    Attributes:
        team: The team, or the single agent, that was hooked.
        external: Whether the team, or one inside it, works on a runtime that the user started. Its agents then run in
            tasks that are older than the run and do not inherit our context, so the run is found through :attr:`runs`.
        runs: The team's runs in progress; kept up only for external runtimes.
        agent_names: The names of the agents whose turns are observed.
        unprepared: Teams that had run before they were hooked, and whose managers are yet to be observed.
        patches: What to undo; also what is patched while the team runs.
    """

    def __init__(self, team: Any) -> None:
        self.team = team
        self.external = False
        self.runs: list[RunInvocation] = []
        self.agent_names: frozenset[str] = frozenset()
        self.unprepared: list[Any] = []
        self.patches = PatchSet()

    def run_of_team(self, agent_id: str | None) -> RunInvocation | None:
        """The run in progress on an external runtime, when a runtime's ``agent_id`` is one of this team's."""
        team_id = getattr(self.team, "_team_id", None)  # private in 0.7
        if not self.external or not agent_id or team_id is None or not agent_id.endswith(team_id):
            return None
        return next((run for run in self.runs if not run.ended), None)


def run_for(homes: Sequence[Home]) -> RunInvocation | None:
    """The run that the calling code is part of; None outside a run, or where it cannot be told which."""
    run = current_run()
    for home in homes:
        if home.external:
            return _external_run(run, homes)
    return run


def parent_in(run: RunInvocation) -> Invocation:
    """The enclosing operation of ``run``; the run itself where the calling task did not inherit it."""
    here = current_invocation()
    return here if here is not None and here.run is run else run


def _external_run(current: RunInvocation | None, homes: Sequence[Home]) -> RunInvocation | None:
    active = [run for home in homes for run in home.runs if not run.ended]
    if current in active:
        return current
    # A runtime may have been started inside another run; that run's context then reaches our agents.
    return active[0] if len(active) == 1 else current
