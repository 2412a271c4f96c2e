"""Fits to a team beside simple priors, and two attributors side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.diagnosis import Attributor, FitReport
from tracer_hooks.errors import AttributionError, ConfigError, OutputParseError
from tracer_hooks.evaluation import Measure
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
from tracer_hooks_lab import (
    NATURAL,
    SHIPPED,
    AdaptationReport,
    AdaptationRow,
    RivalReport,
    adaptation,
    compare_attributors,
    held_out_apart,
    training_labels,
)
from tracer_hooks_lab._adaptation import AGENT, INJECTED, ON_BOTH, ON_INJECTED, ON_NATURAL, POSITION

AGENTS = ("planner", "solver", "checker")


def failure(
    question: str, gold: int = 1, source: LabelSource = LabelSource.INJECTED, **fields: Any
) -> LabeledTrajectory:
    """A failed run of three agents, with the answer that an attributor must not see."""
    steps = tuple(Step(index=i, agent=agent, content=f"{agent} on {question}") for i, agent in enumerate(AGENTS))
    return LabeledTrajectory(
        trajectory=Trajectory(
            run_id=f"{question}-{source}-{fields}",
            team="team",
            task=question,
            steps=steps,
            outcome=RunOutcome.FAILED,
            reference="the expected answer",
        ),
        decisive=DecisiveStep(agent=AGENTS[gold], step=gold),
        label_source=source,
        **{"question_id": question, **fields},
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
        return Learner(max(set(steps), key=steps.count), labeled), FitReport(
            trajectories=len(labeled),
            questions=1,
            shipped_step=0,
            shipped_agent=0,
            fitted_step=0,
            fitted_agent=0,
            chosen="",
        )

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
    natural = report.row(ON_NATURAL, NATURAL)
    assert natural is not None
    gain = natural.step_gain
    assert gain is not None
    assert (gain.value, gain.low, gain.high) == (1.0, 1.0, 1.0)
    shipped = report.row(SHIPPED, NATURAL)
    assert shipped is not None
    assert shipped.step_gain is None
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
    with pytest.raises(ConfigError, match="'names' cannot be fitted"):
        adaptation(labels(), Names(lambda _: 1))


def failed(number: int, gold: int = 1, source: LabelSource = LabelSource.INJECTED, **more: object) -> LabeledTrajectory:
    return failure(f"question {number}", gold, source, **more)


class Names:
    """Names the step that a function gives for the number in the task; -1 is a reply that cannot be used."""

    name = "names"

    def __init__(self, step: Callable[[int], int]) -> None:
        self._step = step

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        assert reference is None
        assert trajectory.reference is None
        step = self._step(int(trajectory.task.split()[-1]))
        if step < 0:
            raise OutputParseError("no JSON", raw="?")
        return Attribution(run_id=trajectory.run_id, attributor=self.name, agent=AGENTS[step], step=step)


def compared(rival: Callable[[int], int], standard: Callable[[int], int], runs: list[LabeledTrajectory]) -> RivalReport:
    return compare_attributors(runs, {"rival": Names(rival), "standard": Names(standard)}, draws=50)


RUNS = [failed(number) for number in range(8)]


@pytest.mark.parametrize(("more", "is_better"), [(6, True), (5, False)])
def test_six_questions_to_none_are_enough_and_five_are_not(more: int, is_better: bool) -> None:
    found = compared(lambda number: 1 if number < more else 0, lambda number: 0, RUNS)
    assert (found.more, found.fewer, found.questions) == (more, 0, 8)
    assert found.chance == pytest.approx(2 / 2**more)
    assert (found.is_better, found.is_worse) == (is_better, False)


@pytest.mark.parametrize(
    ("runs", "standard", "more"), [([failed(1, verification={"n": n}) for n in range(20)], 0, 1), (RUNS, 1, 0)]
)
def test_many_runs_of_one_question_are_one_question_and_equal_rivals_differ_by_chance_only(
    runs: list[LabeledTrajectory], standard: int, more: int
) -> None:
    found = compared(lambda number: 1, lambda number: standard, runs)
    assert (found.more, found.fewer, found.chance, found.is_better) == (more, 0, 1.0, False)


def test_natural_failures_decide_however_few() -> None:
    runs = [*RUNS, failed(20, source=LabelSource.COUNTERFACTUAL)]
    found = compared(lambda number: 0 if number == 20 else 1, lambda number: 1 if number == 20 else 0, runs)
    assert found.judged_on == NATURAL
    assert (found.more, found.fewer, found.questions) == (0, 1, 1)
    assert found.labels == {INJECTED: 8, NATURAL: 1}
    assert not found.is_better


@pytest.mark.parametrize(("step", "unusable"), [(0, 0), (-1, 8)])
def test_a_reply_that_cannot_be_used_is_wrong_and_counted(step: int, unusable: int) -> None:
    found = compared(lambda number: step, lambda number: 1, RUNS)
    assert (found.unusable, found.is_worse, found.is_better) == (unusable, True, False)


@pytest.mark.parametrize(("learnt", "as_good"), [(RUNS, POSITION), ([failed(9, gold=2)], None)])
def test_a_prior_that_names_as_many_steps_is_told(learnt: list[LabeledTrajectory], as_good: str | None) -> None:
    rivals = {"rival": Names(lambda _: 1), "standard": Names(lambda _: 0)}
    report = compare_attributors(RUNS, rivals, learnt=learnt, draws=0)
    assert report.is_better
    assert report.as_good_unread == as_good


def test_weak_labels_are_not_judged_by() -> None:
    weak = failed(9, weight=0.6)
    assert compared(lambda _: 1, lambda _: 1, [*RUNS, weak]).labels == {INJECTED: 8}
    with pytest.raises(ConfigError, match="on 0 failures"):
        compared(lambda _: 1, lambda _: 1, [weak])


def test_a_third_of_the_questions_is_held_out_and_equal_tasks_stay_together() -> None:
    runs = [failed(number) for number in range(9)] + [
        failed(number, source=LabelSource.COUNTERFACTUAL) for number in range(20, 26)
    ]
    twin = runs[0].model_copy(update={"question_id": "another id, the same words"})
    weak = [failed(number, weight=0.6) for number in range(9)]
    weak += [failed(number, weight=0.6) for number in range(40, 80)]  # that have no proven label
    learnt, judged = held_out_apart([*runs, twin, *weak])
    tasks = [{one.trajectory.task for one in part} for part in (learnt, judged)]
    assert not tasks[0] & tasks[1]
    assert len(tasks[1]) == 5
    sources = [one.label_source for one in judged]
    assert sources.count(LabelSource.COUNTERFACTUAL) == 2
    assert not [one for one in judged if one.is_weak]
    assert held_out_apart([*runs, twin, *weak]) == (learnt, judged)
    assert [one for one in learnt if one.is_weak], "those of other questions are learnt from"
    with pytest.raises(ConfigError, match="3 folds of 2 questions"):
        held_out_apart(runs[:2])
