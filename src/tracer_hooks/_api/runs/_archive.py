"""Keeping runs in the run store; a store that fails costs one warning and nothing else."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracer_hooks._api.runs._retention import retain
from tracer_hooks._api.runs._team_run import Attempt, TeamRun, kept_repair
from tracer_hooks._guard import guard, warn_once
from tracer_hooks.config import Retention
from tracer_hooks.errors import ReplayError, StoreError

if TYPE_CHECKING:
    from tracer_hooks.feedback import CountRow
    from tracer_hooks.store import RunStore, StoredRun


class Archive:
    """Saves calls to the run store.

    Args:
        path: The store's file; None saves nothing.
        retention: Which runs stay in it; None keeps all.
    """

    def __init__(self, path: Path | None, retention: Retention | None = None) -> None:
        self._path = path
        self._retention = retention

    def save(self, run: TeamRun) -> None:
        """Save every attempt of ``run``."""
        if self._path is None or not run.attempts:
            return
        with guard("store the run"), self._said():
            store = _open_store(self._path.absolute())
            for attempt in run.attempts:
                store.save(_stored(run, attempt))
            retain(self._path.absolute(), self._retention)

    def repair_counts(self, team: str) -> Sequence[CountRow]:
        """How often each kind of repair was tried on this team, and helped."""
        found: Sequence[CountRow] = ()
        if self._path is not None and self._path.exists():
            with guard("read what helped before"), self._said():
                found = _open_store(self._path.absolute()).repair_counts(team)
        return found

    def add_repair_counts(self, team: str, rows: Sequence[CountRow]) -> None:
        """Keep what was learned from the trials of one call."""
        if self._path is not None and rows:
            with guard("keep what helped"), self._said():
                _open_store(self._path.absolute()).add_repair_counts(team, rows)

    @contextmanager
    def _said(self) -> Iterator[None]:
        """A store that fails is said once, and then left alone."""
        try:
            yield
        except StoreError as error:
            warn_once(f"store {self._path}", "tracer-hooks does not store runs: %s", error)


@functools.cache
def _open_store(path: Path) -> RunStore:
    """One open store a file and process: opening costs more than saving."""
    from tracer_hooks.store import RunStore

    return RunStore(path)


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
        lessons=attempt.lessons,
    )


def _tape(attempt: Attempt) -> dict[str, Any] | None:
    """The tape as plain data; a run that was recorded without content has none, and is stored all the same."""
    with guard("make the tape"):
        try:
            return attempt.tape.model_dump(mode="json", exclude_defaults=True)
        except ReplayError:
            return None
    return None
