"""What fitting to a team's own labels gains, measured on questions that were left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tracer_hooks.diagnosis import Attributor, FitReport
from tracer_hooks.errors import AttributionError, ConfigError
from tracer_hooks.evaluation import AdaptationReport, AdaptationRow, Measure, adaptation, training_labels
from tracer_hooks.evaluation._adaptation import (
    AGENT,
    INJECTED,
    NATURAL,
    ON_BOTH,
    ON_INJECTED,
    ON_NATURAL,
    POSITION,
    SHIPPED,
)
from tracer_hooks.schema import Attribution, Candidate, LabeledTrajectory, LabelSource, Trajectory

from .._known import known
from ._runs import blames, failure, fit_report


class Learner:
    """Names the step that it was told for a question, else a fixed one; remembers what it was fitted to."""

    name = "learner"

    def __init__(self, answer: int = 0, seen: Sequence[LabeledTrajectory] = ()) -> None:
        self.answer = answer
        self.seen = {one.question_id for one in seen}
        self.judged: set[str] = set()

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        assert reference is None
        assert trajectory.reference is None, "the expected answer is withheld"
        assert trajectory.task not in self.seen, "it was fitted to this very question"
        step = trajectory.steps[self.answer]
        return Attribution(
            run_id=trajectory.run_id,
            abstained=True,
            candidates=(Candidate(agent=step.agent, step=step.index, score=0.4),),
        )

    def fit(self, labeled: Sequence[LabeledTrajectory], *, seed: int = 0) -> tuple[Attributor, FitReport]:
        if len({one.question_id for one in labeled}) < 2:
            raise AttributionError("too few questions")
        steps = [one.decisive.step for one in labeled if one.decisive is not None]
        return Learner(max(set(steps), key=steps.count), labeled), fit_report(len(labeled))

    def save(self, directory: Path) -> None:
        raise AssertionError("nothing is to be saved")


def labels() -> list[LabeledTrajectory]:
    """Injected faults at the solver; natural failures of the checker."""
    injected = [failure(f"q{i}", 1) for i in range(12)]
    return injected + [failure(f"n{i}", 2, LabelSource.COUNTERFACTUAL) for i in range(10)]


def test_every_failure_is_judged_by_what_was_learnt_from_other_questions() -> None:
    report = adaptation(labels(), Learner(), folds=4, draws=200)
    assert report.labels == {INJECTED: 12, NATURAL: 10}
    assert (report.questions, report.folds) == (22, 4)
    values = {(row.method, row.group): (row.step.value, row.agent.value) for row in report.rows}
    assert values[SHIPPED, INJECTED] == (0.0, 0.0)
    assert values[ON_INJECTED, INJECTED] == (1.0, 1.0)
    assert values[ON_INJECTED, NATURAL] == (0.0, 0.0)
    assert values[ON_NATURAL, NATURAL] == (1.0, 1.0)
    assert values[ON_BOTH, INJECTED] == (1.0, 1.0)
    assert values[POSITION, INJECTED] == values[AGENT, INJECTED] == (1.0, 1.0)
    assert values[POSITION, NATURAL] == values[AGENT, NATURAL] == (1.0, 1.0), "counted among natural failures alone"


def test_the_gain_is_over_the_attributor_as_shipped_and_what_a_fit_puts_right_and_wrong_is_counted() -> None:
    report = adaptation(labels(), Learner(1), folds=4, draws=200)
    gain = known(known(report.row(ON_NATURAL, NATURAL)).step_gain)
    assert (gain.value, gain.low, gain.high) == (1.0, 1.0, 1.0)
    assert known(report.row(SHIPPED, NATURAL)).step_gain is None
    counts = {(row.method, row.group): (row.righted, row.wronged) for row in report.rows}
    assert counts[ON_NATURAL, NATURAL] == (10, 0)
    assert counts[ON_NATURAL, INJECTED] == (0, 12)
    assert counts[SHIPPED, NATURAL] == (None, None)


def test_weak_labels_are_learnt_from_and_judge_nobody() -> None:
    weak = [one.model_copy(update={"weight": 0.6}) for one in labels()[12:]]
    report = adaptation([*labels()[:12], *weak], Learner(), folds=4, draws=50)
    assert report.labels == {INJECTED: 12}
    assert report.weak == 10
    assert {row.group for row in report.rows} == {INJECTED}
    assert report.judged_on == INJECTED
    assert report.row(ON_NATURAL, INJECTED) is not None, "fitted to them all the same"


def test_natural_failures_decide_what_is_kept_however_few() -> None:
    report = adaptation(labels(), Learner(), folds=4, draws=50)
    assert (report.judged_on, report.best) == (NATURAL, ON_NATURAL)
    few = adaptation(labels()[:-3], Learner(), folds=4, draws=50)
    assert few.judged_on == NATURAL
    assert few.best != ON_INJECTED, "that one names none of the natural failures"
    none = adaptation(labels()[:12], Learner(), folds=4, draws=50)
    assert (none.judged_on, none.best) == (INJECTED, ON_INJECTED)
    right = adaptation(labels(), Learner(2), folds=4, draws=50)
    assert right.best == SHIPPED, "it names the step of all natural failures as it is"


def table(**steps: tuple[float, float]) -> AdaptationReport:
    """Exact steps in natural failures and injected faults, by method."""
    names = {"shipped": SHIPPED, "injected": ON_INJECTED, "natural": ON_NATURAL, "both": ON_BOTH}
    rows = [
        AdaptationRow(
            method=names[name], group=group, step=Measure(value=value, runs=9), agent=Measure(value=value, runs=9)
        )
        for name, both in steps.items()
        for group, value in zip((NATURAL, INJECTED), both, strict=True)
    ]
    return AdaptationReport(rows=tuple(rows), labels={NATURAL: 6, INJECTED: 30}, questions=30, folds=5, seed=0)


def test_the_fit_to_both_is_kept_unless_another_one_does_better_on_natural_failures() -> None:
    same = table(shipped=(0.5, 0.3), injected=(0.6, 0.9), natural=(0.8, 0.9), both=(0.8, 0.9))
    assert same.best == ON_BOTH
    assert table(shipped=(0.5, 0.3), injected=(0.0, 1.0), both=(0.8, 0.7)).best == ON_BOTH
    assert table(shipped=(0.5, 0.3), injected=(0.9, 1.0), both=(0.8, 1.0)).best == ON_INJECTED
    assert table(shipped=(0.5, 0.3), injected=(0.4, 1.0), both=(0.4, 1.0)).best == SHIPPED
    assert table(shipped=(0.5, 0.3), injected=(0.5, 0.3), both=(0.5, 0.3)).best == SHIPPED


@pytest.mark.parametrize(
    ("righted", "wronged", "kept"),
    [
        (0, 0, ON_BOTH),
        (1, 0, ON_BOTH),
        (2, 1, SHIPPED),
        (3, 1, ON_BOTH),
        (4, 2, SHIPPED),
        (5, 2, ON_BOTH),
        (2, 2, SHIPPED),
    ],
)
def test_a_fit_that_harms_half_as_often_as_it_helps_is_not_kept(righted: int, wronged: int, kept: str) -> None:
    plain = table(shipped=(0.5, 0.3), both=(0.5 + (righted - wronged) / 20, 0.9))
    counted = {"righted": righted, "wronged": wronged}
    rows = [row.model_copy(update=counted) if row.method == ON_BOTH else row for row in plain.rows]
    assert plain.model_copy(update={"rows": tuple(rows)}).best == kept


def test_each_method_has_its_labels_and_one_kind_is_not_called_both() -> None:
    counts = [len(training_labels(labels(), method)) for method in (ON_INJECTED, ON_NATURAL, ON_BOTH)]
    assert counts == [12, 10, 22]
    report = adaptation(labels()[:12], Learner(), folds=3, draws=50)
    assert {row.method for row in report.rows} & {ON_INJECTED, ON_NATURAL, ON_BOTH} == {ON_INJECTED}


def test_each_fold_is_reported_and_there_are_no_more_than_questions() -> None:
    seen: list[tuple[int, int]] = []
    adaptation(labels(), Learner(), folds=2, draws=10, on_fold=lambda done, of: seen.append((done, of)))
    assert seen == [(1, 2), (2, 2)]
    few = adaptation(labels()[:3], Learner(), folds=5, draws=10)
    assert few.folds == 3
    assert few == adaptation(labels()[:3], Learner(), folds=5, draws=10), "the same seed gives the same report"


def test_an_attributor_that_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(ConfigError, match="'scripted' cannot be fitted"):
        adaptation(labels(), blames(1))
