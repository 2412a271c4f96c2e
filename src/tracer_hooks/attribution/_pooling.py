"""Pooling the beliefs of several methods: a weighted mean of their log-beliefs, and where its weights come from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float64]
"""One log-belief, up to a constant, for each step; ``-inf`` for a step that cannot be the decisive one."""

FLOOR = -12.0
"""Log-belief below which a method's word is not taken, so that one method cannot rule a step out for all."""
_PULL = 3.0
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
        return float(-likelihood + _PULL * ((shares - even) ** 2).sum())

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
