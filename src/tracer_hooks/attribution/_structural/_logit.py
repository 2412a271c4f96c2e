"""A conditional logit over the steps of one trajectory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._features import FeatureTable

Logits = NDArray[np.float64]
"""One log-belief, up to a constant, for each step."""


@dataclass(frozen=True, slots=True)
class ConditionalLogit:
    """Softmax over the steps of a trajectory of a weighted sum of features (McFadden 1974).

    The features are standardised within the trajectory first, so that a weight says how much a step stands out in its
    own run. The prior's log-odds are one more term: with its weight at 1 and all others at 0 the model is the prior.
    """

    weights: Mapping[str, float]
    """Weight of each feature in standard deviations; what is not named counts 0."""
    prior_weight: float = 1.0
    """Weight of the prior's log-odds."""

    def logits(self, table: FeatureTable, prior: Logits) -> Logits:
        """Log-belief of every step, up to a constant."""
        return self.prior_weight * prior + table.standardised() @ self._vector(table.names)

    def contributions(self, table: FeatureTable, step: int) -> list[tuple[str, float]]:
        """What each feature adds to the log-odds of ``step`` against the run's average step, the largest first."""
        terms = table.standardised()[step] * self._vector(table.names)
        named = [(name, float(term)) for name, term in zip(table.names, terms, strict=True) if term]
        return sorted(named, key=lambda pair: -pair[1])

    @classmethod
    def mean(cls, models: Sequence[tuple[ConditionalLogit, float]]) -> ConditionalLogit:
        """The weighted mean of several models, whose log-odds are the weighted mean of theirs."""
        weights: dict[str, float] = {}
        for model, share in models:
            for name, weight in model.weights.items():
                weights[name] = weights.get(name, 0.0) + share * weight
        return cls(weights, sum(share * model.prior_weight for model, share in models))

    def to_json(self) -> dict[str, Any]:
        """As plain JSON, weights of 0 left out."""
        kept = {name: round(weight, 5) for name, weight in self.weights.items() if abs(weight) >= 5e-6}
        return {"prior_weight": round(self.prior_weight, 5), "weights": kept}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ConditionalLogit:
        """What :meth:`to_json` wrote."""
        return cls({str(k): float(v) for k, v in data["weights"].items()}, float(data["prior_weight"]))

    def _vector(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        return np.array([self.weights.get(name, 0.0) for name in names])


def fit_logit(
    tables: list[NDArray[np.float64]], priors: list[Logits], targets: list[int], *, strength: float
) -> tuple[NDArray[np.float64], float]:
    """Fit the weights by maximum a posteriori; the prior's weight is drawn to 1 and all others to 0.

    Args:
        tables: For each trajectory its standardised features, (steps, features).
        priors: For each trajectory the prior's log-odds, (steps,).
        targets: For each trajectory the decisive step.
        strength: Precision of the Gaussian prior on the weights; larger keeps closer to the prior's answers.

    Returns:
        The weights of the features, and that of the prior.
    """
    from scipy.optimize import minimize

    rows = np.hstack([np.vstack(tables), np.concatenate(priors)[:, None]])
    starts = np.cumsum([0, *(len(one) for one in tables)])
    owner = np.repeat(np.arange(len(tables)), [len(one) for one in tables])
    chosen = starts[:-1] + np.array(targets)
    anchor = np.zeros(rows.shape[1])
    anchor[-1] = 1.0

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = rows @ weights
        top = np.maximum.reduceat(scores, starts[:-1])
        raw = np.exp(scores - top[owner])
        total = np.add.reduceat(raw, starts[:-1])
        away = weights - anchor
        value = float(-(scores[chosen] - top - np.log(total)).sum() + 0.5 * strength * away @ away)
        gradient = rows.T @ (raw / total[owner]) - rows[chosen].sum(axis=0) + strength * away
        return value, gradient

    found = minimize(loss, anchor, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    return found[:-1], float(found[-1])
