"""Fit of the structural attributor to labels: their weights, what the fit gains, and what ten more would bring."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tracer_hooks._folds import grouped_folds
from tracer_hooks._lazy import require
from tracer_hooks.diagnosis._features import features_of
from tracer_hooks.diagnosis._protocol import FitReport, TenMore
from tracer_hooks.diagnosis._reading._roles import fold
from tracer_hooks.diagnosis._structural._adapt import FitCase, adapt, beliefs_of
from tracer_hooks.diagnosis._structural._logit import Logits
from tracer_hooks.diagnosis._structural._model import StructuralModel
from tracer_hooks.errors import AttributionError
from tracer_hooks.schema import LabeledTrajectory, LabelSource, Trajectory

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


_PARTS = (0.5, 0.75)
"""Parts of the questions that are fitted to beside all of them; the smaller lies within the larger."""
_FEWEST = 30
"""Questions below which nothing is said."""
_DRAWS = 1_000
_MORE = 10


class LearningCurve:
    """Collects which questions were judged right by fits to how many labels.

    Args:
        groups: The question of each trajectory.
        seed: Of the subsamples and the draws.
    """

    def __init__(self, groups: Sequence[str], *, seed: int) -> None:
        self._groups = list(groups)
        self._seed = seed
        self._told: list[tuple[int, float, float]] = []
        """Trajectory, labels that its judge was fitted to, and whether it was right."""

    @property
    def is_measured(self) -> bool:
        """Tell whether there are enough questions."""
        return len(set(self._groups)) >= _FEWEST

    def parts(self, places: Sequence[int]) -> Iterator[list[int]]:
        """Nested subsamples of whole questions out of the given trajectories; none when there are too few."""
        if not self.is_measured:
            return
        order = sorted({self._groups[place] for place in places})
        np.random.default_rng(self._seed).shuffle(order)
        for part in _PARTS:
            chosen = set(order[: round(part * len(order))])
            yield [place for place in places if self._groups[place] in chosen]

    def tell(self, labels: int, asked: Sequence[int], right: Sequence[float] | np.ndarray) -> None:
        """Take into account what a fit to so many labels got right."""
        self._told += [(place, float(labels), float(one)) for place, one in zip(asked, right, strict=True)]

    def ten_more(self, labels: int) -> TenMore | None:
        """What ten labels more than now would bring, accuracy being taken to grow with the logarithm of their number.

        Args:
            labels: How many there are now.
        """
        if not self.is_measured:
            return None
        unique = sorted(set(self._groups))
        places = np.array([unique.index(self._groups[place]) for place, _, _ in self._told])
        sizes = np.log([count for _, count, _ in self._told])
        right = np.array([one for _, _, one in self._told])
        step = np.log((labels + _MORE) / labels)
        draws = np.random.default_rng(self._seed).multinomial(len(unique), [1 / len(unique)] * len(unique), _DRAWS)
        slopes = [_slope(sizes, right, drawn[places].astype(np.float64)) for drawn in draws]
        low, high = np.percentile(slopes, [2.5, 97.5])
        found = _slope(sizes, right, np.ones(len(right)))
        return TenMore(gain=float(found * step), low=float(low * step), high=float(high * step))


def _slope(sizes: np.ndarray, right: np.ndarray, weights: np.ndarray) -> float:
    centred = sizes - np.average(sizes, weights=weights)
    return float((weights * centred * right).sum() / (weights * centred**2).sum())


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
    hits_before = _hits(usable, beliefs_of(shipped, cases))
    curve = LearningCurve([case.group for case in cases], seed=seed)
    hits = np.zeros((len(cases), 2))
    groups = [case.group for case in cases]
    order = np.random.default_rng(seed + _OTHER_FOLDS)
    folds = grouped_folds(groups, min(_FOLDS, len(set(groups))), shuffle=order.shuffle)
    for number in sorted(set(folds)):
        rest = [place for place, own in enumerate(folds) if own != number]
        asked = [place for place, own in enumerate(folds) if own == number and not usable[place].is_weak]
        if not asked:
            continue
        hits[asked] = _judged(cases, usable, rest, asked, seed=seed)
        for places in curve.parts(rest):
            curve.tell(len(places), asked, _judged(cases, usable, places, asked, seed=seed)[:, 0])
        curve.tell(len(rest), asked, hits[asked, 0])
    proven = [not one.is_weak for one in usable]  # weak labels are learnt from, and never judged by
    (step_before, agent_before), (step_after, agent_after) = hits_before[proven].mean(axis=0), hits[proven].mean(axis=0)
    report = FitReport(
        trajectories=len(cases),
        questions=len({case.group for case in cases}),
        shipped_step=float(step_before),
        shipped_agent=float(agent_before),
        fitted_step=float(step_after),
        fitted_agent=float(agent_after),
        chosen=_in_words(model),
        ten_more=curve.ten_more(len(cases)),
    )
    return model, report


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
    return _hits([labeled[place] for place in asked], beliefs_of(model, [cases[place] for place in asked]))


def _case(labeled: LabeledTrajectory, weight: float) -> FitCase:
    if labeled.decisive is None:
        raise AttributionError(f"the trajectory {labeled.trajectory.run_id!r} has no decisive step")
    trajectory = labeled.trajectory
    return FitCase.of(
        features_of(trajectory),
        agents=[step.agent for step in trajectory.steps],
        target=labeled.decisive.step,
        blamed=_as_acting(labeled.decisive.agent, trajectory),
        group=labeled.question_id or trajectory.task or trajectory.run_id,
        weight=weight,
    )


def _as_acting(name: str, trajectory: Trajectory) -> str:
    """A labelled name as the run has it: labels differ from logs in case and punctuation."""
    return next((step.agent for step in trajectory.steps if fold(step.agent) == fold(name)), name)


def _hits(labeled: Sequence[LabeledTrajectory], beliefs: Sequence[Logits]) -> np.ndarray:
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
