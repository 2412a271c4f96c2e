"""``tracer_hooks.diagnose``: attribution for a trajectory, a record, or files."""

from __future__ import annotations

from pathlib import Path
from typing import overload

from tracer_hooks._api.runs import TeamRun
from tracer_hooks.attribution import Attributor, diagnose_trajectory, get_attributor
from tracer_hooks.errors import TrajectoryError
from tracer_hooks.schema import Attribution, Trajectory


@overload
def diagnose(
    target: Trajectory | TeamRun, *, attributor: str | Attributor = "auto", reference: str | None = None
) -> Attribution: ...
@overload
def diagnose(
    target: str | Path, *, attributor: str | Attributor = "auto", reference: str | None = None
) -> list[Attribution]: ...
def diagnose(
    target: Trajectory | TeamRun | str | Path, *, attributor: str | Attributor = "auto", reference: str | None = None
) -> Attribution | list[Attribution]:
    """Which agent, at which step, made the run fail.

    Args:
        target: A trajectory, a hooked run, or a file or folder in any format that ``tracer-hooks diagnose`` reads.
        attributor: Who diagnoses; a name or an :class:`~tracer_hooks.attribution.Attributor`.
        reference: The expected answer, when the attributor may use it. One that stands in a file is never shown to it.

    Returns:
        One attribution; for a file or folder a list, one for each trajectory in it.

    Raises:
        TrajectoryError: A file cannot be read; all readable ones come with ``tracer-hooks diagnose``.
        ConfigError: No attributor has this name.
        AttributionError: The attributor named an agent or a step that the run does not have.
    """
    chosen = get_attributor(attributor)
    if isinstance(target, TeamRun):
        target = target.trajectory
    if isinstance(target, Trajectory):
        return diagnose_trajectory(target, attributor=chosen, reference=reference)
    from tracer_hooks.datasets import load

    results = []
    for record in load(target):
        if record.error is not None or record.trajectory is None:
            raise record.error or TrajectoryError(f"{record.source!r} holds no trajectory")
        results.append(diagnose_trajectory(record.trajectory, attributor=chosen, reference=reference))
    return results
