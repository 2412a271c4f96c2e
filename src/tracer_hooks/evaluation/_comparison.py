"""Two attributors on the same failures of one's own team: does one of them name more steps?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import comb

from pydantic import Field

from tracer_hooks._folds import grouped_folds
from tracer_hooks.diagnosis import Attributor
from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.evaluation._adaptation import (
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
    hits_of,
    method_rows,
    position_prior,
)
from tracer_hooks.evaluation._cases import question_of, without_reference
from tracer_hooks.schema import LabeledTrajectory, Record, Text

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
