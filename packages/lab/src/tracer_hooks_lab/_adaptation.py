"""Adaptation to a team: fits beside the attributor as shipped and simple priors, each run judged without its labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from tracer_hooks.diagnosis import Attributor, Fittable, fitted_only
from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.evaluation import without_reference
from tracer_hooks.extension import grouped_folds, question_of
from tracer_hooks.schema import LabeledTrajectory, Record
from tracer_hooks_lab._side_by_side import (
    AGENT,
    INJECTED,
    NATURAL,
    POSITION,
    AdaptationRow,
    Answers,
    CaseAnswer,
    agent_prior,
    answers_by,
    group_of,
    method_rows,
    position_prior,
)

SHIPPED = "as shipped"
ON_INJECTED = "fitted to injected faults"
ON_NATURAL = "fitted to natural failures"
ON_BOTH = "fitted to both"
FITTED = (ON_INJECTED, ON_NATURAL, ON_BOTH)
_MORE = 2
"""How many times as many answers a fit must put right as it puts wrong."""
_FEWEST = 5
"""Labels below which nothing is fitted."""


class AdaptationReport(Record):
    """Gains of fitting, every run judged without any label of its question."""

    rows: tuple[AdaptationRow, ...]
    """Every method on every group."""
    labels: dict[str, int]
    """How many labelled runs there are of each group, weak labels left out."""
    weak: int = 0
    """How many weak labels were learnt from as well."""
    questions: int
    """Different questions."""
    folds: int
    """Folds of whole questions."""
    seed: int
    """Of the folds and the draws."""

    @property
    def judged_on(self) -> str:
        """The failures that decide: the natural ones, which are what is to be diagnosed, where there are any."""
        return NATURAL if self.labels.get(NATURAL, 0) else INJECTED

    @property
    def best(self) -> str:
        """Return what is to be kept: the fit to both, unless another fit does better, or none is worth it.

        Natural failures decide, however few: a fit that another one beats on them is not kept. Where they say the same
        of several, the injected faults decide among those; where these do too, the fit to both comes first, then that
        to natural failures. The best fit is worth it only when it puts more than twice as many natural failures right
        as it puts wrong, so that it is less likely to have gained by chance; where it changes none of them, the
        injected faults say.
        """
        measured = [method for method in FITTED if self.row(method, self.judged_on) is not None]
        if not measured:
            return SHIPPED
        best = max(measured, key=lambda method: (*self._right(method), FITTED.index(method)))
        return best if self._is_worth_it(best) else SHIPPED

    def _is_worth_it(self, method: str) -> bool:
        row = self.row(method, self.judged_on)
        if row is None or self._right(method) <= self._right(SHIPPED):
            return False
        if row.righted is None or row.wronged is None:
            return True
        return row.righted > _MORE * row.wronged or row.righted == row.wronged == 0

    def _right(self, method: str) -> tuple[float, float]:
        """Exact steps in natural failures, then in injected faults."""
        rows = [self.row(method, group) for group in (NATURAL, INJECTED)]
        natural, injected = (0.0 if row is None else round(row.step.value, 9) for row in rows)
        return natural, injected

    def row(self, method: str, group: str) -> AdaptationRow | None:
        """One row; None when it was not measured."""
        return next((row for row in self.rows if (row.method, row.group) == (method, group)), None)


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
        raise ConfigError(f"the attributor {attributor.name!r} cannot be fitted, expected 'structural'")
    cases = [without_reference(case) for case in labeled if case.decisive is not None and case.trajectory.steps]
    questions = [question_of(case) for case in cases]
    folds = min(folds, len(set(questions)))
    where = grouped_folds(questions, folds, seed=seed, strata=[case.label_source.value for case in cases])
    answers: dict[str, Answers] = {}
    proven = [position for position, case in enumerate(cases) if not case.is_weak]
    for number in range(folds):
        training = [case for case, place in zip(cases, where, strict=True) if place != number]
        held_out = [position for position in proven if where[position] == number]
        for method, answer in _methods(training, attributor, seed):
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
    return [case for case in labeled if group_of(case) == (INJECTED if method == ON_INJECTED else NATURAL)]


def _methods(
    training: Sequence[LabeledTrajectory], attributor: Attributor, seed: int
) -> Iterator[tuple[str, CaseAnswer]]:
    yield SHIPPED, answers_by(attributor)
    groups = {method: training_labels(training, method) for method in FITTED}
    for method, labels in groups.items():
        if method == ON_BOTH and len(labels) in map(len, (groups[ON_INJECTED], groups[ON_NATURAL])):
            continue  # there is only one kind
        fitted = _fitted(attributor, labels, seed)
        if fitted is not None:
            yield method, answers_by(fitted)
    yield POSITION, position_prior(training)
    yield AGENT, agent_prior(training)


def _fitted(attributor: Attributor, labels: Sequence[LabeledTrajectory], seed: int) -> Attributor | None:
    if len(labels) < _FEWEST or not isinstance(attributor, Fittable):
        return None
    try:
        return fitted_only(attributor, labels, seed=seed)
    except AttributionError:  # too few questions to choose among
        return None
