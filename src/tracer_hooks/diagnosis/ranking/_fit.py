"""Fit of the structural model to labelled runs, every choice made on questions left out, and what the fit gains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tracer_hooks._folds import grouped_folds
from tracer_hooks._lazy import require
from tracer_hooks.diagnosis._protocol import FitReport
from tracer_hooks.diagnosis._reading._roles import fold
from tracer_hooks.diagnosis.ranking._learners import ConditionalLogit, KindLogits, fit_forest, fit_logits
from tracer_hooks.diagnosis.ranking._model import RunFeatures, StructuralModel
from tracer_hooks.diagnosis.ranking._pooling import (
    Beliefs,
    Judgement,
    Logits,
    Mixing,
    Sureness,
    fit_mixing,
    fit_sureness,
    normalised,
)
from tracer_hooks.diagnosis.ranking._table import features_of
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import LabeledTrajectory, LabelSource, Trajectory

STEP_STRENGTH, AGENT_STRENGTH = 20.0, 80.0
"""Precisions of the prior on the weights that rank steps, and on those that weigh agents: who is at fault shows in
fewer features than where, so that less is let go."""
_KIND = 4.0
"""How much more strongly a kind of team is held to the shared weights than those are to 0."""
_CHOICE_FOLDS = 10
"""Many, so that the members which the shares are fitted to know nearly as much as those they are used for."""
_WAYS = 5
"""How often the questions are dealt into folds: what one dealing decides is half chance."""
START = (0.0, 1.0, 1.0, 1.0)
"""Proportions of prior, step logit, trees and agent logit that the fitted ones are held to. Both logits carry the prior
in them; its own share says how much less of what was learnt is to be believed."""


@dataclass(frozen=True, slots=True)
class FitCase:
    """One labelled trajectory, ready to be fitted to."""

    run: RunFeatures
    target: int
    blamed: str
    """The agent that is labelled; a label may name another one than who acted in the labelled step."""
    group: str
    """The question that it belongs to."""
    weight: float
    """How much the label counts."""


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
    folds = min(_CHOICE_FOLDS, len(set(groups)))
    orders = [np.random.default_rng(seed * _WAYS + way) for way in range(_WAYS)]
    ways = [grouped_folds(groups, folds, shuffle=order.shuffle) for order in orders]
    targets, weights = [case.target for case in cases], [case.weight for case in cases]
    grown = fit_forest([case.run.table for case in cases], targets, ways, seed=seed, weights=weights)
    beliefs: list[_Unseen] = []
    for way in ways:
        for part in sorted(set(way)):
            step_logit, agent_logit = _logits([case for case, own in zip(cases, way, strict=True) if own != part])
            for place in (place for place, own in enumerate(way) if own == part):
                case = cases[place]
                said = case.run.members(step_logit, agent_logit, grown.unseen[place])
                beliefs.append(_Unseen(case, said, part=ways[0][place]))
    step_logit, agent_logit = _logits(cases)
    return StructuralModel(
        step_logit,
        agent_logit,
        grown.forest,
        _mixing(beliefs),
        _sureness(beliefs),
        agents_seen=frozenset(fold(agent) for case in cases for agent in case.run.agents),
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
        [one.case.run.kind for one in unseen],
        weights=[one.weight for one in unseen],
        start=START,
    )


def _sureness(unseen: Sequence[_Unseen]) -> Sureness:
    judgements = []
    for part in sorted({one.part for one in unseen}):
        mixing = _mixing([one for one in unseen if one.part != part])
        for one in (one for one in unseen if one.part == part):
            case, logits = one.case, mixing.logits(one.case.run.kind, one.beliefs)
            judgements.append(Judgement.of(logits, case.run.agents, case.target, case.blamed, one.weight))
    return fit_sureness(judgements)


def beliefs_of(model: StructuralModel, cases: Sequence[FitCase]) -> list[Logits]:
    """The log-probabilities that a model gives to the steps of trajectories."""
    return [normalised(model.logits(case.run.table, case.run.agents)) for case in cases]


def _logits(cases: Sequence[FitCase]) -> tuple[KindLogits, KindLogits]:
    return _logit_on(cases, STEP_STRENGTH), _logit_on(cases, AGENT_STRENGTH)


def _logit_on(cases: Sequence[FitCase], strength: float) -> KindLogits:
    shared, by_kind = fit_logits(
        [case.run.standardised for case in cases],
        [case.run.prior for case in cases],
        [case.target for case in cases],
        [case.run.kind for case in cases],
        weights=[case.weight for case in cases],
        strength=strength,
        kind_strength=_KIND * strength,
    )
    names = cases[0].run.table.names
    return KindLogits(_named(shared, names), {kind: _named(own, names) for kind, own in by_kind.items()})


def _named(weights: NDArray[np.float64], names: tuple[str, ...]) -> ConditionalLogit:
    named = {name: float(weight) for name, weight in zip(names, weights[:-1], strict=True) if abs(weight) > 1e-6}
    return ConditionalLogit(named, float(weights[-1]))


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
"""Questions below which nothing can be measured: one is judged, and of the others one chooses what the rest teach."""
_FOLDS = 5
_OTHER_FOLDS = 1_000_003
"""Added to the seed of the folds that a fit is measured on, so that they are not those that it chooses on."""


def fit_structural(
    labeled: Sequence[LabeledTrajectory], *, shipped: StructuralModel, seed: int
) -> tuple[StructuralModel, FitReport]:
    """A model adapted to the trajectories that have a decisive step, and what it gained on questions it had not seen.

    Raises:
        AttributionError: There are fewer than :data:`FEWEST` of them, or of their questions fewer than three.
        MissingExtraError: scikit-learn or scipy is not installed.
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
        chosen=_in_words(model),
    )
    return replace(model, right=(int(right[proven, 0].sum()), sum(proven))), report


