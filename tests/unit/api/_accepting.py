"""Accepting prompts for a team in a run store, as ``tracer-hooks improve`` does at its end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from tracer_hooks.store import PromptArm, PromptOutcome, PromptPhase, PromptStore, PromptTally, fingerprint

OWN = "You are the solver."
NEW = "You are the solver. Check the sum twice."
TEAM = fingerprint("python", "solve")


def accept(
    path: Path,
    text: str = NEW,
    *,
    team: str = TEAM,
    own: str = OWN,
    agent: str = "solver",
    trial: tuple[int, int] = (0, 0),
) -> int:
    """Accept ``text`` for one agent after ``trial`` runs of which so many passed; gives the version."""
    return accept_all(path, {agent: text}, {agent: own}, team=team, trial=trial)


def accept_all(
    path: Path, texts: Mapping[str, str], own: Mapping[str, str], *, team: str = TEAM, trial: tuple[int, int] = (0, 0)
) -> int:
    """The same for several agents."""
    with PromptStore(path) as store:
        number = store.propose(team, texts, own, team_name="solve", framework="python").number
        store.start_trial(team, number)
        runs, passes = trial
        for at in range(runs):
            for arm, passed in ((PromptArm.NEW, at < passes), (PromptArm.OLD, at < passes // 2)):
                outcome = PromptOutcome(
                    run_id=f"{arm}{at}",
                    arm=arm,
                    phase=PromptPhase.TRIAL,
                    passed=passed,
                    score=float(passed),
                    counted_at=datetime.now(UTC),
                )
                store.count(team, number, outcome)
        store.accept(team, number)
    return number


def live(path: Path, number: int = 1, *, team: str = TEAM) -> PromptTally:
    """What was counted for a version since it was accepted."""
    with PromptStore(path, read_only=True) as store:
        return store.get(team, number).live
