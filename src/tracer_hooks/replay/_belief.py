"""What is believed about where a failed run went wrong, and how a trial changes that."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from tracer_hooks.schema import Attribution

TRUST = 0.5
"""How much of the suspicion is the attributor's; the rest is spread over all steps."""

HELD = 0.79
"""How often a run that resumes passes where no step before it was at fault (27 of 34 measured failures)."""
LOST = 0.25
"""How often it passes where one was (4 of 16)."""

_HELD_PRIOR, _LOST_PRIOR = (2.0, 1.0), (1.0, 3.0)
"""Beta distributions of the same two rates over teams: as many as a handful of runs would say."""


class StepBelief:
    """The belief over the decisive step: one probability a step, and what trials make of them.

    Args:
        weights: How much each step is suspected; at least 0, and of any sum.
    """

    def __init__(self, weights: Mapping[int, float]) -> None:
        self._shares = _normalised(weights)
        self._held: dict[int, float] | None = None

    @classmethod
    def of(cls, steps: Iterable[int], attribution: Attribution | None = None) -> StepBelief:
        """The belief before any trial: half the attributor's, half spread over all steps, so that none goes without.

        Args:
            steps: The steps that can be decisive.
            attribution: The diagnosis; without one, all steps are alike.
        """
        return cls(_suspicion(sorted(set(steps)), attribution))

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps that can be decisive, in order."""
        return tuple(self._shares)

    def probability(self, step: int) -> float:
        """How probable it is that ``step`` is the decisive one; 0 for a step that is not known."""
        return self._shares.get(step, 0.0)

    def holds(self, step: int) -> float:
        """How probable it is that the decisive step is ``step`` or a later one, and all before it may be kept."""
        if self._held is None:
            backwards = sorted(self._shares, reverse=True)
            sums = accumulate(self._shares[each] for each in backwards)
            self._held = dict(zip(backwards, sums, strict=True))
        if step in self._held:
            return min(1.0, self._held[step])
        later = [each for each in self._held if each > step]
        return min(1.0, self._held[min(later)]) if later else 0.0

    def most_likely(self) -> int | None:
        """The most suspected step, the earliest of equals; None where there is no step."""
        return max(self._shares, key=lambda step: self._shares[step], default=None)

    def learn(self, step: int, passed: bool, *, if_held: float = HELD, if_lost: float = LOST) -> None:
        """Take into account how a run ended that resumed at ``step``.

        Args:
            step: The first live step; those before it were as in the failed run.
            passed: Whether the run succeeded.
            if_held: How often it would, were no step before it at fault.
            if_lost: How often it would, were one of them.
        """
        held = if_held if passed else 1.0 - if_held
        lost = if_lost if passed else 1.0 - if_lost
        changed = {each: share * (held if each >= step else lost) for each, share in self._shares.items()}
        if sum(changed.values()) > 0.0:  # else it was held impossible, and says nothing about where
            self._shares, self._held = _normalised(changed), None

    def after(self, resumed: Mapping[int, tuple[int, int]]) -> StepBelief:
        """The belief after many runs of one team, whose rates are not known: they are integrated out.

        Args:
            resumed: For each first live step how many runs resumed there, and how many of them passed.
        """
        logs = {}
        for each, share in self._shares.items():
            held, lost = (
                [sum(counts[part] for step, counts in resumed.items() if (step <= each) is is_held) for part in (0, 1)]
                for is_held in (True, False)
            )
            logs[each] = math.log(max(share, 1e-12)) + _marginal(held, _HELD_PRIOR) + _marginal(lost, _LOST_PRIOR)
        top = max(logs.values(), default=0.0)
        return StepBelief({each: math.exp(log - top) for each, log in logs.items()})


def _marginal(counts: Sequence[int], prior: tuple[float, float]) -> float:
    """Log-probability of so many runs and passes, in an order, under a rate that is drawn from a beta distribution."""
    (runs, passes), (a, b) = counts, prior
    return _log_beta(a + passes, b + runs - passes) - _log_beta(a, b)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _suspicion(steps: list[int], attribution: Attribution | None) -> dict[int, float]:
    scores: dict[int, float] = dict.fromkeys(steps, 0.0)
    if attribution is not None:
        named = [(attribution.step, attribution.confidence)]
        named += [(candidate.step, candidate.score) for candidate in attribution.candidates]
        for step, score in named:
            if step in scores:
                scores[step] = max(scores[step], score)
    total = sum(scores.values())
    trust = TRUST if total > 0 else 0.0
    # Scores are probabilities: what they leave open may be any step. A diagnosis of 50 % is no certainty.
    scale, unsaid = (total, 0.0) if total > 1.0 else (1.0, 1.0 - total)
    return {
        step: trust * (score / scale + unsaid / len(steps)) + (1 - trust) / len(steps) for step, score in scores.items()
    }


def _normalised(weights: Mapping[int, float]) -> dict[int, float]:
    total = sum(weights.values())
    # Shares that sum to 1 but for rounding stay as they are: ties between steps are then decided as they were.
    scale = total if total > 0.0 and abs(total - 1.0) > 1e-9 else 1.0
    return {step: weights[step] / scale for step in sorted(weights)}