def cases_of(labeled: Sequence[LabeledTrajectory]) -> list[FitCase]:
    """The trajectories that something can be learnt from, ready to be fitted to.

    Raises:
        AttributionError: There are fewer than :data:`FEWEST` of them, or they have fewer than three questions.
        MissingExtraError: scikit-learn or scipy is not installed.
    """
    require("sklearn", extra="fit", feature="fitting an attributor")
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
        RunFeatures.of(features_of(trajectory), [step.agent for step in trajectory.steps]),
        target=labeled.decisive.step,
        blamed=_as_acting(labeled.decisive.agent, trajectory),
        group=question_of(labeled),
        weight=weight,
    )


def question_of(labeled: LabeledTrajectory) -> str:
    """The question that a labelled run belongs to; runs of one question are never split between fitting and judging."""
    return labeled.question_id or labeled.trajectory.task or labeled.trajectory.run_id


def _as_acting(name: str, trajectory: Trajectory) -> str:
    """A labelled name as the run has it: labels differ from logs in case and punctuation."""
    return next((step.agent for step in trajectory.steps if fold(step.agent) == fold(name)), name)


def hits(labeled: Sequence[LabeledTrajectory], beliefs: Sequence[Logits]) -> np.ndarray:
    """(trajectories, 2): whether step and agent are right, names compared without case and punctuation."""
    found = np.zeros((len(labeled), 2))
    for place, (one, belief) in enumerate(zip(labeled, beliefs, strict=True)):
        if one.decisive is not None:
            best = int(belief.argmax())
            agent = one.trajectory.steps[best].agent
            found[place] = best == one.decisive.step, fold(agent) == fold(one.decisive.agent)
    return found


def _in_words(model: StructuralModel) -> str:
    """The shares for each kind of team."""
    names = ("as shipped", "weights for steps", "trees", "weights for agents")
    by_kind = [
        f"{kind}: " + ", ".join(f"{name} {share:.2f}" for name, share in zip(names, shares, strict=True))
        for kind, shares in sorted(model.mixing.by_kind.items())
    ]
    return "; ".join(by_kind)
