"""Fit of the structural model to labelled runs, and what it gains on questions left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracer_hooks._folds import grouped_folds
from tracer_hooks._lazy import require
from tracer_hooks.diagnosis._protocol import FitReport
from tracer_hooks.diagnosis._reading._roles import fold
from tracer_hooks.diagnosis.ranking._learners import (
    ConditionalLogit,
    KindLogits,
    Logits,
    RunFeatures,
    fit_logits,
    normalised,
)
from tracer_hooks.diagnosis.ranking._model import StructuralModel, run_features
from tracer_hooks.diagnosis.ranking._table import features_of
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import LabeledTrajectory, LabelSource

_STRENGTH = 20.0
"""Precision of the prior on the shared weights."""
_KIND = 4.0
"""How much more strongly a kind of team is held to the shared weights than those are to 0."""
_TAUGHT = 2 / 3
"""How far a fit goes from the shipped prior to what the labels teach."""
_SHARPNESS, _SHARPNESS_PULL = 0.8, 10.0
"""A logit is a little too sure of what it has not seen, and how strongly that is believed, in labelled trajectories."""
_LEAST_SHARPNESS, _MOST_SHARPNESS = 0.1, 3.0
_CHOICE_FOLDS = 10
"""Many, so that what is judged knows nearly as much as what is used."""


@dataclass(frozen=True, slots=True)
class FitCase:
    """One labelled trajectory, ready to be fitted to."""

    run: RunFeatures
    agents: tuple[str, ...]
    """Who acted in each step."""
    target: int
    group: str
    """The question that it belongs to."""
    weight: float
    """How much the label counts."""


def adapt(cases: Sequence[FitCase], *, seed: int) -> StructuralModel:
    """Fit what ranks steps, and how sure it is.

    The logit learns from the labels of all kinds of teams at once, each kind with its own departure, and two thirds
    of what it learns are believed. How sure it is comes from logits that had not seen the question: all weights are
    scaled so that their beliefs in the labelled steps are likeliest.

    Args:
        cases: Of two questions or more.
        seed: Of the folds.
    """
    groups = [case.group for case in cases]
    order = np.random.default_rng(seed)
    folds = grouped_folds(groups, min(_CHOICE_FOLDS, len(set(groups))), shuffle=order.shuffle)
    unseen: list[tuple[FitCase, Logits]] = []
    for part in sorted(set(folds)):
        steps = _logits_on([case for case, own in zip(cases, folds, strict=True) if own != part])
        unseen += ((case, steps.of(case.run)) for case, own in zip(cases, folds, strict=True) if own == part)
    return StructuralModel(
        _logits_on(cases, scale=_sharpness(unseen)),
        agents_seen=frozenset(fold(agent) for case in cases for agent in case.agents),
        labels=len(cases),
        right=None,
    )


def _sharpness(unseen: Sequence[tuple[FitCase, Logits]]) -> float:
    """The inverse temperature under which the labelled steps are likeliest, drawn to :data:`_SHARPNESS`."""
    from scipy.optimize import minimize_scalar

    def loss(scale: float) -> float:
        likelihood = sum(case.weight * normalised(scale * logits)[case.target] for case, logits in unseen)
        return float(0.5 * _SHARPNESS_PULL * (scale - _SHARPNESS) ** 2 - likelihood)

    return float(minimize_scalar(loss, bounds=(_LEAST_SHARPNESS, _MOST_SHARPNESS), method="bounded").x)


def beliefs_of(model: StructuralModel, cases: Sequence[FitCase]) -> list[Logits]:
    """The log-probabilities that a model gives to the steps of trajectories."""
    return [normalised(model.steps.of(case.run)) for case in cases]


def _logits_on(cases: Sequence[FitCase], *, scale: float = 1.0) -> KindLogits:
    shared, by_kind = fit_logits(
        [case.run.standardised for case in cases],
        [case.run.prior for case in cases],
        [case.target for case in cases],
        [case.run.kind for case in cases],
        weights=[case.weight for case in cases],
        strength=_STRENGTH,
        kind_strength=_KIND * _STRENGTH,
    )
    names = cases[0].run.names
    return KindLogits(
        _towards(shared, names, scale), {kind: _towards(own, names, scale) for kind, own in by_kind.items()}
    )


def _towards(weights: NDArray[np.float64], names: tuple[str, ...], scale: float) -> ConditionalLogit:
    """The logarithmic pool of the prior and the logit of these weights, which is a logit itself."""
    taught = {name: scale * _TAUGHT * float(own) for name, own in zip(names, weights[:-1], strict=True)}
    kept = {name: own for name, own in taught.items() if abs(own) > 1e-6}
    return ConditionalLogit(kept, scale * (1.0 + _TAUGHT * (float(weights[-1]) - 1.0)))


_MOST = 4.0
"""How many times an injected fault a natural failure counts at most: a handful of labels is not to decide alone."""


def label_weights(labeled: Sequence[LabeledTrajectory]) -> list[float]:
    """What each label counts.

    Where there are more injected faults than natural failures, each failure counts as many times a fault as gives both
    kinds the same say, but four times at most. Faults are put in evenly and by a program, while a team fails in habits
    of its own. All labels together count as before: how far the fit leaves the prior depends on their number.
    """
    natural = sum(one.weight for one in labeled if not _is_injected(one))
    injected = sum(one.weight for one in labeled if _is_injected(one))
    if not natural or not injected:
        return [one.weight for one in labeled]
    more = min(_MOST, max(1.0, injected / natural))
    scale = (natural + injected) / (more * natural + injected)
    return [one.weight * scale * (1.0 if _is_injected(one) else more) for one in labeled]


def _is_injected(labeled: LabeledTrajectory) -> bool:
    return labeled.label_source is LabelSource.INJECTED


FEWEST = 5
"""Labelled decisive steps below which nothing can be learnt."""
FEWEST_QUESTIONS = 3
"""Questions below which nothing can be measured: one is judged, and of the others one says how sure the rest is."""
_FOLDS = 5
_OTHER_FOLDS = 1_000_003
"""Added to the seed of the folds that a fit is measured on, so that they are not those that its sureness is from."""


def fit_structural(
    labeled: Sequence[LabeledTrajectory], *, shipped: StructuralModel, seed: int
) -> tuple[StructuralModel, FitReport]:
    """A model adapted to the trajectories that have a decisive step, and what it gained on questions it had not seen.

    Raises:
        AttributionError: There are fewer than :data:`FEWEST` of them, or of their questions fewer than three.
        MissingExtraError: scipy is not installed.
    """
    cases = cases_of(labeled)
    usable = usable_of(labeled)
    model = adapt(cases, seed=seed)
    right_before = hits(usable, beliefs_of(shipped, cases))
    right = np.zeros((len(cases), 2))
    groups = [case.group for case in cases]
    order = np.random.default_rng(seed + _OTHER_FOLDS)
    folds = grouped_folds(groups, min(_FOLDS, len(set(groups))), shuffle=order.shuffle)
    for number in sorted(set(folds)):
        rest = [place for place, own in enumerate(folds) if own != number]
        asked = [place for place, own in enumerate(folds) if own == number and not usable[place].is_weak]
        if not asked:
            continue
        right[asked] = _judged(cases, usable, rest, asked, seed=seed)
    proven = [not one.is_weak for one in usable]  # weak labels are learnt from, and never judged by
    (step_before, agent_before), (step_after, agent_after) = (
        right_before[proven].mean(axis=0),
        right[proven].mean(axis=0),
    )
    report = FitReport(
        trajectories=len(cases),
        questions=len({case.group for case in cases}),
        shipped_step=float(step_before),
        shipped_agent=float(agent_before),
        fitted_step=float(step_after),
        fitted_agent=float(agent_after),
        chosen="two thirds of the way from the prior as shipped to what the labels teach",
    )
    return replace(model, right=(int(right[proven, 0].sum()), sum(proven))), report


def cases_of(labeled: Sequence[LabeledTrajectory]) -> list[FitCase]:
    """The trajectories that something can be learnt from, ready to be fitted to.

    Raises:
        AttributionError: There are fewer than :data:`FEWEST` of them, or they have fewer than three questions.
        MissingExtraError: scipy is not installed.
    """
    require("scipy", extra="fit", feature="fitting an attributor")
    usable = usable_of(labeled)
    proven = sum(not one.is_weak for one in usable)
    if proven < FEWEST:
        weak = f" ({len(usable) - proven} more only a weak label)" if proven < len(usable) else ""
        raise AttributionError(
            f"{proven} of {len(labeled)} trajectories have a decisive step{weak}, expected at least {FEWEST}. "
            "Label more of them (schema: LabeledTrajectory.decisive), or use the attributor as it is shipped"
        )
    cases = [_case(one, weight) for one, weight in zip(usable, label_weights(usable), strict=True)]
    questions = len({case.group for case in cases})
    if questions < FEWEST_QUESTIONS:
        noun = "question" if questions == 1 else "questions"
        raise AttributionError(
            f"the {len(cases)} trajectories belong to {questions} {noun}, expected at least "
            f"{FEWEST_QUESTIONS}: what "
            "is learnt from some has to be tried on others. Label runs of other questions as well"
        )
    return cases


def usable_of(labeled: Sequence[LabeledTrajectory]) -> list[LabeledTrajectory]:
    """Those with a decisive step among others."""
    return [one for one in labeled if one.decisive is not None and len(one.trajectory.steps) > 1]


def _judged(
    cases: Sequence[FitCase],
    labeled: Sequence[LabeledTrajectory],
    known: Sequence[int],
    asked: Sequence[int],
    *,
    seed: int,
) -> np.ndarray:
    """(asked, 2): whether step and agent are right, by a model fitted to the known ones alone."""
    model = adapt([cases[place] for place in known], seed=seed)
    return hits([labeled[place] for place in asked], beliefs_of(model, [cases[place] for place in asked]))


def _case(labeled: LabeledTrajectory, weight: float) -> FitCase:
    if labeled.decisive is None:
        raise AttributionError(f"the trajectory {labeled.trajectory.run_id!r} has no decisive step")
    trajectory = labeled.trajectory
    return FitCase(
        run_features(features_of(trajectory)),
        tuple(step.agent for step in trajectory.steps),
        target=labeled.decisive.step,
        group=question_of(labeled),
        weight=weight,
    )


def question_of(labeled: LabeledTrajectory) -> str:
    """The question that a labelled run belongs to; runs of one question are never split between fitting and judging."""
    return labeled.question_id or labeled.trajectory.task or labeled.trajectory.run_id


def hits(labeled: Sequence[LabeledTrajectory], beliefs: Sequence[Logits]) -> np.ndarray:
    """(trajectories, 2): whether step and agent are right, names compared without case and punctuation."""
    found = np.zeros((len(labeled), 2))
    for place, (one, belief) in enumerate(zip(labeled, beliefs, strict=True)):
        if one.decisive is not None:
            best = int(belief.argmax())
            agent = one.trajectory.steps[best].agent
            found[place] = best == one.decisive.step, fold(agent) == fold(one.decisive.agent)
    return found
