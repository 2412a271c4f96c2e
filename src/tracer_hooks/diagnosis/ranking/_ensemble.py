"""The attributor ``ensemble``: members whose beliefs are pooled by shares that were set by hand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tracer_hooks.diagnosis._protocol import Scorer, StepScores
from tracer_hooks.diagnosis.ranking._answers import Ranking, attribution_by, has_content
from tracer_hooks.diagnosis.ranking._attributor import StructuralAttributor
from tracer_hooks.diagnosis.ranking._learners import normalised
from tracer_hooks.diagnosis.ranking._view import View
from tracer_hooks.schema import Attribution, ErrorMode, Evidence, Trajectory, Usage

VERSION = 1
_TRUST = 0.5
_SHIPPED_SHARES = {"structural": 0.8, "encoder": 0.1, "prefill": 0.1, "contrast": 0.7}
"""Set by hand: what encoder and prefill know of single steps hardly transfers to a
team never seen. Contrast has its word only where passing runs of the team are at hand, and then it has seen more."""


class EnsembleAttributor:
    """Stacks methods: a weighted mean of their log-beliefs over the steps.

    Args:
        members: The methods by name; default ``structural`` alone, which ``contrast`` joins where there are passing
            runs.
        shares: The weight of each method; shipped ones by default.
    """

    name = "ensemble"
    tells_findings = True

    def __init__(
        self, members: Mapping[str, Scorer] | None = None, *, shares: Mapping[str, float] | None = None
    ) -> None:
        self._members: dict[str, Scorer] = {"structural": StructuralAttributor()} if members is None else dict(members)
        self._shares = dict(shares) if shares is not None else dict(_SHIPPED_SHARES)

    @property
    def members(self) -> tuple[str, ...]:
        """Names of the methods that have a say."""
        return tuple(self._members)

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        """Diagnose one run; see :class:`~tracer_hooks.diagnosis.Attributor`."""
        signature = f"{self.name}/{VERSION}({'+'.join(sorted(self._members))})"

        def ranked(view: View) -> Ranking | None:
            scores = self.score(view.trajectory, reference=reference)
            if scores is None:
                return None
            # Nothing says how often such a pool is right.
            return Ranking(belief=[own * _TRUST for own in scores.belief()], scores=scores, modes=lambda: scores.modes)

        return attribution_by(ranked, trajectory, reference, attributor=signature)

    def score(self, trajectory: Trajectory, *, reference: str | None = None) -> StepScores | None:
        """Pooled log-beliefs; None when no member has anything to say."""
        if not has_content(trajectory):
            return None
        spoken = {
            name: scores
            for name, member in self._members.items()
            if (scores := member.score(trajectory, reference=reference)) is not None
        }
        return _pooled(spoken, self._shares) if spoken else None

    def with_member(self, name: str, member: Scorer) -> EnsembleAttributor:
        """The same with one method more, under its shipped share."""
        shares = {**self._shares, name: _SHIPPED_SHARES.get(name, 0.5)}
        return EnsembleAttributor({**self._members, name: member}, shares=shares)


def _pooled(spoken: Mapping[str, StepScores], shares: Mapping[str, float]) -> StepScores:
    """One set of scores from those of several methods; the shares of the silent go to the others."""
    weights = [shares.get(name, 0.0) for name in spoken]
    total, given = sum(shares.values()), sum(weights)
    scale = total / given if given else 1.0 / len(weights)
    members = zip(spoken.values(), weights, strict=True)
    # The logarithmic opinion pool (Genest and Zidek 1986); the sum of the weights is also an inverse temperature.
    logits = normalised(np.sum([own * scale * normalised(np.array(one.steps)) for one, own in members], axis=0))
    impossible = np.all([np.isneginf(one.steps) for one in spoken.values()], axis=0)
    agents: dict[str, float] = {}
    modes: dict[tuple[str, ErrorMode], float] = {}
    evidence: list[Evidence] = []
    for one in spoken.values():
        for agent, odds in one.agents.items():
            agents[agent] = agents.get(agent, 0.0) + odds
        for pair, odds in one.modes.items():
            modes[pair] = modes.get(pair, 0.0) + odds
        evidence += one.evidence
    usages = [one.usage for one in spoken.values() if one.usage is not None]
    return StepScores(
        steps=tuple(float("-inf") if out else float(one) for one, out in zip(logits, impossible, strict=True)),
        agents=agents,
        modes=modes,
        evidence=tuple(evidence),
        usage=sum(usages, Usage()) if usages else None,
    )
