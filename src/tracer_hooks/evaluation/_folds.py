"""Grouped cross-validation: nobody is judged on a question that it was fitted to."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from tracer_hooks.attribution import Attributor, diagnose_trajectory
from tracer_hooks.errors import ConfigError
from tracer_hooks.schema import Attribution, LabeledTrajectory

Fit = Callable[[Sequence[LabeledTrajectory]], Attributor]
"""Fits an attributor to labelled trajectories."""


def grouped_folds(
    questions: Sequence[str], folds: int, *, seed: int = 0, strata: Sequence[str] | None = None
) -> list[int]:
    """The fold of each run, all runs of a question in the same one.

    Questions are shuffled within their stratum (that of their first run) and dealt out in turn, so that every fold
    gets its share of every stratum.

    Raises:
        ConfigError: There are fewer questions than folds, or fewer than two folds.
    """
    first = dict(zip(reversed(questions), reversed(strata or [""] * len(questions)), strict=True))
    if not 2 <= folds <= len(first):
        raise ConfigError(
            f"cannot make {folds} folds of {len(first)} questions, expected between 2 and {max(2, len(first))}"
        )
    order = sorted(first, key=lambda question: (first[question], question))
    random.Random(seed).shuffle(order)
    order.sort(key=lambda question: first[question])
    fold_of = {question: position % folds for position, question in enumerate(order)}
    return [fold_of[question] for question in questions]


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
    shown = [without_reference(one) for one in labeled]
    where = grouped_folds([question_of(one) for one in shown], folds, seed=seed)
    answers: dict[int, Attribution] = {}
    for fold in range(folds):
        attributor = fit([one for one, place in zip(shown, where, strict=True) if place != fold])
        for position, one in enumerate(shown):
            if where[position] == fold:
                answers[position] = diagnose_trajectory(one.trajectory, attributor=attributor)
    return [answers[position] for position in range(len(shown))]


def question_of(labeled: LabeledTrajectory) -> str:
    """What groups a trajectory with others."""
    return labeled.question_id or labeled.trajectory.task or labeled.trajectory.run_id


def without_reference(labeled: LabeledTrajectory) -> LabeledTrajectory:
    """The same label and run without the expected answer, as runs will be judged later on."""
    trajectory = labeled.trajectory.model_copy(update={"reference": None})
    return labeled.model_copy(update={"trajectory": trajectory})
