"""``diagnose`` for recorded runs, and the attributor that compares with a team's passing runs in the store."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, overload

from tracer_hooks._guard import logger
from tracer_hooks.datasets import load
from tracer_hooks.diagnosis import (
    Attributor,
    ContrastAttributor,
    ContrastOptions,
    diagnose_trajectory,
    get_attributor,
)
from tracer_hooks.errors import ConfigError, StoreError, TrajectoryError
from tracer_hooks.runtime._team_run import TeamRun
from tracer_hooks.schema import Attribution, RunOutcome, Trajectory

if TYPE_CHECKING:
    from tracer_hooks.store import RunStore, RunSummary


@overload
def diagnose(
    target: Trajectory | TeamRun,
    *,
    attributor: str | Attributor = "auto",
    outcome: str | RunOutcome | None = None,
    reason: str | None = None,
    expected: str | None = None,
    reference: str | None = None,
) -> Attribution: ...


@overload
def diagnose(
    target: str | Path,
    *,
    attributor: str | Attributor = "auto",
    outcome: str | RunOutcome | None = None,
    reason: str | None = None,
    expected: str | None = None,
    reference: str | None = None,
) -> list[Attribution]: ...


def diagnose(
    target: Trajectory | TeamRun | str | Path,
    *,
    attributor: str | Attributor = "auto",
    outcome: str | RunOutcome | None = None,
    reason: str | None = None,
    expected: str | None = None,
    reference: str | None = None,
) -> Attribution | list[Attribution]:
    """Tell which agent, at which step, made the run fail.

    Traces of other libraries mostly do not say that a run failed. Say it: with ``outcome``, or with ``expected``.
    Of a file or folder what you say holds for every run in it.

    Args:
        target: A trajectory, a hooked run, or a file or folder in any format that ``tracer-hooks diagnose`` reads.
        attributor: Who diagnoses; a name or an :class:`~tracer_hooks.diagnosis.Attributor`.
        outcome: How the run ended: ``"failed"``, ``"succeeded"`` or ``"unknown"``. It counts, whatever the trace says.
        reason: Why it failed, in words or as a check says it, such as ``"expected 470, got 430"``.
        expected: The expected answer, which the attributor may use. Without ``outcome`` it also decides: a final answer
            that differs from it makes the run a failed one, and one that agrees makes a run of unknown outcome a
            succeeded one. An answer that stands in a file is never shown to the attributor.
        reference: The former name of ``expected``; deprecated.

    Returns:
        One attribution; for a file or folder a list, one for each trajectory in it.

    Raises:
        TrajectoryError: A file cannot be read; all readable ones come with ``tracer-hooks diagnose``.
        ConfigError: No attributor has this name, or what is said of the run contradicts itself.
        AttributionError: The attributor named an agent or a step that the run does not have.
    """
    from tracer_hooks.datasets import OutcomeOverride, load

    if reference is not None:
        if expected is not None:
            raise ConfigError("expected= and reference= are both given, expected one: reference= is the former name")
        warnings.warn("diagnose(reference=...) is now diagnose(expected=...)", DeprecationWarning, stacklevel=2)
        expected = reference
    stated = OutcomeOverride(outcome=_outcome(outcome), reason=reason, expected=expected)
    chosen = get_attributor(attributor)

    def one(trajectory: Trajectory) -> Attribution:
        return diagnose_trajectory(stated.of(trajectory).trajectory, attributor=chosen, reference=expected)

    if isinstance(target, TeamRun):
        target = target.trajectory
    if isinstance(target, Trajectory):
        return one(target)
    results = []
    for record in load(target):
        if record.error is not None or record.trajectory is None:
            raise record.error or TrajectoryError(f"{record.source!r} holds no trajectory")
        results.append(one(record.trajectory))
    return results


def _outcome(value: str | RunOutcome | None) -> RunOutcome | None:
    if value is None:
        return None
    try:
        return RunOutcome(value)
    except ValueError as error:
        raise ConfigError(f"outcome is {value!r}, expected 'failed', 'succeeded' or 'unknown'") from error


_SUMMARY_TASK = 400
"""Characters of a task that a summary is sure to keep."""
_FILE_LIMIT = 2_000
_KEPT = 4
"""How many times ``limit`` runs of the store are kept in memory, for the next run to be judged."""


class StoredRuns:
    """Runs of the same team in the run store: those of the same task first, then the newest.

    Args:
        store: The store; it is only read.
        limit: How many runs of each outcome, passing and failing, are handed over at most.
        looked_at: How many of the newest runs of each outcome are looked at to find those of the same task.
    """

    def __init__(self, store: RunStore, *, limit: int = 20, looked_at: int = 500) -> None:
        self._store = store
        self._limit = limit
        self._looked_at = looked_at
        self._loaded: dict[str, Trajectory] = {}

    def runs_like(self, trajectory: Trajectory) -> Sequence[Trajectory]:
        """Passing, then failing runs of the team; any team's when the trajectory does not name one.

        Runs whose outcome is not known are of no use for a comparison and left out; so is a damaged one, with a
        warning. A store that does not exist yet holds no runs.
        """
        if not self._store.path.exists():
            return ()
        outcomes = (RunOutcome.SUCCEEDED, RunOutcome.FAILED)
        return [run for outcome in outcomes for run in self._of_outcome(trajectory, outcome)]

    def _of_outcome(self, trajectory: Trajectory, outcome: RunOutcome) -> list[Trajectory]:
        newest = self._store.list(limit=self._looked_at, team=trajectory.team or None, outcome=outcome)
        others = [run for run in newest if run.run_id != trajectory.run_id]
        same_task = [run for run in others if run.task[:_SUMMARY_TASK] == trajectory.task[:_SUMMARY_TASK]]
        known = {run.run_id for run in same_task}
        ordered = chain(same_task, (run for run in others if run.run_id not in known))
        found = (self._load(run) for run in islice(ordered, self._limit))
        return [run for run in found if run is not None]

    def _load(self, summary: RunSummary) -> Trajectory | None:
        loaded = self._loaded.get(summary.run_id)
        if loaded is not None and loaded.outcome is summary.outcome:
            return loaded
        try:
            stored = self._store.get(summary.run_id, with_tape=False)
        except StoreError as error:
            logger.warning("tracer-hooks leaves out a stored run that cannot be read: %s", error)
            return None
        if len(self._loaded) >= _KEPT * self._limit:
            self._loaded.clear()
        # The store's own column is what the user sees; an outcome that was set later stands there.
        self._loaded[stored.run_id] = stored.trajectory.model_copy(update={"outcome": stored.outcome})
        return self._loaded[stored.run_id]


class FiledRuns:
    """Runs in a file or folder, in any format that ``tracer-hooks diagnose`` reads; read at the first use."""

    def __init__(self, path: str | Path, *, limit: int = _FILE_LIMIT) -> None:
        self._path = Path(path)
        self._limit = limit
        self._runs: tuple[Trajectory, ...] | None = None

    def runs_like(self, trajectory: Trajectory) -> Sequence[Trajectory]:
        """All of them; records that cannot be read are left out, with a warning."""
        if self._runs is None:
            self._runs = self._read()
        return self._runs

    def _read(self) -> tuple[Trajectory, ...]:
        found: list[Trajectory] = []
        last_error: TrajectoryError | None = None
        for record in load(self._path):
            if record.trajectory is None:
                last_error = record.error
                logger.warning("tracer-hooks leaves out a run that cannot be read: %s", record.error)
            elif len(found) < self._limit:
                found.append(record.trajectory)
        if not found:
            raise TrajectoryError(
                f"{str(self._path)!r} holds no run to compare with, expected trajectories of runs that passed "
                f"({last_error}). Run: tracer-hooks runs export RUN"
            )
        return tuple(found)


def contrast_attributor(
    *, passing: str | Path | None = None, store: RunStore | None = None, options: ContrastOptions | None = None
) -> ContrastAttributor:
    """The attributor ``contrast`` with the runs of a folder, of the run store, or of both."""
    return ContrastAttributor(
        passing=FiledRuns(passing) if passing is not None else None,
        runs=StoredRuns(store) if store is not None else None,
        options=options,
    )
