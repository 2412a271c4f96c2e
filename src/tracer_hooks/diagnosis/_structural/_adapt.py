"""Fitting the structural model to labelled trajectories, with every choice made on questions left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracer_hooks._folds import grouped_folds
from tracer_hooks.diagnosis._features import FeatureTable
from tracer_hooks.diagnosis._reading._roles import fold
from tracer_hooks.diagnosis._structural._forest import fit_forest
from tracer_hooks.diagnosis._structural._logit import (
    ConditionalLogit,
    KindLogits,
    Logits,
    agent_mass,
    fit_logits,
    normalised,
)
from tracer_hooks.diagnosis._structural._mixing import Beliefs, Mixing, fit_mixing
from tracer_hooks.diagnosis._structural._model import StructuralModel, kind_of, prior_logits
from tracer_hooks.diagnosis._structural._sureness import Judgement, Sureness, fit_sureness

STEP_STRENGTH, AGENT_STRENGTH = 20.0, 80.0
"""Precisions of the prior on the weights that rank steps, and on those that weigh agents: who is at fault shows in
fewer features than where, so that less is let go."""
_KIND = 4.0
"""How much more strongly a kind of team is held to the shared weights than those are to 0."""
_FOLDS = 10
"""Many, so that the members which the shares are fitted to know nearly as much as those they are used for."""
_WAYS = 5
"""How often the questions are dealt into folds: what one dealing decides is half chance."""
START = (0.0, 1.0, 1.0, 1.0)
"""Proportions of prior, step logit, trees and agent logit that the fitted ones are held to. Both logits carry the prior
in them; its own share says how much less of what was learnt is to be believed."""


@dataclass(frozen=True, slots=True)
class FitCase:
    """One labelled trajectory, ready to be fitted to."""

    table: FeatureTable
    standardised: NDArray[np.float64]
    prior: Logits
    kind: str
    agents: tuple[str, ...]
    """Who acted in each step."""
    target: int
    blamed: str
    """The agent that is labelled; a label may name another one than who acted in the labelled step."""
    group: str
    """The question that it belongs to."""
    weight: float = 1.0
    """How much the label counts."""

    @classmethod
    def of(
        cls,
        table: FeatureTable,
        *,
        agents: Sequence[str],
        target: int,
        group: str,
        blamed: str | None = None,
        weight: float = 1.0,
    ) -> FitCase:
        """A case with what every fit needs computed once."""
        prior, kind, acting = prior_logits(table), kind_of(table), tuple(agents)
        named = acting[target] if blamed is None else blamed
        return cls(table, table.standardised(), prior, kind, acting, target, named, group, weight)


def adapt(cases: Sequence[FitCase], *, seed: int) -> StructuralModel:
    """Fit what ranks steps, what weighs agents, and trees, and mix them with the prior.

    Both logits learn from the labels of all kinds of teams at once, each kind with its own departure. How much the
    prior, either logit and the trees have to say is fitted, for each kind of team, to beliefs of members that had not
    seen the question, over several ways of dealing the questions into folds. No member is ever switched off or on. How
    sure an answer is then comes from shares that were fitted without the question as well.

    Args:
        cases: Of two questions or more.
        seed: Of the folds and the trees.
    """
    groups = [case.group for case in cases]
    folds = min(_FOLDS, len(set(groups)))
    orders = [np.random.default_rng(seed * _WAYS + way) for way in range(_WAYS)]
    ways = [grouped_folds(groups, folds, shuffle=order.shuffle) for order in orders]
    targets, weights = [case.target for case in cases], [case.weight for case in cases]
    grown = fit_forest([case.table for case in cases], targets, ways, seed=seed, weights=weights)
    beliefs: list[_Unseen] = []
    for way in ways:
        for part in sorted(set(way)):
            step_logit, agent_logit = _logits([case for case, own in zip(cases, way, strict=True) if own != part])
            for place in (place for place, own in enumerate(way) if own == part):
                case = cases[place]
                said = members_of(case, step_logit, agent_logit, grown.unseen[place])
                beliefs.append(_Unseen(case, said, part=ways[0][place]))
    step_logit, agent_logit = _logits(cases)
    return StructuralModel(
        step_logit,
        agent_logit,
        grown.forest,
        _mixing(beliefs),
        _sureness(beliefs),
        agents_seen=frozenset(fold(agent) for case in cases for agent in case.agents),
        labels=len(cases),
    )


@dataclass(frozen=True, slots=True)
class _Unseen:
    """What members believe of a case whose question they have not seen."""

    case: FitCase
    beliefs: Beliefs
    part: int
    """The part of the questions that it is left out with, when shares are fitted to judge how sure to be."""

    @property
    def weight(self) -> float:
        """There is one of them for each way of dealing the questions."""
        return self.case.weight / _WAYS


def _mixing(unseen: Sequence[_Unseen]) -> Mixing:
    return fit_mixing(
        [one.beliefs for one in unseen],
        [one.case.target for one in unseen],
        [one.case.kind for one in unseen],
        weights=[one.weight for one in unseen],
        start=START,
    )


def _sureness(unseen: Sequence[_Unseen]) -> Sureness:
    judgements = []
    for part in sorted({one.part for one in unseen}):
        mixing = _mixing([one for one in unseen if one.part != part])
        for one in (one for one in unseen if one.part == part):
            case, logits = one.case, mixing.logits(one.case.kind, one.beliefs)
            judgements.append(Judgement.of(logits, case.agents, case.target, case.blamed, one.weight))
    return fit_sureness(judgements)


def members_of(case: FitCase, step_logit: KindLogits, agent_logit: KindLogits, trees: Logits) -> Beliefs:
    """The log-beliefs of prior, step logit, trees and agent logit; that of an agent counts for each of its steps."""
    by_step = step_logit.of(case.kind).logits_from(case.standardised, case.table.names, case.prior)
    by_agent = agent_logit.of(case.kind).logits_from(case.standardised, case.table.names, case.prior)
    agents = agent_mass(by_agent, case.agents)
    return np.stack([normalised(case.prior), normalised(by_step), normalised(trees), agents])


def beliefs_of(model: StructuralModel, cases: Sequence[FitCase]) -> list[Logits]:
    """The log-probabilities that a model gives to the steps of trajectories."""
    return [normalised(model.logits(case.table, case.agents)) for case in cases]


def _logits(cases: Sequence[FitCase]) -> tuple[KindLogits, KindLogits]:
    return _logit_on(cases, STEP_STRENGTH), _logit_on(cases, AGENT_STRENGTH)


def _logit_on(cases: Sequence[FitCase], strength: float) -> KindLogits:
    shared, by_kind = fit_logits(
        [case.standardised for case in cases],
        [case.prior for case in cases],
        [case.target for case in cases],
        [case.kind for case in cases],
        weights=[case.weight for case in cases],
        strength=strength,
        kind_strength=_KIND * strength,
    )
    names = cases[0].table.names
    return KindLogits(_named(shared, names), {kind: _named(own, names) for kind, own in by_kind.items()})


def _named(weights: NDArray[np.float64], names: tuple[str, ...]) -> ConditionalLogit:
    named = {name: float(weight) for name, weight in zip(names, weights[:-1], strict=True) if abs(weight) > 1e-6}
    return ConditionalLogit(named, float(weights[-1]))
