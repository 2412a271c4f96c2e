"""Beliefs over the steps of one trajectory: their logarithmic pool, and a conditional logit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.diagnosis._features import FeatureTable

Logits = NDArray[np.float64]
"""One log-belief, up to a constant, for each step; ``-inf`` for a step that cannot be the decisive one."""
FLOOR = -12.0
"""Log-belief below which a method's word is not taken, so that one method cannot rule a step out for all."""
_PULL_TO_EQUAL_SHARES = 3.0
"""How strongly the shares are drawn to equal ones, in units of one labelled trajectory."""


def normalised(logits: Logits) -> Logits:
    """The same less the logarithm of their sum: logarithms of probabilities, none below :data:`FLOOR`."""
    top = logits.max()
    if not np.isfinite(top):
        return np.full(len(logits), -np.log(max(1, len(logits))))
    shifted = np.maximum(logits - top, 2 * FLOOR)
    return np.asarray(np.maximum(shifted - np.log(np.exp(shifted).sum()), FLOOR))


def pool(members: Sequence[Logits], shares: Sequence[float]) -> Logits:
    """The logarithmic opinion pool of several methods (Genest and Zidek 1986), as log-probabilities.

    Args:
        members: The normalised log-beliefs of each method over the steps of one trajectory.
        shares: The weight of each method; their sum is also an inverse temperature.
    """
    total = np.zeros(len(members[0]))
    for member, share in zip(members, shares, strict=True):
        total += share * member
    return normalised(total)


def fit_shares(cases: Sequence[Sequence[Logits]], targets: Sequence[int]) -> NDArray[np.float64]:
    """The shares under which the labelled steps are likeliest, drawn to equal ones.

    Give it log-beliefs of models that have not seen the question, or the shares flatter whoever overfits most.

    Args:
        cases: For each trajectory the normalised log-beliefs of each method.
        targets: For each trajectory the decisive step.
    """
    from scipy.optimize import minimize

    count = len(cases[0])
    even = np.full(count, 1.0 / count)

    def loss(shares: NDArray[np.float64]) -> float:
        likelihood = sum(pool(one, shares.tolist())[target] for one, target in zip(cases, targets, strict=True))
        return float(-likelihood + _PULL_TO_EQUAL_SHARES * ((shares - even) ** 2).sum())

    found = minimize(loss, even, bounds=[(0.0, 2.0)] * count, method="L-BFGS-B").x
    return np.asarray(found, dtype=np.float64)


def agent_mass(logits: Logits, agents: Sequence[str]) -> Logits:
    """For each step the logarithm of the belief in its agent: the summed belief of all the agent's steps.

    Args:
        logits: One for each step.
        agents: Who acted in each step.
    """
    chances = np.exp(normalised(logits))
    mass: dict[str, float] = {}
    for agent, chance in zip(agents, chances, strict=True):
        mass[agent] = mass.get(agent, 0.0) + float(chance)
    return np.log([max(mass[agent], 1e-9) for agent in agents])


"""One log-belief, up to a constant, for each step."""
_EXACT = {"maxiter": 300, "ftol": 1e-7, "gtol": 1e-3}
"""When a fit is done: weights are of the order of 0.1, and more digits change no ranking."""


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
        return self.logits_from(table.standardised(), table.names, prior)

    def logits_from(self, standardised: NDArray[np.float64], names: tuple[str, ...], prior: Logits) -> Logits:
        """The same from features that have been standardised already."""
        return np.asarray(self.prior_weight * prior + standardised @ self._vector(names))

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


@dataclass(frozen=True, slots=True)
class KindLogits:
    """A conditional logit for each kind of team that was learnt from, and a shared one for all others."""

    shared: ConditionalLogit = field(default_factory=lambda: ConditionalLogit({}))
    by_kind: Mapping[str, ConditionalLogit] = field(default_factory=dict)

    def of(self, kind: str) -> ConditionalLogit:
        """The logit for one kind of team."""
        return self.by_kind.get(kind, self.shared)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        by_kind = {kind: logit.to_json() for kind, logit in sorted(self.by_kind.items())}
        return {"shared": self.shared.to_json(), "by_kind": by_kind}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KindLogits:
        """What :meth:`to_json` wrote."""
        by_kind = {str(kind): ConditionalLogit.from_json(logit) for kind, logit in data["by_kind"].items()}
        return cls(ConditionalLogit.from_json(data["shared"]), by_kind)


def fit_logits(
    tables: Sequence[NDArray[np.float64]],
    priors: Sequence[Logits],
    targets: Sequence[int],
    kinds: Sequence[str],
    *,
    strength: float,
    kind_strength: float,
    weights: Sequence[float] | None = None,
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """Fit shared weights and, for each kind of team, how it departs from them, by maximum a posteriori.

    The prior's weight is drawn to 1, the shared weights to 0, and the weights of a kind to the shared ones. A kind
    with many labels goes its own way; one with few borrows what the others have taught.

    Args:
        tables: For each trajectory its standardised features, (steps, features).
        priors: For each trajectory the prior's log-odds, (steps,).
        targets: For each trajectory the decisive step.
        kinds: For each trajectory the kind of its team.
        strength: Precision of the Gaussian prior on the shared weights; larger keeps closer to the prior's answers.
        kind_strength: The same for what a kind departs by.
        weights: How much each trajectory counts; default all alike.

    Returns:
        The shared weights, and those of each kind; of each the last one is the prior's.
    """
    from scipy.optimize import minimize

    names = sorted(set(kinds))
    order = sorted(range(len(tables)), key=lambda place: kinds[place])
    rows = np.hstack([np.vstack([tables[i] for i in order]), np.concatenate([priors[i] for i in order])[:, None]])
    sizes = [len(tables[i]) for i in order]
    starts = np.cumsum([0, *sizes])[:-1]
    owner = np.repeat(np.arange(len(order)), sizes)
    chosen = starts + np.array([targets[i] for i in order])
    ends = np.cumsum([sum(len(tables[i]) for i in order if kinds[i] == name) for name in names])
    blocks = [rows[low:high] for low, high in zip([0, *ends[:-1]], ends, strict=True)]
    counts = np.ones(len(order)) if weights is None else np.array([weights[i] for i in order])
    picked = np.zeros(len(rows))
    picked[chosen] = 1.0
    width = rows.shape[1]
    anchor = np.zeros((1 + len(names), width))
    anchor[0, -1] = 1.0
    precision = np.array([strength, *[kind_strength] * len(names)])[:, None]

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        both = flat.reshape(anchor.shape)
        scores = np.concatenate([block @ (both[0] + own) for block, own in zip(blocks, both[1:], strict=True)])
        top = np.maximum.reduceat(scores, starts)
        raw = np.exp(scores - top[owner])
        total = np.add.reduceat(raw, starts)
        away = both - anchor
        value = float(-(counts * (scores[chosen] - top - np.log(total))).sum() + 0.5 * (precision * away**2).sum())
        left = counts[owner] * (raw / total[owner] - picked)
        own = [block.T @ left[low:high] for block, low, high in zip(blocks, [0, *ends[:-1]], ends, strict=True)]
        gradient = np.vstack([np.sum(own, axis=0), *own]) + precision * away
        return value, gradient.ravel()

    found = minimize(loss, anchor.ravel(), jac=True, method="L-BFGS-B", options=_EXACT).x
    fitted = found.reshape(anchor.shape)
    return fitted[0], {name: fitted[0] + own for name, own in zip(names, fitted[1:], strict=True)}
