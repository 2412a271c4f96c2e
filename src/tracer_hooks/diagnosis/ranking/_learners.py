"""Beliefs over the steps of one run, and what is learnt of them from labels: a conditional logit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked

CHECKS = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
"""Of what is read from files: the fields of the classes below are those of the files."""
_LARGEST_NUMBER = 1e6
"""No weight is anywhere near it; beyond, sums would overflow."""
Number = Annotated[float, Field(ge=-_LARGEST_NUMBER, le=_LARGEST_NUMBER)]
Logits = NDArray[np.float64]
"""One log-belief, up to a constant, for each step; ``-inf`` for a step that cannot be the decisive one."""
FLOOR = -12.0
"""Log-belief below which a method's word is not taken, so that one method cannot rule a step out for all."""


def normalised(logits: Logits) -> Logits:
    """The same less the logarithm of their sum: logarithms of probabilities, none below :data:`FLOOR`."""
    top = logits.max()
    if not np.isfinite(top):
        return np.full(len(logits), -np.log(max(1, len(logits))))
    shifted = np.maximum(logits - top, 2 * FLOOR)
    return np.asarray(np.maximum(shifted - np.log(np.exp(shifted).sum()), FLOOR))


_EXACT = {"maxiter": 300, "ftol": 1e-7, "gtol": 1e-3}
"""When a fit is done: weights are of the order of 0.1, and more digits change no ranking."""


@dataclass(frozen=True, slots=True)
class RunFeatures:
    """Features of one run, as a logit reads them."""

    names: tuple[str, ...]
    standardised: NDArray[np.float64]
    """The features less their mean over the steps of the run, over their spread: (steps, features)."""
    prior: Logits
    kind: str
    """Of its team."""


@checked(frozen=True, slots=True, config=CHECKS)
class ConditionalLogit:
    """Softmax over the steps of a trajectory of a weighted sum of features (McFadden 1974).

    The features are standardised within the trajectory first, so that a weight says how much a step stands out in its
    own run. The prior's log-odds are one more term: with its weight at 1 and all others at 0 the model is the prior.
    """

    weights: dict[str, Number]
    """Weight of each feature in standard deviations; what is not named counts 0."""
    prior_weight: Number
    """Weight of the prior's log-odds."""


@checked(frozen=True, slots=True, config=CHECKS)
class KindLogits:
    """A conditional logit for each kind of team that was learnt from, and a shared one for all others."""

    shared: ConditionalLogit
    by_kind: dict[str, ConditionalLogit]

    def of(self, run: RunFeatures) -> Logits:
        """Log-belief of every step of a run, up to a constant."""
        logit = self.by_kind.get(run.kind, self.shared)
        weights = np.array([logit.weights.get(name, 0.0) for name in run.names])
        return np.asarray(logit.prior_weight * run.prior + run.standardised @ weights)


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
