"""A conditional logit: one step of each trajectory is chosen, with odds that are linear in the steps' features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_NEWTON_STEPS = 40
_RELABELLINGS = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """One trajectory, for fitting."""

    features: Floats
    """Features of the steps that can be chosen, shape (steps, features)."""
    right: NDArray[np.bool_]
    """The steps that the label allows, shape (steps,); one, or all steps of a faulty agent."""


def probabilities(features: Floats, weights: Floats) -> Floats:
    """Softmax of ``features @ weights``, shape (steps,)."""
    raw = features @ weights
    raw = np.exp(raw - raw.max())
    return np.asarray(raw / raw.sum(), dtype=np.float64)


def fit_logit(choices: Sequence[Choice], *, prior: Floats, strength: float) -> Floats:
    """The most probable weights under a normal prior around ``prior``, shape (features,).

    A label that allows several steps is spread over them in proportion to the model's own belief, and the fit repeated
    (expectation and maximisation). With one step each the problem is convex and this is its optimum.

    Args:
        choices: The labelled trajectories.
        prior: Mean of the prior.
        strength: Its precision; the higher, the closer the weights stay to ``prior``.
    """
    weights = prior.astype(np.float64)
    ambiguous = any(choice.right.sum() > 1 for choice in choices)
    for _ in range(_RELABELLINGS if ambiguous else 1):
        targets = [_target(choice, weights) for choice in choices]
        weights = _maximise(choices, targets, weights, prior, strength)
    return weights


def log_likelihood(choices: Sequence[Choice], weights: Floats) -> float:
    """Sum over the trajectories of the log-probability that a step which the label allows is chosen."""
    return sum(
        float(np.log(max(1e-12, probabilities(choice.features, weights)[choice.right].sum()))) for choice in choices
    )


def _target(choice: Choice, weights: Floats) -> Floats:
    belief = probabilities(choice.features, weights) * choice.right
    total = belief.sum()
    return np.asarray(belief / total if total > 1e-12 else choice.right / choice.right.sum(), dtype=np.float64)


def _maximise(
    choices: Sequence[Choice], targets: Sequence[Floats], start: Floats, prior: Floats, strength: float
) -> Floats:
    """Newton's method with step halving; the objective is concave."""
    weights = start
    value = _objective(choices, targets, weights, prior, strength)
    for _ in range(_NEWTON_STEPS):
        slope, curvature = _derivatives(choices, targets, weights, prior, strength)
        move = np.linalg.solve(curvature, slope)
        scale = 1.0
        while scale > 1e-6:
            trial = weights + scale * move
            trial_value = _objective(choices, targets, trial, prior, strength)
            if trial_value >= value:
                break
            scale /= 2
        else:
            return weights
        gained, weights, value = trial_value - value, trial, trial_value
        if gained < 1e-9 * (1 + abs(value)):
            break
    return weights


def _objective(
    choices: Sequence[Choice], targets: Sequence[Floats], weights: Floats, prior: Floats, strength: float
) -> float:
    fit = sum(
        float(target @ np.log(np.maximum(1e-300, probabilities(choice.features, weights))))
        for choice, target in zip(choices, targets, strict=True)
    )
    return fit - strength / 2 * float(((weights - prior) ** 2).sum())


def _derivatives(
    choices: Sequence[Choice], targets: Sequence[Floats], weights: Floats, prior: Floats, strength: float
) -> tuple[Floats, Floats]:
    slope = -strength * (weights - prior)
    curvature = strength * np.eye(len(weights))
    for choice, target in zip(choices, targets, strict=True):
        belief = probabilities(choice.features, weights)
        slope = slope + choice.features.T @ (target - belief)
        mean = belief @ choice.features
        curvature += (choice.features * belief[:, None]).T @ choice.features - np.outer(mean, mean)
    return slope, curvature
