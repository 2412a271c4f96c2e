"""Which runs a run can be compared with, the nearest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tracer_hooks.attribution._contrast._comparison import task_closeness
from tracer_hooks.attribution._contrast._run_view import RunView
from tracer_hooks.schema import Trajectory

SAME_TASK = 0.9
"""Likeness of the tasks from which two runs count as runs of one task."""
_LEAST_SHARED = 0.5
"""Share of the smaller roster that both teams must have."""
_CLOSENESS_GRAIN = 10
"""Differences of task likeness below a tenth do not decide which run is nearer; the acts do."""


_TASK_GLANCE = 2_000
"""Characters of a task that are looked at to see which runs are worth reading."""


def likely_neighbours(trajectory: Trajectory, others: Iterable[Trajectory], *, at_most: int) -> tuple[Trajectory, ...]:
    """The runs that are worth reading: those with the likeliest tasks, and among these in the order given.

    Each run counts once, by its id, and ``trajectory`` itself is left out.
    """
    words = _task_words(trajectory)
    once = {other.run_id: other for other in others if other.run_id != trajectory.run_id}

    def distance(other: Trajectory) -> int:
        theirs = _task_words(other)
        shared = len(words & theirs) / max(1, len(words | theirs))
        return -round(_CLOSENESS_GRAIN * shared)

    return tuple(sorted(once.values(), key=distance)[:at_most])


def _task_words(trajectory: Trajectory) -> frozenset[str]:
    return frozenset(trajectory.task[:_TASK_GLANCE].casefold().split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """The runs that a run is compared with."""

    passing: tuple[RunView, ...]
    """Passing runs of the team, the nearest first."""
    passing_same_task: tuple[RunView, ...]
    """Those of them that had the same task."""
    failing_same_task: tuple[RunView, ...]
    """Failing runs of the same team and task."""


def neighbours_of(run: RunView, passing: Iterable[RunView], failing: Iterable[RunView]) -> Neighbours:
    """Choose and order the runs that ``run`` can be compared with."""
    near = nearest_first(run, passing)
    return Neighbours(
        passing=near,
        passing_same_task=_of_same_task(run, near),
        failing_same_task=_of_same_task(run, nearest_first(run, failing)),
    )


def nearest_first(run: RunView, others: Iterable[RunView]) -> tuple[RunView, ...]:
    """Those of ``others`` that are of the same team, by the likeness of the task, then by that of the acts."""
    usable = [other for other in others if other.acts and _same_team(run, other)]
    return tuple(sorted(usable, key=lambda other: _distance(run, other)))


def _same_team(run: RunView, other: RunView) -> bool:
    shared = len(run.agents & other.agents)
    return shared >= _LEAST_SHARED * max(1, min(len(run.agents), len(other.agents)))


def _distance(run: RunView, other: RunView) -> tuple[int, float]:
    closeness = round(_CLOSENESS_GRAIN * task_closeness(run, other))
    common = sum((run.act_counts & other.act_counts).values())
    return -closeness, -2.0 * common / max(1, len(run.acts) + len(other.acts))


def _of_same_task(run: RunView, others: Sequence[RunView]) -> tuple[RunView, ...]:
    return tuple(other for other in others if task_closeness(run, other) >= SAME_TASK)
