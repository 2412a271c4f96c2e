"""The structural model: a prior, and what was learnt from labels on top of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tracer_hooks.attribution._features import FeatureTable
from tracer_hooks.attribution._pooling import normalised
from tracer_hooks.attribution._structural._forest import Forest
from tracer_hooks.attribution._structural._logit import ConditionalLogit, Logits
from tracer_hooks.attribution._structural._prior import prior_contributions, prior_logits
from tracer_hooks.schema import Trajectory

POOLED = "pooled"


def family_of(trajectory: Trajectory) -> str:
    """Which trajectories are of one kind: the same framework and team, with hand-offs or by turns."""
    handed = any(step.recipient is not None for step in trajectory.steps)
    return f"{trajectory.framework}/{trajectory.team}/{'hand-offs' if handed else 'turns'}"


@dataclass(frozen=True, slots=True)
class StructuralModel:
    """Log-beliefs over steps: the prior alone, or a logarithmic pool of what labels have taught."""

    logit: ConditionalLogit = field(default_factory=lambda: ConditionalLogit({}))
    """On top of the prior."""
    forests: Mapping[str, Forest] = field(default_factory=dict)
    """By family of trajectories, or one under ``"pooled"``."""
    logit_weight: float = 1.0
    """Share of the logit in the pool; divides by the temperature too."""
    forest_weight: float = 0.0
    """Share of the trees in the pool."""

    @property
    def is_fitted(self) -> bool:
        """Whether labels have gone into it, so that its beliefs are probabilities."""
        return bool(self.logit.weights) or bool(self.forests)

    def logits(self, table: FeatureTable, *, family: str) -> Logits:
        """Log-belief of every step, up to a constant."""
        total = self.logit_weight * normalised(self.logit.logits(table, prior_logits(table)))
        forest = self.forests.get(family) or self.forests.get(POOLED)
        if forest is not None and self.forest_weight:
            total = total + self.forest_weight * normalised(forest.logits(table))
        return np.asarray(total)

    def contributions(self, table: FeatureTable, step: int) -> list[tuple[str, float]]:
        """What each feature adds to a step against the run's average step, the largest first."""
        total = dict(self.logit.contributions(table, step))
        for name, odds in prior_contributions(table, step):
            total[name] = total.get(name, 0.0) + self.logit.prior_weight * odds
        return sorted(total.items(), key=lambda pair: -pair[1])

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return {
            "logit": self.logit.to_json(),
            "forests": {family: forest.to_json() for family, forest in self.forests.items()},
            "logit_weight": round(self.logit_weight, 5),
            "forest_weight": round(self.forest_weight, 5),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> StructuralModel:
        """What :meth:`to_json` wrote."""
        return cls(
            logit=ConditionalLogit.from_json(data["logit"]),
            forests={str(family): Forest.from_json(one) for family, one in data["forests"].items()},
            logit_weight=float(data["logit_weight"]),
            forest_weight=float(data["forest_weight"]),
        )
