"""Keeping runs in the run store; a store that fails costs one warning and nothing else."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracer_hooks._api.runs._keeper import PATIENCE_S, Kept, Part, keeper_of
from tracer_hooks._api.runs._retention import retain
from tracer_hooks._api.runs._team_run import Attempt, TeamRun, kept_repair
from tracer_hooks._guard import guard, warn_once
from tracer_hooks.config import Retention
from tracer_hooks.errors import ReplayError, StoreError

if TYPE_CHECKING:
    from tracer_hooks.feedback import CountRow
    from tracer_hooks.store import RunStore, StoredRun, Writing


class Archive:
    """Keeps calls in the run store.

    Args:
        path: The store's file; None keeps nothing.
        retention: Which runs stay in it; None keeps all.
    """

    def __init__(self, path: Path | None, retention: Retention | None = None) -> None:
        self._path = path.absolute() if path is not None else None
        self._retention = retention

    def save(self, run: TeamRun, parts: Iterable[Part] = ()) -> None:
        """Save every attempt of ``run``, and ``parts``, in one transaction; see :class:`Keeper` for how long it takes.

        Args:
            run: The call.
            parts: What else is kept of it.
        """
        if self._path is None or not run.attempts:
            return
        with guard("store the run"):
            from tracer_hooks.store import PackedRun

            runs = [PackedRun.of(_stored(run, attempt)) for attempt in run.attempts]
            keeper = keeper_of(self._path)
            keeper.keep(Kept(runs, list(parts)))
            if not keeper.is_failing:
                retain(self._path, self._retention)

    def repair_counts(self, team: str) -> Sequence[CountRow]:
        """How often each kind of repair was tried on this team, and helped; none where the store fails."""
        path, found = self._path, ()
        if path is None or keeper_of(path).is_failing or not path.exists():
            return found
        with guard("read what helped before"):
            try:
                return _reader(path).repair_counts(team)
            except StoreError as error:
                warn_once(f"counts {path}", "tracer-hooks does not know what helped before: %s", error)
        return found


def repair_counts_part(team: str, rows: Sequence[CountRow]) -> Part:
    """What was learned from the trials of one call."""

    def write(writing: Writing) -> bool:
        writing.add_repair_counts(team, rows)
        return True

    return Part("keep what helped", write)


@functools.cache
def _reader(path: Path) -> RunStore:
    """One open store a file and process, for looking things up while a call waits."""
    from tracer_hooks.store import RunStore

    return RunStore(path, busy_timeout_s=PATIENCE_S)


def _stored(run: TeamRun, attempt: Attempt) -> StoredRun:
    from tracer_hooks.schema import RunKind
    from tracer_hooks.store import StoredRun

    trajectory = attempt.trajectory
    repair = kept_repair(run) if attempt is run.last else None
    starts = [step.started_at for step in trajectory.steps if step.started_at is not None]
    ends = [step.ended_at for step in trajectory.steps if step.ended_at is not None]
    now = datetime.now(UTC)
    return StoredRun(
        run_id=trajectory.run_id,
        team=run.team,
        framework=trajectory.framework,
        task=run.gate.text(run.task),
        outcome=trajectory.outcome,
        outcome_reason=trajectory.outcome_reason,
        started_at=min(starts, default=now),
        ended_at=max(ends, default=now),
        session_id=run.session_id,
        attempt=attempt.number,
        kind=RunKind.LIVE if attempt.number == 1 else RunKind.RETRY,
        trajectory=trajectory,
        attribution=attempt.attribution,
        repair=repair.model_dump(mode="json") if repair is not None else None,
        tape=_tape(attempt),
        prompts=attempt.prompts,
    )


def _tape(attempt: Attempt) -> dict[str, Any] | None:
    """The tape as plain data; a run that was recorded without content has none, and is stored all the same."""
    with guard("make the tape"):
        try:
            return attempt.tape.model_dump(mode="json", exclude_defaults=True)
        except ReplayError:
            return None
    return None
