"""How sure an answer is: the belief in it, corrected by how often such beliefs were right on labels left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.diagnosis._structural._logit import Logits

_PULL = 10.0
"""How strongly a factor is drawn to 1, in units of one labelled trajectory."""
_LEAST, _MOST = 0.1, 3.0
_ODDS = 12.0
"""Log-odds beyond which nobody is surer."""
_SHARPEST = 1e3
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Sureness:
    """A factor on the log-odds of the belief in the answer, for step and agent each (Platt 1999, without the offset).

    Below 1 an answer is less sure than the belief in it where that lies above one half, and surer where it lies below.
    """

    step: float = 1.0
    agent: float = 1.0

    def of_step(self, belief: float) -> float:
        """The probability that the step is right, from the belief in it."""
        return _scaled(belief, self.step)

    def of_agent(self, belief: float) -> float:
        """The probability that the agent is right, from the summed belief in all its steps."""
        return _scaled(belief, self.agent)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return {"step": round(self.step, 5), "agent": round(self.agent, 5)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Sureness:
        """What :meth:`to_json` wrote."""
        return cls(float(data["step"]), float(data["agent"]))


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
        return float((weights * missed).sum() + 0.5 * _PULL * (factor - 1.0) ** 2)

    return float(minimize_scalar(loss, bounds=(_LEAST, _MOST), method="bounded").x)


def _odds(belief: float) -> float:
    with np.errstate(divide="ignore"):
        return float(np.clip(np.log(belief) - np.log1p(-min(belief, 1.0)), -_ODDS, _ODDS))


def _scaled(belief: float, factor: float) -> float:
    return float(1.0 / (1.0 + np.exp(-factor * _odds(belief))))
