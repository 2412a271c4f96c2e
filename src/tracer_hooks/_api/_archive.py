"""Keeping runs in the run store; a store that fails costs one warning and nothing else."""

from __future__ import annotations

import functools
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracer_hooks._api._team_run import Attempt, TeamRun, rewrite_record
from tracer_hooks._guard import guard, logger, warn_once
from tracer_hooks.errors import ReplayError, StoreError

if TYPE_CHECKING:
    from tracer_hooks.store import RunStore, StoredRun


class Archive:
    """Saves calls to the run store.

    Args:
        path: The store's file; None saves nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def save(self, run: TeamRun) -> None:
        """Save every attempt of ``run``."""
        if self._path is None or not run.attempts:
            return
        with guard("store the run"):
            try:
                store = _open_store(self._path.absolute())
                for attempt in run.attempts:
                    store.save(_stored(run, attempt))
            except StoreError as error:
                warn_once(f"store {self._path}", "tracer-hooks does not store runs: %s", error)

    @staticmethod
    def log_callback(error: Exception) -> None:
        """Log that the user's ``on_failure`` raised."""
        logger.warning("on_failure raised %s: %s", type(error).__name__, error, exc_info=error)


@functools.cache
def _open_store(path: Path) -> RunStore:
    """One open store a file and process: opening costs more than saving."""
    from tracer_hooks.store import RunStore

    return RunStore(path)


def _stored(run: TeamRun, attempt: Attempt) -> StoredRun:
    from tracer_hooks.schema import RunKind
    from tracer_hooks.store import StoredRun

    trajectory = attempt.trajectory
    starts = [step.started_at for step in trajectory.steps if step.started_at is not None]
    ends = [step.ended_at for step in trajectory.steps if step.ended_at is not None]
    now = datetime.now(UTC)
    return StoredRun(
        run_id=trajectory.run_id,
        team=run.team,
        framework=trajectory.framework,
        task=run.task,
        outcome=trajectory.outcome,
        outcome_reason=trajectory.outcome_reason,
        started_at=min(starts, default=now),
        ended_at=max(ends, default=now),
        session_id=run.session_id,
        attempt=attempt.number,
        kind=RunKind.LIVE if attempt.number == 1 else RunKind.RETRY,
        trajectory=trajectory,
        attribution=attempt.attribution,
        rewrite=rewrite_record(attempt),
        tape=_tape(attempt),
    )


def _tape(attempt: Attempt) -> dict[str, Any] | None:
    """The tape as plain data; a run that was recorded without content has none, and is stored all the same."""
    with guard("make the tape"):
        try:
            return attempt.tape.model_dump(mode="json", exclude_defaults=True)
        except ReplayError:
            return None
    return None
