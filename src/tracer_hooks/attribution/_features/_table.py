"""The table of structural features of one trajectory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._features._agreement import agreement, repetition
from tracer_hooks.attribution._features._code import brief, code
from tracer_hooks.attribution._features._failure import failure
from tracer_hooks.attribution._features._language import claims, language
from tracer_hooks.attribution._features._novelty import novelty
from tracer_hooks.attribution._features._position import position, roles, turns
from tracer_hooks.attribution._features._shape import flow, shape
from tracer_hooks.attribution._features._signals import rules
from tracer_hooks.attribution._features._view import Column, View
from tracer_hooks.attribution._features._work import run, work
from tracer_hooks.schema import Trajectory

_GROUPS: tuple[Callable[[View], dict[str, Column]], ...] = (
    position,
    turns,
    roles,
    shape,
    flow,
    novelty,
    failure,
    code,
    brief,
    language,
    claims,
    repetition,
    agreement,
    work,
    run,
    rules,
)


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """Interpretable features of every step of a trajectory."""

    names: tuple[str, ...]
    """Name of each feature, ``"group: what it says"``; the same for every trajectory, in the same order."""
    values: NDArray[np.float64]
    """One row for each step, one column for each feature; finite."""

    def standardised(self) -> NDArray[np.float64]:
        """The values less their mean over the steps of this trajectory, over their spread; constant columns are 0.

        What is compared is then each step with the others of its run, not one team's habits with another's.
        """
        centred = self.values - self.values.mean(axis=0, keepdims=True)
        spread = self.values.std(axis=0, keepdims=True)
        return np.where(spread > 1e-9, centred / np.where(spread > 1e-9, spread, 1.0), 0.0)


def features_of(trajectory: Trajectory, *, reference: str | None = None) -> FeatureTable:
    """Read the features off a trajectory.

    Args:
        trajectory: With at least one step.
        reference: The expected answer, when it may be used; ``trajectory.reference`` is not looked at.
    """
    return table_of(View(trajectory, reference))


def table_of(view: View) -> FeatureTable:
    """The features of a trajectory that has been made ready."""
    columns: dict[str, Column] = {}
    for group in _GROUPS:
        columns.update(view.columns(group))
    values = np.stack(list(columns.values()), axis=1)
    return FeatureTable(tuple(columns), np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0))


def group_of(name: str) -> str:
    """The group that a feature belongs to: the part of its name before the colon."""
    return name.partition(":")[0]
