"""Whose instructions are rewritten next: agents by the blame that the diagnoses lay on them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tracer_hooks.improvement._judged_run import JudgedRun
from tracer_hooks.schema import Attribution


def blame_mass(runs: Iterable[JudgedRun], agents: Sequence[str]) -> dict[str, float]:
    """How much of the failures each agent is to blame for, by the scores of all suspected steps; sums to at most 1.

    Args:
        runs: Failed runs count once each; passed ones, and those without a diagnosis, do not count.
        agents: The agents whose instructions can be rewritten.
    """
    mass = dict.fromkeys(agents, 0.0)
    count = 0
    for run in runs:
        found = None if run.passed else run.attribution
        if found is None or found.abstained:
            continue
        count += 1
        shares = _shares(found)
        for agent, share in shares.items():
            if agent in mass:
                mass[agent] += share
    return {agent: share / count for agent, share in mass.items()} if count else mass


def _shares(found: Attribution) -> Mapping[str, float]:
    """One failure's blame by agent."""
    scores: dict[str, float] = {}
    for one in found.candidates:
        scores[one.agent] = scores.get(one.agent, 0.0) + max(0.0, one.score)
    total = sum(scores.values())
    if total <= 0:
        return {found.agent: 1.0} if found.agent is not None else {}
    return {agent: score / total for agent, score in scores.items()}


class BlameSelector:
    """A component selector of GEPA: draws one agent, each with the probability of its blame.

    It draws, and does not take the greatest, so that an agent that is blamed wrongly does not take all tries.

    Args:
        failures: Gives the failures of a candidate so far.
        seed: Of the draws.
    """

    def __init__(self, failures: Callable[[Mapping[str, str]], Iterable[JudgedRun]], *, seed: int) -> None:
        self._failures = failures
        self._random = random.Random(seed)

    def __call__(
        self,
        state: Any,
        trajectories: Sequence[JudgedRun],
        subsample_scores: Sequence[float],
        candidate_idx: int,
        candidate: Mapping[str, str],
    ) -> list[str]:
        """The agent to rewrite next; see ``gepa``'s ``ReflectionComponentSelector``."""
        agents = list(candidate)
        mass = blame_mass([*self._failures(candidate), *trajectories], agents)
        weights = [mass[agent] for agent in agents]
        if not any(weights):
            return [self._random.choice(agents)]
        return self._random.choices(agents, weights=weights)
