"""Fitting the structural model to labelled trajectories, with every choice made by cross-validation over questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tracer_hooks.attribution._features import FeatureTable
from tracer_hooks.attribution._pooling import fit_shares, grouped_folds, normalised, pool, reciprocal_rank
from tracer_hooks.attribution._structural._forest import Forest, fit_forest
from tracer_hooks.attribution._structural._logit import ConditionalLogit, Logits, fit_logit
from tracer_hooks.attribution._structural._model import StructuralModel, kind_of
from tracer_hooks.attribution._structural._prior import prior_logits

STRENGTHS = (20.0, 1e6)
"""Precisions of the prior that are weighed; the last keeps the model as it was. With tens of labels a finer grid picks
by chance: on the development half of Who&When it cost four points of exact step."""
_FOLDS = 5
_SHARPNESS = 50.0
"""How fast a strength loses its say: one that ranks 0.02 worse than the best has a third of the best one's."""

_Way: TypeAlias = Callable[[Sequence["Case"], Sequence["Case"]], list[Logits]]
"""Fits to the first cases and gives the log-beliefs about the second."""


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled trajectory, ready to be fitted to."""

    table: FeatureTable
    standardised: NDArray[np.float64]
    prior: Logits
    target: int
    group: str
    """The question that it belongs to."""

    @classmethod
    def of(cls, table: FeatureTable, *, target: int, group: str) -> Case:
        """A case with what every fit needs computed once."""
        return cls(table, table.standardised(), prior_logits(table), target, group)


@dataclass(frozen=True, slots=True)
class Adapted:
    """A fitted model with its out-of-fold beliefs."""

    model: StructuralModel
    beliefs: list[NDArray[np.float64]]
    """For each case the belief over its steps of a model that did not see its question."""
    chosen: str
    """What was chosen, in words."""


def adapt(cases: Sequence[Case], *, seed: int) -> Adapted:
    """Fit a conditional logit and trees, and pool them, as cross-validation over questions says.

    The logit is averaged over strengths of the prior, each with a say that falls with how much worse it ranks the
    labelled steps of questions left out; picking one of them would follow chance when labels are few. Logit and
    trees share the pool evenly, and its temperature is fitted to the out-of-fold beliefs. On a kind of team on which
    the pool ranks worse than the model as it was, that stays.
    """
    targets = [case.target for case in cases]
    folds = grouped_folds([case.group for case in cases], count=_FOLDS, seed=seed)
    by_strength = {one: _out_of_fold(cases, folds, partial(_logit_beliefs, one)) for one in STRENGTHS}
    says = _says({one: reciprocal_rank(out, targets) for one, out in by_strength.items()})
    from_logit = [
        normalised(np.sum([say * by_strength[one][place] for one, say in says.items()], axis=0))
        for place in range(len(cases))
    ]
    from_trees = _out_of_fold(cases, folds, partial(_forest_beliefs, seed))
    pooled = [normalised(one + other) for one, other in zip(from_logit, from_trees, strict=True)]
    share = float(fit_shares([[one] for one in pooled], targets)[0])
    shipped = by_strength[STRENGTHS[-1]]
    kept = _kept(cases, pooled, shipped)
    beliefs = [
        np.exp(before if kind_of(case.table) in kept else pool([after], [share]))
        for case, before, after in zip(cases, shipped, pooled, strict=True)
    ]
    model = StructuralModel(
        logit=ConditionalLogit.mean([(_logit_on(cases, one), say) for one, say in says.items()]),
        forest=_forest_of(cases, seed),
        logit_weight=share,
        forest_weight=share,
        kept=kept,
    )
    strengths = ", ".join(f"{one:g} ({say:.0%})" for one, say in says.items() if say >= 0.05)
    chosen = f"prior of strength {strengths}, trees, each x {share:.2f}"
    return Adapted(model, beliefs, chosen + "".join(f"; {kind} as shipped" for kind in sorted(kept)))


def _kept(cases: Sequence[Case], ours: Sequence[Logits], shipped: Sequence[Logits]) -> frozenset[str]:
    """The kinds of team on which the model as it was does better."""
    kinds = [kind_of(case.table) for case in cases]
    kept = set()
    for kind in set(kinds):
        own = [place for place, one in enumerate(kinds) if one == kind]
        targets = [cases[place].target for place in own]
        if _is_worse([ours[place] for place in own], [shipped[place] for place in own], targets):
            kept.add(kind)
    return frozenset(kept)


def _is_worse(ours: Sequence[Logits], shipped: Sequence[Logits], targets: Sequence[int]) -> bool:
    """Whether the labelled steps rank lower, and are not the first more often either."""
    hits = [sum(int(one.argmax()) == t for one, t in zip(out, targets, strict=True)) for out in (ours, shipped)]
    return reciprocal_rank(ours, targets) < reciprocal_rank(shipped, targets) and hits[0] <= hits[1]


def _says(ranks: Mapping[float, float]) -> dict[float, float]:
    best = max(ranks.values())
    raw = {one: float(np.exp(_SHARPNESS * (rank - best))) for one, rank in ranks.items()}
    total = sum(raw.values())
    return {one: say / total for one, say in raw.items()}


def _out_of_fold(cases: Sequence[Case], folds: Sequence[int], way: _Way) -> list[Logits]:
    out: list[Logits] = [np.zeros(0)] * len(cases)
    for fold in sorted(set(folds)):
        rest = [case for case, own in zip(cases, folds, strict=True) if own != fold]
        held_out = [place for place, own in enumerate(folds) if own == fold]
        for place, logits in zip(held_out, way(rest, [cases[place] for place in held_out]), strict=True):
            out[place] = normalised(logits)
    return out


def _logit_beliefs(strength: float, known: Sequence[Case], asked: Sequence[Case]) -> list[Logits]:
    model = _logit_on(known, strength)
    return [model.logits(case.table, case.prior) for case in asked]


def _forest_beliefs(seed: int, known: Sequence[Case], asked: Sequence[Case]) -> list[Logits]:
    forest = _forest_of(known, seed)
    return [forest.logits(case.table) for case in asked]


def _logit_on(cases: Sequence[Case], strength: float) -> ConditionalLogit:
    weights, prior_weight = fit_logit(
        [case.standardised for case in cases],
        [case.prior for case in cases],
        [case.target for case in cases],
        strength=strength,
    )
    names = cases[0].table.names
    return ConditionalLogit({n: float(w) for n, w in zip(names, weights, strict=True) if abs(w) > 1e-6}, prior_weight)


def _forest_of(cases: Sequence[Case], seed: int) -> Forest:
    return fit_forest([case.table for case in cases], [case.target for case in cases], seed=seed)
