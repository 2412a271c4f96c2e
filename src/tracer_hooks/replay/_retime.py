"""The times of a run whose first steps came from a tape, as if they had been live."""

from __future__ import annotations

from datetime import datetime, timedelta

from tracer_hooks.schema import Step, Trajectory


def retimed(trajectory: Trajectory, recorded: Trajectory, until: int) -> Trajectory:
    """``trajectory`` with the durations and pauses of ``recorded`` in the steps before ``until``.

    A reply from a tape takes no time. In a data set that would tell where a fault was put in, and in a diagnosis it
    would look like a step that did nothing.

    Args:
        trajectory: A run whose steps before ``until`` were replayed.
        recorded: The run that they were recorded in.
        until: The first live step.
    """
    steps: list[Step] = []
    clock: datetime | None = None
    for step in trajectory.steps:
        if step.started_at is None or step.ended_at is None:
            steps.append(step)
            continue
        like = recorded.steps[step.index] if step.index < min(until, len(recorded.steps)) else step
        source = recorded if like is not step else trajectory
        start = clock + _pause(source, step.index) if clock is not None else step.started_at
        clock = start + _duration(like)
        steps.append(step.model_copy(update={"started_at": start, "ended_at": clock}))
    return trajectory.model_copy(update={"steps": tuple(steps)})


def _duration(step: Step) -> timedelta:
    if step.started_at is None or step.ended_at is None:
        return timedelta()
    return step.ended_at - step.started_at


def _pause(run: Trajectory, index: int) -> timedelta:
    """From the end of the step before to the beginning of this one; negative where branches overlap."""
    before, start = run.steps[index - 1].ended_at, run.steps[index].started_at
    return start - before if before is not None and start is not None else timedelta()
