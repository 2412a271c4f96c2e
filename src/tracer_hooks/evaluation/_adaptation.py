"""Does fitting to a team's own labels help with failures of that team which nobody had seen?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tracer_hooks.attribution import Attributor, Fittable, diagnose_trajectory, fitted_only
from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.evaluation._adaptation_report import (
    AGENT,
    FITTED,
    INJECTED,
    NATURAL,
    ON_BOTH,
    ON_INJECTED,
    ON_NATURAL,
    POSITION,
    SHIPPED,
    AdaptationReport,
    AdaptationRow,
)
from tracer_hooks.evaluation._folds import grouped_folds, question_of, without_reference
from tracer_hooks.evaluation._names import fold
from tracer_hooks.evaluation._resampling import Resampling
from tracer_hooks.evaluation._step_scores import ranked_steps
from tracer_hooks.schema import DecisiveStep, LabeledTrajectory, LabelSource

_FEWEST = 5
"""Labels below which nothing is fitted."""
Answers = list[tuple[int, str] | None]
"""Step and agent for each run; None where there is no answer."""


@dataclass(frozen=True)
class _Fold:
    """One fold: the labels to learn from, and the runs to judge."""

    training: list[LabeledTrajectory]
    held_out: list[int]


def adaptation(
    labeled: Sequence[LabeledTrajectory],
    attributor: Attributor,
    *,
    folds: int = 5,
    seed: int = 0,
    draws: int = 2_000,
    on_fold: Callable[[int, int], None] | None = None,
) -> AdaptationReport:
    """Measure what an attributor gains from labels of the teams that it judges.

    Every failure is judged by what was learnt from other questions only: by the attributor as shipped, fitted to the
    injected faults, to the natural failures, and to both; and beside them by two priors that read nothing, the step
    and the agent that were to blame most often in failures of the same kind and team. An attributor that abstains is
    taken at its first candidate.

    Args:
        labeled: Failed runs with a decisive step; the expected answers are withheld. Weak labels are learnt from, and
            never judged by.
        attributor: One that can be fitted.
        folds: How many; fewer where there are fewer questions.
        seed: Of the folds, the fits and the draws.
        draws: Bootstrap draws of whole questions.
        on_fold: Told of each fold that is done, and of how many there are.

    Raises:
        ConfigError: The attributor cannot be fitted, or there are fewer than two questions.
        MissingExtraError: Fitting needs a package that is not installed.
    """
    if not isinstance(attributor, Fittable):
        raise ConfigError(f"the attributor {attributor.name!r} cannot be fitted, expected 'structural' or 'ensemble'")
    cases = [without_reference(one) for one in labeled if one.decisive is not None and one.trajectory.steps]
    questions = [question_of(one) for one in cases]
    folds = min(folds, len(set(questions)))
    where = grouped_folds(questions, folds, seed=seed, strata=[one.label_source.value for one in cases])
    answers: dict[str, Answers] = {}
    proven = [position for position, one in enumerate(cases) if not one.is_weak]
    for number in range(folds):
        training = [one for one, place in zip(cases, where, strict=True) if place != number]
        held_out = [position for position in proven if where[position] == number]
        for method, answer in _methods(_Fold(training, held_out), attributor, seed):
            given = answers.setdefault(method, [None] * len(cases))
            for position in held_out:
                given[position] = answer(cases[position])
        if on_fold is not None:
            on_fold(number + 1, folds)
    return AdaptationReport(
        rows=tuple(_rows(cases, questions, answers, seed=seed, draws=draws)),
        labels=dict(Counter(_group(cases[position]) for position in proven)),
        weak=len(cases) - len(proven),
        questions=len(set(questions)),
        folds=folds,
        seed=seed,
    )


def training_labels(labeled: Sequence[LabeledTrajectory], method: str) -> list[LabeledTrajectory]:
    """The labels that ``method``, one of :data:`FITTED`, is fitted to."""
    if method == ON_BOTH:
        return list(labeled)
    return [one for one in labeled if _group(one) == (INJECTED if method == ON_INJECTED else NATURAL)]


_Answer = Callable[[LabeledTrajectory], tuple[int, str] | None]


def _methods(fold_: _Fold, attributor: Attributor, seed: int) -> Iterator[tuple[str, _Answer]]:
    yield SHIPPED, _by(attributor)
    groups = {method: training_labels(fold_.training, method) for method in FITTED}
    for method, labels in groups.items():
        if method == ON_BOTH and len(labels) in map(len, (groups[ON_INJECTED], groups[ON_NATURAL])):
            continue  # there is only one kind
        fitted = _fitted(attributor, labels, seed)
        if fitted is not None:
            yield method, _by(fitted)
    yield POSITION, _position_prior(fold_.training)
    yield AGENT, _agent_prior(fold_.training)


def _fitted(attributor: Attributor, labels: Sequence[LabeledTrajectory], seed: int) -> Attributor | None:
    if len(labels) < _FEWEST or not isinstance(attributor, Fittable):
        return None
    try:
        return fitted_only(attributor, labels, seed=seed)
    except AttributionError:  # too few questions to choose among
        return None


def _by(attributor: Attributor) -> _Answer:
    def answer(case: LabeledTrajectory) -> tuple[int, str] | None:
        ranking = ranked_steps(diagnose_trajectory(case.trajectory, attributor=attributor))
        return (ranking[0], case.trajectory.steps[ranking[0]].agent) if ranking else None

    return answer


def _position_prior(training: Sequence[LabeledTrajectory]) -> _Answer:
    counts = _Counts(training, lambda gold: gold.step)

    def answer(case: LabeledTrajectory) -> tuple[int, str] | None:
        steps = case.trajectory.steps
        known = counts.of(case)
        best = max(range(len(steps)), key=lambda place: (known[place], -place))
        return best, steps[best].agent

    return answer


def _agent_prior(training: Sequence[LabeledTrajectory]) -> _Answer:
    counts = _Counts(training, lambda gold: fold(gold.agent))

    def answer(case: LabeledTrajectory) -> tuple[int, str] | None:
        known = counts.of(case)
        best = max(case.trajectory.steps, key=lambda step: (known[fold(step.agent)], -step.index))
        return best.index, best.agent

    return answer


class _Counts:
    """What was to blame how often, in the same kind of failures: of the same team, or of all where it has none."""

    def __init__(self, training: Sequence[LabeledTrajectory], what: Callable[[DecisiveStep], Hashable]) -> None:
        self._by_team: defaultdict[tuple[str, str], Counter[Hashable]] = defaultdict(Counter)
        self._by_group: defaultdict[str, Counter[Hashable]] = defaultdict(Counter)
        for one in training:
            if one.decisive is not None:
                self._by_team[_team(one), _group(one)][what(one.decisive)] += 1
                self._by_group[_group(one)][what(one.decisive)] += 1

    def of(self, case: LabeledTrajectory) -> Counter[Hashable]:
        """How often each was to blame."""
        return self._by_team.get((_team(case), _group(case))) or self._by_group[_group(case)]


def _team(one: LabeledTrajectory) -> str:
    return f"{one.trajectory.framework}/{one.trajectory.team}"


def _group(one: LabeledTrajectory) -> str:
    return INJECTED if one.label_source is LabelSource.INJECTED else NATURAL


def _rows(
    cases: Sequence[LabeledTrajectory],
    questions: Sequence[str],
    answers: Mapping[str, Answers],
    *,
    seed: int,
    draws: int,
) -> Iterator[AdaptationRow]:
    for group in (NATURAL, INJECTED):
        places = [position for position, one in enumerate(cases) if _group(one) == group and not one.is_weak]
        if not places:
            continue
        resampling = Resampling([questions[position] for position in places], draws=draws, seed=seed)
        hits = {
            method: _hits([cases[p] for p in places], [given[p] for p in places]) for method, given in answers.items()
        }
        shipped = hits[SHIPPED]
        for method, (steps, agents) in hits.items():
            step, agent = resampling.mean(steps), resampling.mean(agents)
            if step is None or agent is None:
                continue
            gained = method != SHIPPED
            yield AdaptationRow(
                method=method,
                group=group,
                step=step,
                agent=agent,
                step_gain=resampling.difference(steps, shipped[0]) if gained else None,
                agent_gain=resampling.difference(agents, shipped[1]) if gained else None,
                righted=int((steps > shipped[0]).sum()) if gained else None,
                wronged=int((steps < shipped[0]).sum()) if gained else None,
            )


def _hits(cases: Sequence[LabeledTrajectory], given: Answers) -> tuple[np.ndarray, np.ndarray]:
    steps, agents = [], []
    for case, answer in zip(cases, given, strict=True):
        gold = case.decisive
        steps.append(float(answer is not None and gold is not None and answer[0] == gold.step))
        agents.append(float(answer is not None and gold is not None and fold(answer[1]) == fold(gold.agent)))
    return np.array(steps), np.array(agents)
