"""Beliefs over the steps of one trajectory: their logarithmic pool, its shares by kind of team, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked

CHECKS = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
"""Of what is read from files: the fields of the classes below are those of the files."""
_LARGEST_NUMBER = 1e6
"""No weight, share or threshold is anywhere near it; beyond, sums would overflow."""
Number = Annotated[float, Field(ge=-_LARGEST_NUMBER, le=_LARGEST_NUMBER)]
Factor = Annotated[float, Field(gt=0.0, le=_LARGEST_NUMBER)]
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


Beliefs = NDArray[np.float64]
"""(members, steps): the log-beliefs of each member about the steps of one trajectory."""

_PROPORTION_PULL = 1000.0
"""How strongly the shares are held to the proportions that they start from, in units of one labelled trajectory:
likelihood alone prefers whoever is timid to whoever ranks better."""
_SHARPNESS_PULL = 10.0
"""How strongly their sum is drawn to that of the labels of all kinds of teams."""
_SHARPNESS = 0.8
"""What that in turn is drawn to: the members are not independent, and each is a little too sure."""
_LARGEST_SHARE = 3.0


@checked(frozen=True, slots=True, config=CHECKS)
class Mixing:
    """The share of each member in a logarithmic pool, by kind of team; a small sum of shares is a high temperature."""

    shares: tuple[Number, ...]
    """For a kind of team that was not learnt from."""
    by_kind: dict[str, tuple[Number, ...]] = field(default_factory=dict)
    """For each kind of team that was."""

    def of(self, kind: str) -> NDArray[np.float64]:
        """The shares for one kind of team."""
        return np.array(self.by_kind.get(kind, self.shares))

    def logits(self, kind: str, beliefs: Beliefs) -> Logits:
        """The pooled log-beliefs, up to a constant."""
        return np.asarray(self.of(kind) @ beliefs)


def fit_mixing(
    beliefs: Sequence[Beliefs],
    targets: Sequence[int],
    kinds: Sequence[str],
    *,
    weights: Sequence[float],
    start: Sequence[float],
) -> Mixing:
    """The shares under which the labelled steps are likeliest, those of each kind drawn to those of all.

    Give it beliefs of members that have not seen the question, or the shares flatter whoever overfits most. The sum of
    the shares is freer than their proportions: with tens of labels a temperature can be learnt, and who ranks best can
    hardly be.

    Args:
        beliefs: For each trajectory, or each of several judgements of it, the log-beliefs of the members.
        targets: The labelled step of each.
        kinds: The kind of team of each.
        weights: What each counts; 1 over the number of judgements of the same trajectory.
        start: The proportions that those of all are held to.
    """
    everything = list(range(len(beliefs)))
    direction = np.array(start) / np.sum(start)
    shares, sharpness = _shares(beliefs, targets, weights, everything, (direction, _SHARPNESS))
    by_kind = {}
    for kind in sorted(set(kinds)):
        own = [place for place in everything if kinds[place] == kind]
        found, _ = _shares(beliefs, targets, weights, own, (shares / max(shares.sum(), 1e-3), sharpness))
        by_kind[kind] = tuple(found.tolist())
    return Mixing(tuple(shares.tolist()), by_kind)


def _shares(
    beliefs: Sequence[Beliefs],
    targets: Sequence[int],
    weights: Sequence[float],
    places: Sequence[int],
    drawn_to: tuple[NDArray[np.float64], float],
) -> tuple[NDArray[np.float64], float]:
    """The shares for some of the trajectories, and their sharpness; the loss is convex in both."""
    from scipy.optimize import minimize

    direction, sharpness = drawn_to
    sizes = [beliefs[place].shape[1] for place in places]
    rows = np.concatenate([beliefs[place].T for place in places])
    starts = np.cumsum([0, *sizes])[:-1]
    owner = np.repeat(np.arange(len(places)), sizes)
    chosen = starts + np.array([targets[place] for place in places])
    counts = np.array([weights[place] for place in places])

    def loss(both: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        shares, sharp = both[:-1], both[-1]
        scores = rows @ shares
        top = np.maximum.reduceat(scores, starts)
        raw = np.exp(scores - top[owner])
        total = np.add.reduceat(raw, starts)
        likelihood = float((counts * (scores[chosen] - top - np.log(total))).sum())
        away, sharper = shares - sharp * direction, sharp - sharpness
        value = -likelihood + 0.5 * _PROPORTION_PULL * float(away @ away) + 0.5 * _SHARPNESS_PULL * sharper**2
        slope = rows.T @ (counts[owner] * raw / total[owner]) - counts @ rows[chosen] + _PROPORTION_PULL * away
        return value, np.append(slope, _SHARPNESS_PULL * sharper - _PROPORTION_PULL * float(away @ direction))

    begin = np.append(sharpness * direction, sharpness)
    found = minimize(loss, begin, jac=True, bounds=[(0.0, _LARGEST_SHARE)] * len(begin), method="L-BFGS-B").x
    return found[:-1], float(found[-1])


_FACTOR_PULL = 10.0
"""How strongly a factor is drawn to 1, in units of one labelled trajectory."""
_LEAST_FACTOR, _LARGEST_FACTOR = 0.1, 3.0
_ODDS = 12.0
"""Log-odds beyond which nobody is surer."""
_SHARPEST = 1e3
_HALVINGS = 60


@checked(frozen=True, slots=True, config=CHECKS)
class Sureness:
    """A factor on the log-odds of the belief in the answer, for step and agent each (Platt 1999, without the offset).

    Below 1 an answer is less sure than the belief in it where that lies above one half, and surer where it lies below.
    """

    step: Factor = 1.0
    agent: Factor = 1.0

    def of_step(self, belief: float) -> float:
        """The probability that the step is right, from the belief in it."""
        return _scaled(belief, self.step)

    def of_agent(self, belief: float) -> float:
        """The probability that the agent is right, from the summed belief in all its steps."""
        return _scaled(belief, self.agent)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was believed about one labelled trajectory by a model that had not seen its question."""

    step_belief: float
    """In the likeliest step."""
    step_right: bool
    agent_belief: float
    """In all steps of its agent together."""
    agent_right: bool
    weight: float

    @classmethod
    def of(cls, logits: Logits, agents: Sequence[str], target: int, blamed: str, weight: float) -> Judgement:
        """Of one trajectory.

        Args:
            logits: Log-belief of each step, up to a constant.
            agents: Who acted in each step.
            target: The labelled step.
            blamed: The labelled agent.
            weight: What it counts.
        """
        belief = np.exp(logits - logits.max())
        belief /= belief.sum()
        best = int(belief.argmax())
        own = np.array([agent == agents[best] for agent in agents])
        return cls(float(belief[best]), best == target, float(belief[own].sum()), agents[best] == blamed, weight)


