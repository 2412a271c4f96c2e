"""``tracer_hooks.diagnose``: attribution for a trajectory, a record, or files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import overload

from tracer_hooks._api.runs import TeamRun
from tracer_hooks.attribution import Attributor, diagnose_trajectory, get_attributor
from tracer_hooks.errors import ConfigError, TrajectoryError
from tracer_hooks.schema import Attribution, RunOutcome, Trajectory


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
    """Which agent, at which step, made the run fail.

    Traces of other libraries mostly do not say that a run failed. Say it: with ``outcome``, or with ``expected``.
    Of a file or folder what you say holds for every run in it.

    Args:
        target: A trajectory, a hooked run, or a file or folder in any format that ``tracer-hooks diagnose`` reads.
        attributor: Who diagnoses; a name or an :class:`~tracer_hooks.attribution.Attributor`.
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
