"""Times of runs that are to be compared, made at different moments of one build."""

from __future__ import annotations

from datetime import datetime, timedelta

from tracer_hooks.schema import Step, Trajectory

LEAST = timedelta(milliseconds=10)
"""A shorter step says more of the state of the machine than of the team."""


def evened(run: Trajectory) -> Trajectory:
    """``run`` with steps of at least :data:`LEAST`; what comes after them begins as much later.

    In a run with a fault, the steps up to it keep the times of the clean run, and the others were measured later, in a
    process that had warmed up. Between steps that take microseconds that would show where the fault is.
    """
    steps: list[Step] = []
    later = timedelta()
    reached: datetime | None = None
    for step in run.steps:
        if step.started_at is None or step.ended_at is None:
            steps.append(step)
            continue
        starts_after_the_last = reached is None or step.started_at >= reached
        begin = step.started_at + later
        missing = max(LEAST - (step.ended_at - step.started_at), timedelta())
        steps.append(step.model_copy(update={"started_at": begin, "ended_at": step.ended_at + later + missing}))
        if starts_after_the_last:  # a step beside another one moves nothing else
            later += missing
        reached = step.ended_at if reached is None else max(reached, step.ended_at)
    return run.model_copy(update={"steps": tuple(steps)})
