"""Methods side by side on labelled failures, two priors that read nothing, and what a fit to a team gains there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

import numpy as np

from tracer_hooks.diagnosis import Attributor, Fittable, diagnose_trajectory
from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.evaluation import Measure, without_reference
from tracer_hooks.extension import Array, Resampling, fold_name, grouped_folds, question_of, ranked_steps
from tracer_hooks.schema import DecisiveStep, LabeledTrajectory, LabelSource, Record

POSITION = "most frequent step"
AGENT = "most frequent agent, first step"
INJECTED = "injected faults"
NATURAL = "natural failures"


class AdaptationRow(Record):
    """One method on one kind of failures."""

    method: str
    """Who answers."""
    group: str
    """Which failures."""
    step: Measure
    """Exact-step accuracy."""
    agent: Measure
    """Exact-agent accuracy."""
    step_gain: Measure | None = None
    """Exact-step accuracy minus that of the method that it is compared with, here the attributor as shipped unless
    said otherwise, over the same draws of questions."""
    agent_gain: Measure | None = None
    """The same for the agent."""
    righted: int | None = None
    """Runs whose step it names and that method does not; None for that one itself."""
    wronged: int | None = None
    """Runs whose step that method names and it does not."""


Answers = list[tuple[int, str] | None]
"""Step and agent for each run; None where there is no answer."""
CaseAnswer = Callable[[LabeledTrajectory], tuple[int, str] | None]
"""Answers about one run."""


def answers_by(attributor: Attributor, unusable: list[LabeledTrajectory] | None = None) -> CaseAnswer:
    """Return what an attributor answers; one that abstains is taken at its first candidate.

    Args:
        attributor: Who is asked.
        unusable: Takes the runs that it cannot answer about, as a reply that stays unreadable is a wrong answer; None
            raises its error.
    """

    def answer(case: LabeledTrajectory) -> tuple[int, str] | None:
        try:
            ranking = ranked_steps(diagnose_trajectory(case.trajectory, attributor=attributor))
        except AttributionError:
            if unusable is None:
                raise
            unusable.append(case)
            return None
        return (ranking[0], case.trajectory.steps[ranking[0]].agent) if ranking else None

    return answer


def group_of(case: LabeledTrajectory) -> str:
    """Return which kind of failure it is: :data:`INJECTED` or :data:`NATURAL`."""
    return INJECTED if case.label_source is LabelSource.INJECTED else NATURAL


def method_rows(
    cases: Sequence[LabeledTrajectory],
    questions: Sequence[str],
    answers: Mapping[str, Answers],
    *,
    beside: str,
    seed: int,
    draws: int,
) -> Iterator[AdaptationRow]:
    """One row for each method on each kind of failures, weak labels left out."""
    for group in (NATURAL, INJECTED):
        places = [position for position, case in enumerate(cases) if group_of(case) == group and not case.is_weak]
        if not places:
            continue
        resampling = Resampling([questions[position] for position in places], draws=draws, seed=seed)
        hits = {
            method: hits_of([cases[p] for p in places], [given[p] for p in places]) for method, given in answers.items()
        }
        others = hits[beside]
        for method, (steps, agents) in hits.items():
            step, agent = resampling.mean(steps), resampling.mean(agents)
            if step is None or agent is None:
                continue
            gained = method != beside
            yield AdaptationRow(
                method=method,
                group=group,
                step=step,
                agent=agent,
                step_gain=resampling.difference(steps, others[0]) if gained else None,
                agent_gain=resampling.difference(agents, others[1]) if gained else None,
                righted=int((steps > others[0]).sum()) if gained else None,
                wronged=int((steps < others[0]).sum()) if gained else None,
            )


def hits_of(cases: Sequence[LabeledTrajectory], given: Answers) -> tuple[Array, Array]:
    """Tell whether each answer names the labelled step, and whether it names the labelled agent; 1 or 0."""
    steps, agents = [], []
    for case, answer in zip(cases, given, strict=True):
        gold = case.decisive
        steps.append(float(answer is not None and gold is not None and answer[0] == gold.step))
        agents.append(float(answer is not None and gold is not None and fold_name(answer[1]) == fold_name(gold.agent)))
    return np.array(steps), np.array(agents)


def position_prior(training: Sequence[LabeledTrajectory]) -> CaseAnswer:
    """Names the step that was decisive most often."""
    counts = _Counts(training, lambda gold: gold.step)

    def answer(case: LabeledTrajectory) -> tuple[int, str] | None:
        steps = case.trajectory.steps
        known = counts.of(case)
        best = max(range(len(steps)), key=lambda place: (known[place], -place))
        return best, steps[best].agent

    return answer


def agent_prior(training: Sequence[LabeledTrajectory]) -> CaseAnswer:
    """Names the first step of the agent that was to blame most often."""
    counts = _Counts(training, lambda gold: fold_name(gold.agent))

    def answer(case: LabeledTrajectory) -> tuple[int, str] | None:
        known = counts.of(case)
        best = max(case.trajectory.steps, key=lambda step: (known[fold_name(step.agent)], -step.index))
        return best.index, best.agent

    return answer


class _Counts:
    """Counts of what was to blame in the same kind of failures: of the same team, or of all where it has none."""

    def __init__(self, training: Sequence[LabeledTrajectory], what: Callable[[DecisiveStep], Hashable]) -> None:
        self._by_team: defaultdict[tuple[str, str], Counter[Hashable]] = defaultdict(Counter)
        self._by_group: defaultdict[str, Counter[Hashable]] = defaultdict(Counter)
        for case in training:
            if case.decisive is not None:
                self._by_team[_team(case), group_of(case)][what(case.decisive)] += 1
                self._by_group[group_of(case)][what(case.decisive)] += 1

    def of(self, case: LabeledTrajectory) -> Counter[Hashable]:
        """Return how often each was to blame."""
        return self._by_team.get((_team(case), group_of(case))) or self._by_group[group_of(case)]


def _team(case: LabeledTrajectory) -> str:
    return f"{case.trajectory.framework}/{case.trajectory.team}"


def held_out_apart(
    labeled: Sequence[LabeledTrajectory], *, parts: int = 3, seed: int = 0
) -> tuple[list[LabeledTrajectory], list[LabeledTrajectory]]:
    """Failures to learn from, and one of ``parts`` of the questions to judge by, each kind of failures in both.

    Runs of one question, or of tasks with the same words, stay together. Weak labels are in the first list only, and
    none of a question that is judged by.

    Raises:
        ConfigError: There are fewer questions than parts.
    """
    proven = [case for case in labeled if not case.is_weak]
    keys = [_key(case) for case in proven]
    folds = grouped_folds(keys, parts, seed=seed, strata=[group_of(case) for case in proven])
    judged = {key for key, fold in zip(keys, folds, strict=True) if fold == 0}
    learnt = [case for case in labeled if _key(case) not in judged]
    return learnt, [case for case, key in zip(proven, keys, strict=True) if key in judged]


def _key(case: LabeledTrajectory) -> str:
    return " ".join(case.trajectory.task.casefold().split()) or question_of(case)


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


def fitted_only(attributor: Fittable, labeled: Sequence[LabeledTrajectory], *, seed: int) -> Attributor:
    """Return what ``fit`` gives, measured only where the attributor has no method ``fitted``."""
    fitted: Callable[..., Attributor] | None = getattr(attributor, "fitted", None)
    return fitted(labeled, seed=seed) if fitted is not None else attributor.fit(labeled, seed=seed)[0]


def _fitted(attributor: Attributor, labels: Sequence[LabeledTrajectory], seed: int) -> Attributor | None:
    if len(labels) < _FEWEST or not isinstance(attributor, Fittable):
        return None
    try:
        return fitted_only(attributor, labels, seed=seed)
    except AttributionError:  # too few questions to choose among
        return None
