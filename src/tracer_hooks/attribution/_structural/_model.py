"""The structural model: a prior, and what was learnt from labels on top of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tracer_hooks.attribution._features import FeatureTable
from tracer_hooks.attribution._pooling import normalised
from tracer_hooks.attribution._structural._forest import Forest
from tracer_hooks.attribution._structural._logit import ConditionalLogit, Logits
from tracer_hooks.attribution._structural._prior import prior_contributions, prior_logits

HAND_OFFS = "teams with hand-offs"
TURNS = "teams that take turns"


def kind_of(table: FeatureTable) -> str:
    """Which kind of team a trajectory is of: one that hands work on, or one that takes turns."""
    share = table.values[:, table.names.index("run: share of hand-offs")]
    return HAND_OFFS if share.any() else TURNS


@dataclass(frozen=True, slots=True)
class StructuralModel:
    """Log-beliefs over steps: the prior alone, or a logarithmic pool of what labels have taught."""

    logit: ConditionalLogit = field(default_factory=lambda: ConditionalLogit({}))
    """On top of the prior."""
    forest: Forest | None = None
    """Beside it, when there is one."""
    logit_weight: float = 1.0
    """Share of the logit in the pool; divides by the temperature too."""
    forest_weight: float = 0.0
    """Share of the trees in the pool."""
    kept: frozenset[str] = frozenset()
    """Kinds of team on which the prior alone ranked better than what the labels taught, and is used."""

    @property
    def is_fitted(self) -> bool:
        """Whether labels have gone into it, so that its beliefs are probabilities."""
        return bool(self.logit.weights) or self.forest is not None

    def logits(self, table: FeatureTable) -> Logits:
        """Log-belief of every step, up to a constant."""
        if self.kept and kind_of(table) in self.kept:
            return normalised(prior_logits(table))
        total = self.logit_weight * normalised(self.logit.logits(table, prior_logits(table)))
        if self.forest is not None:
            total = total + self.forest_weight * normalised(self.forest.logits(table))
        return np.asarray(total)

    def contributions(self, table: FeatureTable, step: int) -> list[tuple[str, float]]:
        """What each feature adds to the log-belief of a step against the run's average step, the largest first.

        They are those of the very model that :meth:`logits` asks: the prior alone where it was kept, else the prior and
        the weights under the pool's share, and the trees under theirs. They sum to how far the step's log-belief lies
        above the run's mean (of the trees: above the logarithm of the run's mean chance).
        """
        total: dict[str, float] = {}

        def add(terms: Iterable[tuple[str, float]], share: float) -> None:
            for name, odds in terms:
                total[name] = total.get(name, 0.0) + share * odds

        if self.kept and kind_of(table) in self.kept:
            add(prior_contributions(table, step), 1.0)
        else:
            add(prior_contributions(table, step), self.logit_weight * self.logit.prior_weight)
            add(self.logit.contributions(table, step), self.logit_weight)
            if self.forest is not None:
                add(self.forest.contributions(table, step), self.forest_weight)
        return sorted(total.items(), key=lambda pair: -pair[1])

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return {
            "logit": self.logit.to_json(),
            "forest": self.forest.to_json() if self.forest is not None else None,
            "logit_weight": round(self.logit_weight, 5),
            "forest_weight": round(self.forest_weight, 5),
            "kept": sorted(self.kept),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> StructuralModel:
        """What :meth:`to_json` wrote."""
        return cls(
            logit=ConditionalLogit.from_json(data["logit"]),
            forest=Forest.from_json(data["forest"]) if data["forest"] is not None else None,
            logit_weight=float(data["logit_weight"]),
            forest_weight=float(data["forest_weight"]),
            kept=frozenset(str(kind) for kind in data["kept"]),
        )
