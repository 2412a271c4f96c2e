"""Adaptation to a team: fits beside the attributor as shipped and simple priors, and two attributors side by side."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from math import comb

import numpy as np
from pydantic import Field

from tracer_hooks._folds import grouped_folds
from tracer_hooks.diagnosis import Attributor, Fittable, diagnose_trajectory, fitted_only
from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.evaluation._cases import fold_name, question_of, without_reference
from tracer_hooks.evaluation._report import Array, Measure, Resampling
from tracer_hooks.evaluation._scores import ranked_steps
from tracer_hooks.schema import DecisiveStep, LabeledTrajectory, LabelSource, Record, Text

SHIPPED = "as shipped"
ON_INJECTED = "fitted to injected faults"
ON_NATURAL = "fitted to natural failures"
ON_BOTH = "fitted to both"
POSITION = "most frequent step"
AGENT = "most frequent agent, first step"
INJECTED = "injected faults"
NATURAL = "natural failures"
FITTED = (ON_INJECTED, ON_NATURAL, ON_BOTH)
_MORE = 2
"""How many times as many answers a fit must put right as it puts wrong."""


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


Answers = list[tuple[int, str] | None]
"""Step and agent for each run; None where there is no answer."""
CaseAnswer = Callable[[LabeledTrajectory], tuple[int, str] | None]
"""Answers about one run."""


def answers_by(attributor: Attributor) -> CaseAnswer:
    """Return what an attributor answers; one that abstains is taken at its first candidate."""

    def answer(case: LabeledTrajectory) -> tuple[int, str] | None:
        ranking = ranked_steps(diagnose_trajectory(case.trajectory, attributor=attributor))
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


_FEWEST = 5
"""Labels below which nothing is fitted."""


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


_CHANCE = 0.05
"""Two attributors that are equally good differ by so much, or more, in one of twenty measurements."""


class RivalReport(Record):
    """Comparison of what two attributors named in failures whose questions neither had learnt from."""

    rival: Text
    """The one that is to show that it is better."""
    standard: Text
    """The one that it is compared with."""
    rows: tuple[AdaptationRow, ...]
    """Both, and the priors that read nothing, on each kind of failures; gains are those over the standard."""
    labels: dict[str, int]
    """How many failures of each kind were judged."""
    questions: int = Field(ge=0)
    """Different questions among those that decide."""
    more: int = Field(ge=0)
    """Questions among them in whose failures the rival names more steps."""
    fewer: int = Field(ge=0)
    """Questions in whose failures it names fewer."""
    unusable: int = Field(default=0, ge=0)
    """Failures to which the rival gave no usable answer; they count as wrong."""

    @property
    def judged_on(self) -> str:
        """The failures that decide: the natural ones where there are any."""
        return NATURAL if self.labels.get(NATURAL, 0) else INJECTED

    @property
    def chance(self) -> float:
        """Return how often two equally good attributors would differ in as many questions: a two-sided sign test."""
        decided = self.more + self.fewer
        tail = sum(comb(decided, k) for k in range(max(self.more, self.fewer), decided + 1))
        return float(min(1.0, 2 * tail / 2**decided))

    @property
    def is_better(self) -> bool:
        """Tell whether the rival is shown to be better."""
        return self.more > self.fewer and self.chance < _CHANCE

    @property
    def is_worse(self) -> bool:
        """Tell whether the rival is shown to be worse."""
        return self.fewer > self.more and self.chance < _CHANCE

    @property
    def as_good_unread(self) -> str | None:
        """A prior that reads nothing and names as many steps as the rival does; None when there is none."""
        ours = self.row(self.rival)
        rows = [row for row in map(self.row, (POSITION, AGENT)) if row is not None]
        best = max(rows, key=lambda row: row.step.value, default=None)
        return best.method if best is not None and ours is not None and best.step.value >= ours.step.value else None

    def row(self, method: str) -> AdaptationRow | None:
        """The row of a method on the failures that decide; None when it was not measured."""
        return next((row for row in self.rows if (row.method, row.group) == (method, self.judged_on)), None)


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


def compare_attributors(
    labeled: Sequence[LabeledTrajectory],
    attributors: Mapping[str, Attributor],
    *,
    learnt: Sequence[LabeledTrajectory] = (),
    seed: int = 0,
    draws: int = 2_000,
    on_run: Callable[[int, int], None] | None = None,
) -> RivalReport:
    """Compare two attributors on labelled failures.

    Args:
        labeled: Failures with a decisive step, of questions that neither has learnt from; expected answers are
            withheld.
        attributors: The rival and the standard, in this order, by name.
        learnt: What both learnt from, for the priors that read nothing.
        seed: Of the draws.
        draws: Bootstrap draws of whole questions.
        on_run: Told of each failure that is judged, and of how many there are.

    Raises:
        ConfigError: There are not two attributors, or no failure to judge.
        AttributionError: The standard cannot answer.
    """
    cases = [without_reference(one) for one in labeled if one.decisive is not None and not one.is_weak]
    if len(attributors) != 2 or not cases:
        raise ConfigError(f"{len(attributors)} attributors on {len(cases)} failures, expected two on one at least")
    (rival, its), (standard, other) = attributors.items()
    unusable: list[LabeledTrajectory] = []
    methods: dict[str, CaseAnswer] = {rival: _lenient(answers_by(its), unusable), standard: answers_by(other)}
    if learnt:
        methods |= {POSITION: position_prior(learnt), AGENT: agent_prior(learnt)}
    answers: dict[str, Answers] = {method: [] for method in methods}
    for number, case in enumerate(cases, start=1):
        for method, answer in methods.items():
            answers[method].append(answer(case))
        if on_run is not None:
            on_run(number, len(cases))
    questions = [question_of(one) for one in cases]
    report = RivalReport(
        rival=rival,
        standard=standard,
        rows=tuple(method_rows(cases, questions, answers, beside=standard, seed=seed, draws=draws)),
        labels=dict(Counter(group_of(one) for one in cases)),
        questions=0,
        more=0,
        fewer=0,
        unusable=len(unusable),
    )
    return report.model_copy(update=_signs(cases, questions, answers, report))


def _lenient(answer: CaseAnswer, unusable: list[LabeledTrajectory]) -> CaseAnswer:
    def tried(case: LabeledTrajectory) -> tuple[int, str] | None:
        try:
            return answer(case)
        except AttributionError:  # a reply that stays unreadable is a wrong answer, and no reason to stop
            unusable.append(case)
            return None

    return tried


def _signs(
    cases: Sequence[LabeledTrajectory], questions: Sequence[str], answers: Mapping[str, Answers], report: RivalReport
) -> dict[str, int]:
    places = [place for place, case in enumerate(cases) if group_of(case) == report.judged_on]
    named = [
        hits_of([cases[place] for place in places], [answers[method][place] for place in places])[0]
        for method in (report.rival, report.standard)
    ]
    gains: Counter[str] = Counter()
    for place, ours, theirs in zip(places, *named, strict=True):
        gains[questions[place]] += int(ours) - int(theirs)
    return {
        "questions": len(gains),
        "more": sum(gain > 0 for gain in gains.values()),
        "fewer": sum(gain < 0 for gain in gains.values()),
    }
