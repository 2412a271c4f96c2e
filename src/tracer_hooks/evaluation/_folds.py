"""Grouped cross-validation: nobody is judged on a question that it was fitted to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracer_hooks._folds import grouped_folds
from tracer_hooks.diagnosis import Attributor, diagnose_trajectory
from tracer_hooks.schema import Attribution, LabeledTrajectory

Fit = Callable[[Sequence[LabeledTrajectory]], Attributor]
"""Fits an attributor to labelled trajectories."""


def cross_validate(
    labeled: Sequence[LabeledTrajectory], fit: Fit, *, folds: int = 5, seed: int = 0
) -> list[Attribution]:
    """The answer for each trajectory by an attributor that was fitted to none of its question's.

    Args:
        labeled: Labelled trajectories. Those with the same ``question_id``, or without one the same task, stay
            together. The expected answer is shown neither to ``fit`` nor to the attributor.
        fit: Fits an attributor; called once for each fold, with the trajectories outside it.
        folds: How many.
        seed: Of the split.

    Returns:
        One answer a trajectory, in the same order.

    Raises:
        ConfigError: There are fewer questions than folds.
    """
    shown = [without_reference(case) for case in labeled]
    where = grouped_folds([question_of(case) for case in shown], folds, seed=seed)
    answers: dict[int, Attribution] = {}
    for fold in range(folds):
        attributor = fit([case for case, place in zip(shown, where, strict=True) if place != fold])
        for position, case in enumerate(shown):
            if where[position] == fold:
                answers[position] = diagnose_trajectory(case.trajectory, attributor=attributor)
    return [answers[position] for position in range(len(shown))]


def question_of(labeled: LabeledTrajectory) -> str:
    """Return what groups a trajectory with others."""
    return labeled.question_id or labeled.trajectory.task or labeled.trajectory.run_id


def without_reference(labeled: LabeledTrajectory) -> LabeledTrajectory:
    """The same label and run without the expected answer, as runs will be judged later on."""
    trajectory = labeled.trajectory.model_copy(update={"reference": None})
    return labeled.model_copy(update={"trajectory": trajectory})
