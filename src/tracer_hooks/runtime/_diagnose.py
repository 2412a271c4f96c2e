"""``diagnose`` for recorded runs, and runs in files for the attributor that compares with passing ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from tracer_hooks._guard import logger
from tracer_hooks.datasets import OutcomeOverride, load
from tracer_hooks.diagnosis import Attributor, diagnose_trajectory, explainer, get_attributor
from tracer_hooks.errors import ConfigError, TrajectoryError
from tracer_hooks.runtime._team_run import TeamRun
from tracer_hooks.schema import Attribution, RunOutcome, Trajectory
from tracer_hooks.telemetry import LateEmitter

if TYPE_CHECKING:
    from tracer_hooks.diagnosis import JudgeOptions


@overload
def diagnose(
    target: Trajectory | TeamRun,
    *,
    attributor: str | Attributor = "auto",
    outcome: str | RunOutcome | None = None,
    reason: str | None = None,
    expected: str | None = None,
    explain: bool | JudgeOptions = False,
) -> Attribution: ...


@overload
def diagnose(
    target: str | Path,
    *,
    attributor: str | Attributor = "auto",
    outcome: str | RunOutcome | None = None,
    reason: str | None = None,
    expected: str | None = None,
    explain: bool | JudgeOptions = False,
) -> list[Attribution]: ...


def diagnose(
    target: Trajectory | TeamRun | str | Path,
    *,
    attributor: str | Attributor = "auto",
    outcome: str | RunOutcome | None = None,
    reason: str | None = None,
    expected: str | None = None,
    explain: bool | JudgeOptions = False,
) -> Attribution | list[Attribution]:
    """Tell which agent, at which step, made the run fail.

    Traces of other libraries mostly do not say that a run failed. Say it: with ``outcome``, or with ``expected``.
    Of a file or folder what you say holds for every run in it. Where a global tracer provider is set up, the diagnosis
    is exported into the run's trace.

    Args:
        target: A trajectory, a hooked run, or a file or folder in any format that ``tracer-hooks diagnose`` reads.
        attributor: Who diagnoses; a name or an :class:`~tracer_hooks.diagnosis.Attributor`.
        outcome: How the run ended: ``"failed"``, ``"succeeded"`` or ``"unknown"``. It counts, whatever the trace says.
        reason: Why it failed, in words or as a check says it, such as ``"expected 470, got 430"``.
        expected: The expected answer, which the attributor may use. Without ``outcome`` it also decides: a final answer
            that differs from it makes the run a failed one, and one that agrees makes a run of unknown outcome a
            succeeded one. An answer that stands in a file is never shown to the attributor.
        explain: Also have the judge's model say what each diagnosis means, in ``attribution.explanation``; True takes
            its settings from the environment. Where that fails, one line is logged.

    Returns:
        One attribution; for a file or folder a list, one for each trajectory in it.

    Raises:
        TrajectoryError: A file cannot be read; all readable ones come with ``tracer-hooks diagnose``.
        ConfigError: No attributor has this name, no model explains, or what is said of the run contradicts itself.
        AttributionError: The attributor named an agent or a step that the run does not have.
    """
    stated = OutcomeOverride(outcome=_outcome(outcome), reason=reason, expected=expected)
    chosen, explained, emitter = get_attributor(attributor), explainer(explain), LateEmitter()

    def one(trajectory: Trajectory) -> Attribution:
        run = stated.of(trajectory).trajectory
        found = explained(run, diagnose_trajectory(run, attributor=chosen, reference=expected))
        emitter.emit(run, found)
        return found

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


_FILE_LIMIT = 2_000


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