def fit_sureness(judgements: Sequence[Judgement]) -> Sureness:
    """The factors under which what was right and what was wrong is likeliest, each drawn to 1.

    Give it judgements of models whose every choice was made without the question, or what is judged looks better than
    it is.
    """
    weights = np.array([one.weight for one in judgements])

    def factor(beliefs: Sequence[float], right: Sequence[bool]) -> float:
        return _factor(np.array([_odds(one) for one in beliefs]), np.array(right, dtype=np.float64), weights)

    return Sureness(
        step=factor([one.step_belief for one in judgements], [one.step_right for one in judgements]),
        agent=factor([one.agent_belief for one in judgements], [one.agent_right for one in judgements]),
    )


def sharpened(logits: Logits, confidence: float) -> NDArray[np.float64]:
    """Probabilities of the steps in the order of their logits, the likeliest with the given one.

    All log-beliefs of the run are multiplied by one number: what changes is how far they lie apart.

    Args:
        logits: Log-belief of each step, up to a constant.
        confidence: Of the likeliest; where several are equally likely they share what they can have.
    """
    away = logits - logits.max()
    low, high = 0.0, _SHARPEST
    for _ in range(_HALVINGS):  # the likeliest step's probability grows with the number
        middle = (low + high) / 2
        low, high = (middle, high) if 1.0 / np.exp(middle * away).sum() < confidence else (low, middle)
    raw = np.exp(high * away)
    return np.asarray(raw / raw.sum(), dtype=np.float64)


def _factor(odds: NDArray[np.float64], right: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    from scipy.optimize import minimize_scalar

    def loss(factor: float) -> float:
        missed = np.logaddexp(0.0, factor * odds) - right * factor * odds
        return float((weights * missed).sum() + 0.5 * _FACTOR_PULL * (factor - 1.0) ** 2)

    return float(minimize_scalar(loss, bounds=(_LEAST_FACTOR, _LARGEST_FACTOR), method="bounded").x)


def _odds(belief: float) -> float:
    with np.errstate(divide="ignore"):
        return float(np.clip(np.log(belief) - np.log1p(-min(belief, 1.0)), -_ODDS, _ODDS))


def _scaled(belief: float, factor: float) -> float:
    return float(1.0 / (1.0 + np.exp(-factor * _odds(belief))))
