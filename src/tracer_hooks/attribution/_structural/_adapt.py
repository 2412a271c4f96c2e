"""Fitting the structural model to labelled trajectories, with every choice made by cross-validation over questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._features import FeatureTable
from tracer_hooks.attribution._pooling import fit_shares, grouped_folds, log_likelihood, normalised, pool
from tracer_hooks.attribution._structural._forest import Forest, fit_forest
from tracer_hooks.attribution._structural._logit import ConditionalLogit, Logits, fit_logit
from tracer_hooks.attribution._structural._model import POOLED, StructuralModel
from tracer_hooks.attribution._structural._prior import prior_logits

STRENGTHS = (10.0, 20.0, 40.0, 80.0, 160.0, 1e6)
"""Precisions of the prior that are tried; the last keeps the model as it was."""
_FOLDS = 5
_FEWEST_OF_A_FAMILY = 12
"""Trajectories that a family must have for trees of its own."""


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled trajectory, ready to be fitted to."""

    table: FeatureTable
    standardised: NDArray[np.float64]
    prior: Logits
    target: int
    group: str
    """The question that it belongs to."""
    family: str

    @classmethod
    def of(cls, table: FeatureTable, *, target: int, group: str, family: str) -> Case:
        """A case with what every fit needs computed once."""
        return cls(table, table.standardised(), prior_logits(table), target, group, family)


@dataclass(frozen=True, slots=True)
class Adapted:
    """A fitted model with its out-of-fold beliefs."""

    model: StructuralModel
    beliefs: list[NDArray[np.float64]]
    """For each case the belief over its steps of a model that did not see its question."""
    chosen: str
    """What was chosen, in words."""


def adapt(cases: Sequence[Case], *, seed: int) -> Adapted:
    """Fit a conditional logit and trees, and pool them as cross-validation says.

    The strength of the prior is the one under which the questions left out are likeliest. Trees are grown for each
    family of trajectories that is large enough, or for all together, whichever does better. The shares of the two in
    the pool, and with them the temperature, are fitted to the out-of-fold beliefs.
    """
    folds = grouped_folds([case.group for case in cases], count=_FOLDS, seed=seed)
    strength, from_logit = _best_strength(cases, folds)
    grouping, from_trees = _best_forests(cases, folds, seed)
    members = [list(pair) for pair in zip(from_logit, from_trees, strict=True)]
    shares = fit_shares(members, [case.target for case in cases])
    beliefs = [np.exp(pool(pair, shares.tolist())) for pair in members]
    model = StructuralModel(
        logit=_logit_on(cases, strength),
        forests=_forests_on(cases, grouping, seed),
        logit_weight=float(shares[0]),
        forest_weight=float(shares[1]),
    )
    kept = "as shipped" if strength >= 1e6 else f"strength {strength:g}"
    chosen = f"conditional logit ({kept}) x {shares[0]:.2f}, trees ({grouping}) x {shares[1]:.2f}"
    return Adapted(model, beliefs, chosen)


def _places(folds: Sequence[int], fold: int) -> list[int]:
    return [place for place, own in enumerate(folds) if own == fold]


def _best_strength(cases: Sequence[Case], folds: Sequence[int]) -> tuple[float, list[Logits]]:
    tried: dict[float, list[Logits]] = {}
    for strength in STRENGTHS:
        out: list[Logits] = [np.zeros(0)] * len(cases)
        for fold in sorted(set(folds)):
            model = _logit_on([case for case, own in zip(cases, folds, strict=True) if own != fold], strength)
            for place in _places(folds, fold):
                out[place] = normalised(model.logits(cases[place].table, cases[place].prior))
        tried[strength] = out
    best = max(STRENGTHS, key=lambda one: log_likelihood(tried[one], [case.target for case in cases]))
    return best, tried[best]


def _best_forests(cases: Sequence[Case], folds: Sequence[int], seed: int) -> tuple[str, list[Logits]]:
    """Whether families get trees of their own."""
    families = {case.family for case in cases}
    groupings = ["pooled", "by family"] if len(families) > 1 else ["pooled"]
    tried: dict[str, list[Logits]] = {}
    for grouping in groupings:
        out: list[Logits] = [np.zeros(0)] * len(cases)
        for fold in sorted(set(folds)):
            forests = _forests_on([c for c, own in zip(cases, folds, strict=True) if own != fold], grouping, seed)
            for place in _places(folds, fold):
                forest = forests.get(cases[place].family) or forests[POOLED]
                out[place] = normalised(forest.logits(cases[place].table))
        tried[grouping] = out
    best = max(groupings, key=lambda one: log_likelihood(tried[one], [case.target for case in cases]))
    return best, tried[best]


def _logit_on(cases: Sequence[Case], strength: float) -> ConditionalLogit:
    weights, prior_weight = fit_logit(
        [case.standardised for case in cases],
        [case.prior for case in cases],
        [case.target for case in cases],
        strength=strength,
    )
    names = cases[0].table.names
    return ConditionalLogit({n: float(w) for n, w in zip(names, weights, strict=True) if abs(w) > 1e-6}, prior_weight)


def _forests_on(cases: Sequence[Case], grouping: str, seed: int) -> dict[str, Forest]:
    forests = {POOLED: _forest_of(cases, seed)}
    if grouping == "pooled":
        return forests
    for family in {case.family for case in cases}:
        own = [case for case in cases if case.family == family]
        if len(own) >= _FEWEST_OF_A_FAMILY:
            forests[family] = _forest_of(own, seed)
    return forests


def _forest_of(cases: Sequence[Case], seed: int) -> Forest:
    return fit_forest([case.table for case in cases], [case.target for case in cases], seed=seed)
