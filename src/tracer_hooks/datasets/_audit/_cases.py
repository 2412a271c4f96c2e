"""The runs of a labelled set that can be audited, dealt into folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracer_hooks._folds import grouped_folds
from tracer_hooks.datasets._labeled import LabeledSet, question_groups, text_of
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks.schema import LabeledTrajectory, LabelSource, Trajectory

_FEWEST_STEPS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One labelled run with its decisive step."""

    labeled: LabeledTrajectory
    step: int
    group: str
    """What must stay on one side of a split."""
    clean: Trajectory | None
    """The passing run beside it, when it has a step of the same agent at the same place."""
    partner: Trajectory | None
    """The passing run beside it, whatever its steps."""

    @property
    def run(self) -> Trajectory:
        """What happened."""
        return self.labeled.trajectory

    @property
    def eligible(self) -> npt.NDArray[np.bool_]:
        """Which steps the fault could have been put into: ``verification["eligible_steps"]``, or else all."""
        named = self.labeled.verification.get("eligible_steps")
        steps = set(named) if isinstance(named, list) and self.step in named else set(range(len(self.run.steps)))
        return np.array([step.index in steps for step in self.run.steps])

    @property
    def architecture(self) -> str:
        """What makes an agent's name comparable between runs."""
        return text_of(self.labeled.verification, "architecture") or f"{self.run.framework}/{self.run.team}"


def cases_of(dataset: LabeledSet, is_wanted: Callable[[LabelSource], bool]) -> list[Case]:
    """The runs with a wanted label source and a decisive step among at least two."""
    partners = {id(pair.faulty): pair.clean.trajectory for pair in dataset.pairs()}
    groups = question_groups([*dataset.labeled, *dataset.clean])
    found = []
    for item, group in zip(dataset.labeled, groups, strict=False):
        if not is_wanted(item.label_source) or item.decisive is None:
            continue
        step, run, partner = item.decisive.step, item.trajectory, partners.get(id(item))
        if step >= len(run.steps) or len(run.steps) < _FEWEST_STEPS:
            continue
        clean = partner if partner is not None and _has_counterpart(partner, run, step) else None
        found.append(Case(labeled=item, step=step, group=group, clean=clean, partner=partner))
    return found


def folds_of(cases: Sequence[Case], folds: int, seed: int) -> list[int]:
    """The fold of each case, whole groups together.

    Raises:
        DatasetError: There are fewer groups than folds.
    """
    groups = [case.group for case in cases]
    try:
        return grouped_folds(groups, folds, seed=seed)
    except ConfigError as error:
        count = len(set(groups))
        raise DatasetError(
            f"cannot audit {count} questions in {folds} folds, expected between 2 and {max(2, count)} "
            "folds. Build more data, or ask for fewer folds"
        ) from error


def _has_counterpart(clean: Trajectory, run: Trajectory, step: int) -> bool:
    return step < len(clean.steps) and clean.steps[step].agent == run.steps[step].agent
