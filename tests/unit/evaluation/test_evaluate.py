"""Evaluations as a whole, and the folds that they are made in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.diagnosis import Attributor
from tracer_hooks.diagnosis._protocol import FitReport
from tracer_hooks.errors import ConfigError, MissingExtraError
from tracer_hooks.evaluation import (
    EvaluationData,
    EvaluationOptions,
    EvaluationReport,
    StepRow,
    cross_validate,
    evaluate,
    grouped_folds,
)
from tracer_hooks.schema import AgentFault, Attribution, ErrorMode, LabeledTrajectory, RunOutcome, Trajectory, Usage

from .._known import known
from ._runs import M11, Scripted, abstention, answer, blames, case, fit_report, labeled, run

QUICK = EvaluationOptions(draws=20)


def data(count: int = 6, **fields: Any) -> EvaluationData:
    """Runs of four steps; the label is step 1 in the first half, step 2 in the second."""
    runs = [
        labeled(run(*"ABCB", run_id=str(k), reference="42"), "B" if k < count // 2 else "C", 1 + (k >= count // 2),
                question=f"q{k}", **fields)
        for k in range(count)
    ]  # fmt: skip
    return EvaluationData.of(runs)


def row(report: EvaluationReport, name: str = "scripted", group: int = 0, *, told: bool = False) -> StepRow:
    steps = known(report.groups[group].steps)
    (found,) = [one for one in steps.rows if one.name == name and one.told_reference is told]
    return found


def value(report: EvaluationReport, metric: str, **which: Any) -> float:
    return row(report, **which).measures[metric].value


def test_figures_of_an_attributor_and_of_every_row_that_reads_nothing() -> None:
    report = evaluate(data(), blames(1), QUICK)
    assert (report.runs, report.attributors) == (6, {"scripted": "scripted/1"})
    assert [value(report, metric) for metric in ("agent", "step", "joint", "within_1")] == [0.5, 0.5, 0.5, 1]
    assert value(report, "step", name="always step 1") == 0.5
    assert value(report, "step", name="random, exact expectation") == 0.25
    steps = known(report.groups[0].steps)
    assert [one.is_baseline for one in steps.rows] == [False] + [True] * 9
    assert all(one.cost is None and one.calibration is None for one in steps.rows[1:])


def test_abstentions_and_failures_are_wrong_answers_and_failures_are_listed() -> None:
    def say(trajectory: Trajectory) -> Attribution:
        if trajectory.run_id == "0":
            return abstention()
        if trajectory.run_id == "1":
            raise RuntimeError("broken")
        if trajectory.run_id == "2":
            return answer("Ghost", 1)  # no such agent
        return answer("C", 2)

    report = evaluate(data(), Scripted(say), EvaluationOptions(draws=0, detection=False))
    assert [value(report, metric) for metric in ("step", "answered", "step_answered")] == [0.5, 0.5, 1]
    assert [problem.source for problem in report.problems] == ["1", "2"]
    assert "broken" in report.problems[0].reason
    assert "Ghost" in report.problems[1].reason


def test_the_answer_is_withheld_unless_asked_for() -> None:
    scripted = blames(1)
    report = evaluate(data(), scripted, EvaluationOptions(draws=0, with_reference=True))
    assert all(trajectory.reference is None for trajectory, _ in scripted.seen)
    assert [reference for _, reference in scripted.seen] == [None] * 6 + ["42"] * 6 + [None] * 6
    assert row(report, told=True).measures == row(report).measures
    assert any("6 of 6 runs have an expected answer" in note for note in report.notes)


def test_the_outcome_is_told_for_accuracy_and_withheld_for_detection() -> None:
    def say(trajectory: Trajectory) -> Attribution:
        return answer("A", 0) if trajectory.outcome is RunOutcome.FAILED else abstention()

    scripted = Scripted(say)
    runs = [labeled(run("A", run_id="f", outcome_reason="check: no"), "A", 0, question="f"),
            labeled(run("A", run_id="p", outcome=RunOutcome.SUCCEEDED), question="p")]  # fmt: skip
    report = evaluate(EvaluationData.of(runs), scripted, QUICK)
    assert value(report, "step") == 1
    withheld = [trajectory for trajectory, _ in scripted.seen if trajectory.outcome is RunOutcome.UNKNOWN]
    assert [(one.run_id, one.outcome_reason) for one in withheld] == [("f", None), ("p", None)]
    found = known(report.groups[0].detection)
    assert [(one.outcome_told, one.attributed and one.attributed.value) for one in found.rows] == [
        (False, 0),
        (True, 1),
    ]
    assert [one.false_alarms and one.false_alarms.value for one in found.rows] == [0, 0]


def test_without_detection_every_run_is_diagnosed_once_and_progress_is_told() -> None:
    scripted, told = blames(1), list[tuple[str, int, int]]()
    options = EvaluationOptions(draws=0, detection=False)
    report = evaluate(data(2), scripted, options, progress=lambda *one: told.append(one))
    assert len(scripted.seen) == 2
    assert report.groups[0].detection is None
    assert told == [("scripted", 1, 2), ("scripted", 2, 2)]


def test_several_groups_and_all_together() -> None:
    one = case(labeled(run(*"AB", run_id="1"), "A", 0, question="a"), group="one")
    two = [case(labeled(run(*"AB", run_id=str(k)), "B", 1, question=str(k)), group="two") for k in range(3)]
    report = evaluate(EvaluationData(dataset="trajectory", cases=(one, *two)), blames(1), QUICK)
    assert [(group.name, group.runs, group.questions) for group in report.groups] == [
        ("one", 1, 1), ("two", 3, 3), ("all", 4, 4),
    ]  # fmt: skip
    assert [value(report, "step", group=k) for k in range(3)] == [0, 1, 0.75]
    # priors are fitted within their group: in the first there is no other question to learn from
    assert [value(report, "step", name="position prior", group=k) for k in range(3)] == [1, 1, 1]


def test_the_comparison_is_with_the_best_row_that_reads_nothing() -> None:
    report = evaluate(data(), blames(0), QUICK)
    steps = known(report.groups[0].steps)
    (found,) = [one for one in steps.comparisons if one.metric == "step"]
    best = max(one.measures["step"].value for one in steps.rows if one.is_baseline)
    assert found.difference.value == pytest.approx(0 - best)
    assert value(report, "step", name=found.best) == best
    assert [one.metric for one in steps.comparisons] == ["agent", "step", "joint"]


def test_length_buckets_calibration_and_cost() -> None:
    def say(trajectory: Trajectory) -> Attribution:
        place = 1 if len(trajectory.steps) > 1 else 0
        return answer(
            trajectory.steps[place].agent, place, confidence=0.85, usage=Usage(input_tokens=10, output_tokens=2)
        )

    runs = [labeled(run(*("A" for _ in range(steps)), run_id=str(steps)), "A", 1, question=str(steps)) for steps in
            (4, 5, 10, 11, 17, 18, 92, 93)]  # fmt: skip
    found = row(evaluate(EvaluationData.of(runs), Scripted(say), QUICK))
    assert [(one.low, one.high, one.measures["step"].runs) for one in found.by_length] == [
        (1, 4, 1), (5, 10, 2), (11, 17, 2), (18, 30, 1), (51, 92, 1), (93, None, 1),
    ]  # fmt: skip
    assert known(found.calibration).ece == pytest.approx(0.15)
    assert found.cost is not None
    assert (found.cost.input_tokens, found.cost.output_tokens) == (10, 2)
    assert 0 <= found.cost.seconds_median <= found.cost.seconds_p95 < 5


def test_faults_are_scored_beside_their_own_rows() -> None:
    runs = [labeled(run("Node0", "Node1", run_id=str(k)), faults=[("Node0", M11)], question=str(k)) for k in range(4)]
    fault = AgentFault(agent="Node0", error_mode=M11, score=0.9)
    scripted = Scripted(lambda trajectory: answer("Node0", 0, faults=(fault,)))
    (group,) = evaluate(EvaluationData.of(runs), scripted, QUICK).groups
    assert group.steps is None
    assert group.faults is not None
    ours, *others = group.faults.rows
    assert [ours.measures[name].value for name in ("pair_micro", "pair_macro", "mode_micro_exact", "auc")] == [1] * 4
    assert group.faults.classes == {"pair": 1, "agent": 1, "mode": 1}
    assert [one.name for one in others] == [
        "random speaker and mode, exact expectation", "every speaker, every mode", "roster prior",
    ]  # fmt: skip
    assert "pair_macro" not in others[0].measures
    assert [one.metric for one in group.faults.comparisons] == ["pair_micro", "agent_micro", "mode_micro", "auc"]


def test_the_same_report_twice_and_through_json() -> None:
    def figures(report: EvaluationReport) -> Any:
        found = json.loads(report.model_dump_json())
        for group in found["groups"]:
            for one in group["steps"]["rows"]:
                one.pop("cost")
        return found

    first, second = evaluate(data(), blames(1), QUICK), evaluate(data(), blames(1), QUICK)
    assert figures(first) == figures(second)
    assert EvaluationReport.model_validate_json(first.model_dump_json()) == first


def test_what_is_missing_stops_everything() -> None:
    def say(trajectory: Trajectory) -> Attribution:
        raise MissingExtraError("the attributor", "tracer-hooks[models]")

    with pytest.raises(MissingExtraError):
        evaluate(data(), Scripted(say), QUICK)
    with pytest.raises(ConfigError, match="no run to evaluate"):
        evaluate(EvaluationData(dataset="trajectory"), blames(0))


class Learner(Scripted):
    """Learns which step is to blame: the labelled one of all it was fitted to, when they agree."""

    def __init__(self, step: int = 0) -> None:
        super().__init__(blames(step)._say, "learner")
        self.fits: list[list[LabeledTrajectory]] = []

    def fit(self, labeled: Sequence[LabeledTrajectory], *, seed: int = 0) -> tuple[Attributor, FitReport]:
        self.fits.append(list(labeled))
        steps = [one.decisive.step for one in labeled if one.decisive is not None]
        return Learner(max(steps, key=steps.count)), fit_report(len(labeled))

    def save(self, directory: Path) -> None:
        raise AssertionError("nobody saves during an evaluation")


def test_cross_validation_adds_a_fitted_row_that_never_saw_the_question() -> None:
    runs = [labeled(run(*"AB", run_id=str(k), reference="42"), "B", 1, question=f"q{k // 2}") for k in range(12)]
    learner = Learner()
    options = EvaluationOptions(draws=0, cross_validate=3)
    report = evaluate(EvaluationData.of(runs), {"learner": learner}, options)
    assert value(report, "step", name="learner") == 0
    assert value(report, "step", name="learner, fitted (3 folds)") == 1
    assert [len({one.question_id for one in shown}) for shown in learner.fits] == [4, 4, 4]
    assert all(one.trajectory.reference is None for shown in learner.fits for one in shown)
    left_out = [{f"q{k}" for k in range(6)} - {one.question_id for one in shown} for shown in learner.fits]
    assert sorted(question for one in left_out for question in one) == [f"q{k}" for k in range(6)]


def test_what_cannot_be_cross_validated() -> None:
    options = EvaluationOptions(draws=0, cross_validate=2)
    with pytest.raises(ConfigError, match="'scripted' cannot be fitted"):
        evaluate(data(), blames(1), options)
    graded = EvaluationData(dataset="graded", cases=(case(run("A"), dataset="graded"),))
    with pytest.raises(ConfigError, match="only graded"):
        evaluate(graded, Learner(), options)
    with pytest.raises(ConfigError, match="at least 2 folds"):
        EvaluationOptions(cross_validate=1)
    with pytest.raises(ConfigError, match="draws"):
        EvaluationOptions(draws=-1)


def test_intervals_come_from_the_draws_asked_for_and_modes_are_judged_where_one_is_labelled() -> None:
    without = row(evaluate(data(), blames(1), EvaluationOptions(draws=0))).measures["step"]
    assert (without.low, without.high) == (None, None)
    found = row(evaluate(data(), blames(1), EvaluationOptions(draws=200))).measures["step"]
    assert known(found.low) < found.value < known(found.high)
    runs = [labeled(run(*"AB", run_id=str(k)), "A", 0, mode=M11 if k else None, question=str(k)) for k in range(3)]
    scripted = Scripted(lambda trajectory: answer("B", 1, error_mode=ErrorMode.FM_1_1))
    mode = row(evaluate(EvaluationData.of(runs), scripted, QUICK)).measures["mode"]
    assert (mode.value, mode.runs) == (1, 2)


def test_questions_stay_together_and_folds_are_even() -> None:
    questions = [f"q{k % 10}" for k in range(40)]
    folds = grouped_folds(questions, 5, seed=1)
    assert len({(question, fold) for question, fold in zip(questions, folds, strict=True)}) == 10
    assert sorted(folds) == sorted(list(range(5)) * 8)
    own = [f"q{k % 6}" for k in range(12)]
    assert grouped_folds(own, 3, shuffle=list.reverse) == [2, 1, 0, 2, 1, 0] * 2, "an order of one's own is dealt out"


def test_every_fold_gets_its_share_of_every_stratum_and_the_seed_decides() -> None:
    questions = [f"q{k}" for k in range(20)]
    strata = ["one"] * 10 + ["two"] * 10
    folds = grouped_folds(questions, 5, seed=3, strata=strata)
    assert [sorted(folds[:10]), sorted(folds[10:])] == [sorted(list(range(5)) * 2)] * 2
    assert folds == grouped_folds(questions, 5, seed=3, strata=strata)
    assert folds != grouped_folds(questions, 5, seed=4, strata=strata)


@pytest.mark.parametrize("folds", [1, 4])
def test_too_few_questions(folds: int) -> None:
    with pytest.raises(ConfigError, match=f"cannot make {folds} folds of 3 questions"):
        grouped_folds(["a", "b", "c", "c"], folds)


@pytest.mark.parametrize("has_questions", [True, False], ids=["questions", "the task groups"])
def test_nobody_is_judged_on_a_question_that_it_was_fitted_to(has_questions: bool) -> None:
    tasks = [f"q{k // 2}" for k in range(12)]
    runs = [
        labeled(
            run("A", "B", run_id=str(k), task=task, reference="42"), "A", 0, question=task if has_questions else None
        )
        for k, task in enumerate(tasks)
    ]
    calls: list[set[str]] = []

    def fit(shown: list[LabeledTrajectory]) -> Attributor:
        assert all(one.trajectory.reference is None for one in shown)
        known = {one.trajectory.task for one in shown}
        calls.append(known)
        return Scripted(lambda trajectory: answer("A", 0, attributor=",".join(sorted(known))))

    answers = cross_validate(runs, fit, folds=3, seed=0)  # type: ignore[arg-type]
    assert [len(known) for known in calls] == [4, 4, 4]
    for one, said in zip(runs, answers, strict=True):
        assert one.trajectory.task not in said.attributor.split(",")
