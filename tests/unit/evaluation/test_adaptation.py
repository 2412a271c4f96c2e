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
from tracer_hooks.schema import (
    Attribution,
    Candidate,
    DecisiveStep,
    LabeledTrajectory,
    LabelSource,
    RunOutcome,
    Step,
    Trajectory,
)

from .._known import known

AGENTS = ("planner", "solver", "checker")


def failed(question: str, gold: int, source: LabelSource = LabelSource.INJECTED) -> LabeledTrajectory:
    steps = tuple(Step(index=i, agent=agent, content=f"{agent} on {question}") for i, agent in enumerate(AGENTS))
    run = Trajectory(
        run_id=f"{question}-{source}",
        team="team",
        task=question,
        steps=steps,
        outcome=RunOutcome.FAILED,
        reference="the expected answer",
    )
    return LabeledTrajectory(
        trajectory=run,
        decisive=DecisiveStep(agent=AGENTS[gold], step=gold),
        label_source=source,
        question_id=question,
    )


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
        report = FitReport(
            trajectories=len(labeled),
            questions=1,
            shipped_step=0,
            shipped_agent=0,
            fitted_step=0,
            fitted_agent=0,
            chosen="the most frequent",
        )
        return Learner(max(set(steps), key=steps.count), labeled), report

    def save(self, directory: Path) -> None:
        raise AssertionError("nothing is to be saved")


def labels() -> list[LabeledTrajectory]:
    """Injected faults at the solver; natural failures of the checker."""
    injected = [failed(f"q{i}", 1) for i in range(12)]
    return injected + [failed(f"n{i}", 2, LabelSource.COUNTERFACTUAL) for i in range(10)]


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


def test_the_gain_is_over_the_attributor_as_shipped() -> None:
    report = adaptation(labels(), Learner(1), folds=4, draws=200)
    row = known(report.row(ON_NATURAL, NATURAL))
    assert row.step_gain is not None
    assert (row.step_gain.value, row.step_gain.low, row.step_gain.high) == (1.0, 1.0, 1.0)
    shipped = known(report.row(SHIPPED, NATURAL))
    assert shipped.step_gain is None


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
    assert report.judged_on == NATURAL
    assert report.best == ON_NATURAL
    few = adaptation(labels()[:-3], Learner(), folds=4, draws=50)
    assert few.judged_on == NATURAL
    assert few.best != ON_INJECTED, "that one names none of the natural failures"
    none = adaptation(labels()[:12], Learner(), folds=4, draws=50)
    assert (none.judged_on, none.best) == (INJECTED, ON_INJECTED)


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
    [(1, 0, ON_BOTH), (2, 1, SHIPPED), (3, 1, ON_BOTH), (4, 2, SHIPPED), (5, 2, ON_BOTH), (2, 2, SHIPPED)],
)
def test_a_fit_that_harms_half_as_often_as_it_helps_is_not_kept(righted: int, wronged: int, kept: str) -> None:
    plain = table(shipped=(0.5, 0.3), both=(0.5 + (righted - wronged) / 20, 0.9))
    rows = [
        row.model_copy(update={"righted": righted, "wronged": wronged}) if row.method == ON_BOTH else row
        for row in plain.rows
    ]
    assert plain.model_copy(update={"rows": tuple(rows)}).best == kept


def test_injected_faults_say_where_no_natural_failure_is_judged_otherwise() -> None:
    plain = table(shipped=(0.5, 0.3), both=(0.5, 0.9))
    rows = [row.model_copy(update={"righted": 0, "wronged": 0}) if row.group == NATURAL else row for row in plain.rows]
    assert plain.model_copy(update={"rows": tuple(rows)}).best == ON_BOTH


def test_what_a_fit_puts_right_and_wrong_is_counted() -> None:
    report = adaptation(labels(), Learner(1), folds=4, draws=50)
    counts = {(row.method, row.group): (row.righted, row.wronged) for row in report.rows}
    assert counts[ON_NATURAL, NATURAL] == (10, 0)
    assert counts[ON_NATURAL, INJECTED] == (0, 12)
    assert counts[SHIPPED, NATURAL] == (None, None)


def test_a_fit_that_is_no_better_is_not_kept() -> None:
    report = adaptation(labels(), Learner(2), folds=4, draws=50)
    assert report.best == SHIPPED, "it names the step of all natural failures as it is"


def test_each_method_has_its_labels() -> None:
    counts = [len(training_labels(labels(), method)) for method in (ON_INJECTED, ON_NATURAL, ON_BOTH)]
    assert counts == [12, 10, 22]


def test_one_kind_of_labels_is_not_called_both() -> None:
    report = adaptation(labels()[:12], Learner(), folds=3, draws=50)
    assert report.row(ON_BOTH, INJECTED) is None
    assert report.row(ON_NATURAL, INJECTED) is None
    assert report.row(ON_INJECTED, INJECTED) is not None


def test_the_same_seed_gives_the_same_report() -> None:
    assert adaptation(labels(), Learner(), seed=3, draws=50) == adaptation(labels(), Learner(), seed=3, draws=50)


def test_there_are_no_more_folds_than_questions() -> None:
    assert adaptation(labels()[:3], Learner(), folds=5, draws=10).folds == 3


def test_each_fold_is_reported() -> None:
    seen: list[tuple[int, int]] = []
    adaptation(labels(), Learner(), folds=2, draws=10, on_fold=lambda done, of: seen.append((done, of)))
    assert seen == [(1, 2), (2, 2)]


def test_an_attributor_that_cannot_be_fitted_is_refused() -> None:
    class Fixed:
        name = "fixed"

        def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
            return Attribution(run_id=trajectory.run_id)

    with pytest.raises(ConfigError, match="'fixed' cannot be fitted"):
        adaptation(labels(), Fixed())
