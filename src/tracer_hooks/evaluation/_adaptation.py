"""Does fitting to a team's own labels help with failures of that team which nobody had seen?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tracer_hooks._folds import grouped_folds
from tracer_hooks.attribution import Attributor, Fittable, fitted_only
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
)
from tracer_hooks.evaluation._folds import question_of, without_reference
from tracer_hooks.evaluation._method_rows import Answers, CaseAnswer, answers_by, group_of, method_rows
from tracer_hooks.evaluation._priors import agent_prior, position_prior
from tracer_hooks.schema import LabeledTrajectory

_FEWEST = 5
"""Labels below which nothing is fitted."""


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
        rows=tuple(method_rows(cases, questions, answers, beside=SHIPPED, seed=seed, draws=draws)),
        labels=dict(Counter(group_of(cases[position]) for position in proven)),
        weak=len(cases) - len(proven),
        questions=len(set(questions)),
        folds=folds,
        seed=seed,
    )


def training_labels(labeled: Sequence[LabeledTrajectory], method: str) -> list[LabeledTrajectory]:
    """The labels that ``method``, one of :data:`FITTED`, is fitted to."""
    if method == ON_BOTH:
        return list(labeled)
    return [one for one in labeled if group_of(one) == (INJECTED if method == ON_INJECTED else NATURAL)]


def _methods(fold_: _Fold, attributor: Attributor, seed: int) -> Iterator[tuple[str, CaseAnswer]]:
    yield SHIPPED, answers_by(attributor)
    groups = {method: training_labels(fold_.training, method) for method in FITTED}
    for method, labels in groups.items():
        if method == ON_BOTH and len(labels) in map(len, (groups[ON_INJECTED], groups[ON_NATURAL])):
            continue  # there is only one kind
        fitted = _fitted(attributor, labels, seed)
        if fitted is not None:
            yield method, answers_by(fitted)
    yield POSITION, position_prior(fold_.training)
    yield AGENT, agent_prior(fold_.training)


def _fitted(attributor: Attributor, labels: Sequence[LabeledTrajectory], seed: int) -> Attributor | None:
    if len(labels) < _FEWEST or not isinstance(attributor, Fittable):
        return None
    try:
        return fitted_only(attributor, labels, seed=seed)
    except AttributionError:  # too few questions to choose among
        return None
