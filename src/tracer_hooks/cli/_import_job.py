"""``tracer-hooks runs import``."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tracer_hooks.cli._console import DONE, FAILED, err, out, print_json
from tracer_hooks.cli._inputs import FileFormat, records_in
from tracer_hooks.cli._needed_store import needed_store
from tracer_hooks.datasets import LoadedRecord, Stated
from tracer_hooks.schema import RunKind, RunOutcome, Trajectory, to_json
from tracer_hooks.store import RunStore, StoredRun
from tracer_hooks.telemetry import ContentGate, gated_trajectory

_SAID = {"outcome": RunOutcome.UNKNOWN, "outcome_reason": None, "reference": None}
"""What may be said of a run after it was imported: it makes no other run of it."""


@dataclass(kw_only=True)
class _Taken:
    """What became of the records."""

    imported: list[str] = field(default_factory=list)
    there: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    bad: list[LoadedRecord] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ImportJob:
    """One call of the command."""

    paths: Sequence[str]
    stated: Stated
    file_format: FileFormat
    as_json: bool
    store: Path | None

    def run(self) -> int:
        """Take every run into the store, bad records set apart; gives the exit code."""
        taken = _Taken()
        with RunStore(needed_store(self.store)) as runs:
            for name in self.paths:
                self._take_path(runs, name, taken)
        self._show(taken)
        return FAILED if taken.bad else DONE

    def _take_path(self, runs: RunStore, name: str, taken: _Taken) -> None:
        for record in records_in(name, file_format=self.file_format):
            if record.error is not None or record.trajectory is None:
                taken.bad.append(record)
            else:
                self._take(runs, record.trajectory, taken)

    def _take(self, runs: RunStore, read: Trajectory, taken: _Taken) -> None:
        trajectory = gated_trajectory(self.stated.of(read).trajectory, ContentGate.of_record())
        if runs.add(_stored(trajectory)):
            taken.imported.append(trajectory.run_id)
            return
        there = runs.get(trajectory.run_id, with_tape=False)
        if there.kind is RunKind.IMPORTED and not _is_same(there.trajectory, trajectory):
            # Records of different sets may bear the same id, such as "1".
            trajectory = trajectory.model_copy(update={"run_id": f"{trajectory.run_id}-{_digest(trajectory)}"})
            if runs.add(_stored(trajectory)):
                taken.imported.append(trajectory.run_id)
                return
            there = runs.get(trajectory.run_id, with_tape=False)
        taken.there.append(there.run_id)
        is_said = self.stated != Stated() and there.kind is RunKind.IMPORTED
        if is_said and (there.outcome, there.outcome_reason) != (trajectory.outcome, trajectory.outcome_reason):
            runs.save(_stored(trajectory, like=there))
            taken.updated.append(there.run_id)

    def _show(self, taken: _Taken) -> None:
        for record in taken.bad:
            err().print(f"could not be read: {record.error}", style="yellow", soft_wrap=True)
        if self.as_json:
            bad = [{"source": record.source, "error": str(record.error)} for record in taken.bad]
            document: dict[str, Any] = {"imported": taken.imported, "already_there": taken.there}
            print_json({**document, "updated": taken.updated, "could_not_be_read": bad})
            return
        numbers = (
            f"{len(taken.imported)} imported, {len(taken.there)} already there, {len(taken.bad)} could not be read"
        )
        out().print(numbers, soft_wrap=True)
        if taken.updated:
            out().print(f"of those already there, {len(taken.updated)} now have the outcome that you say")
        first = next(iter((*taken.imported, *taken.there)), None)
        if first is not None:
            out().print(f"diagnose one: tracer-hooks diagnose {first}", soft_wrap=True)


def _stored(trajectory: Trajectory, *, like: StoredRun | None = None) -> StoredRun:
    starts = [step.started_at for step in trajectory.steps if step.started_at is not None]
    ends = [step.ended_at for step in trajectory.steps if step.ended_at is not None]
    return StoredRun(
        run_id=trajectory.run_id,
        team=trajectory.team,
        framework=trajectory.framework,
        task=trajectory.task,
        outcome=trajectory.outcome,
        outcome_reason=trajectory.outcome_reason,
        # Records without times are listed where they were imported.
        started_at=like.started_at if like is not None else min(starts, default=datetime.now(UTC)),
        ended_at=max(ends, default=None),
        session_id=trajectory.run_id,
        kind=RunKind.IMPORTED,
        trajectory=trajectory,
    )


def _is_same(one: Trajectory, other: Trajectory) -> bool:
    return one.model_copy(update=_SAID) == other.model_copy(update=_SAID)


def _digest(trajectory: Trajectory) -> str:
    """Of the content, so that the same record gets the same id in every import."""
    return hashlib.sha256(to_json(trajectory.model_copy(update=_SAID)).encode()).hexdigest()[:8]
