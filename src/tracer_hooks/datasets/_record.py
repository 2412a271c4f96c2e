"""One record of a data set, as it was found."""

from __future__ import annotations

from dataclasses import dataclass

from tracer_hooks.errors import TrajectoryError
from tracer_hooks.schema import LabeledTrajectory, Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRecord:
    """One trajectory of a file, or the reason why there is none. Either ``trajectory`` or ``error`` is set."""

    source: str
    """The file's path; with ``:line`` or ``#position`` behind it when the file holds several records."""
    trajectory: Trajectory | None = None
    """What happened, without any label."""
    labeled: LabeledTrajectory | None = None
    """The same trajectory with its label, when the file has one."""
    question_id: str | None = None
    """Groups the runs of one question, for data that is graded and not labelled."""
    error: TrajectoryError | None = None
    """Why the record could not be read."""
