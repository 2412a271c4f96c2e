"""Intervals by resampling, calibration, and the rates of detection."""

import numpy as np
import pytest

from tracer_hooks.evaluation import calibrate
from tracer_hooks.evaluation._report import Resampling
from tracer_hooks.evaluation._scores import Answer, DetectedRuns, detection_section, separation
from tracer_hooks.schema import Attribution, RunOutcome

from .._known import known
from ._runs import abstention, answer, case, run


def array(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


@pytest.mark.parametrize(
    ("questions", "draws", "values", "mean"),
    [("abc", 100, (1, np.nan, 0), (0.5, 2)), ("aaa", 100, (1, 0, 1), (2 / 3, 3)), ("abc", 0, (1, 0, 1), (2 / 3, 3))],
    ids=["known values", "one question", "no draws"],
)
def test_the_mean_is_over_known_values_and_has_an_interval_where_questions_are_drawn(
    questions: str, draws: int, values: tuple[float, ...], mean: tuple[float, int]
) -> None:
    found = known(Resampling(list(questions), draws=draws, seed=0).mean(array(*values)))
    assert (found.value, found.runs) == (pytest.approx(mean[0]), mean[1])
    assert (found.low is None) == (found.high is None) == (mean[1] == 3)
    assert Resampling(["a"], draws=10, seed=0).mean(array(np.nan)) is None


def test_a_constant_has_no_width_and_intervals_hold_the_value() -> None:
    resampling = Resampling([str(k) for k in range(50)], draws=500, seed=0)
    found = known(resampling.mean(np.ones(50)))
    assert (found.low, found.value, found.high) == (1, 1, 1)
    half = known(resampling.mean(np.arange(50) % 2.0))  # type: ignore[arg-type]
    # the interval of 25 of 50 is about 0.5 +- 1.96 * sqrt(0.25 / 50)
    assert known(half.low) == pytest.approx(0.36, abs=0.04)
    assert known(half.high) == pytest.approx(0.64, abs=0.04)


def test_runs_of_one_question_are_drawn_together() -> None:
    right = array(*([1.0] * 50), *([0.0] * 50))
    alone = Resampling([str(k) for k in range(100)], draws=500, seed=0).mean(right)
    together = known(Resampling(["a"] * 50 + ["b"] * 50, draws=500, seed=0).mean(right))
    assert (together.low, together.high) == (0, 1)
    assert known(known(alone).low) > 0.35


def test_the_same_seed_draws_the_same() -> None:
    questions, values = [str(k) for k in range(20)], np.arange(20) % 3.0
    one, same, other = (Resampling(questions, draws=200, seed=seed).mean(values) for seed in (1, 1, 2))  # type: ignore[arg-type]
    assert one == same != other


def test_differences_are_paired() -> None:
    resampling = Resampling([str(k) for k in range(40)], draws=500, seed=0)
    ours, theirs = np.arange(40) % 2.0, np.arange(40) % 2.0
    same = known(resampling.difference(ours, theirs))  # type: ignore[arg-type]
    assert (same.low, same.value, same.high) == (0, 0, 0)  # although each alone is uncertain
    better = known(resampling.difference(ours, np.zeros(40)))  # type: ignore[arg-type]
    assert known(better.low) > 0


def test_ratios_of_sums() -> None:
    resampling = Resampling(["a", "b"], draws=200, seed=0)
    found = known(resampling.ratio(array(2, 0), array(2, 2)))
    assert (found.value, found.low, found.high) == (0.5, 0, 1)
    assert resampling.ratio(array(0, 0), array(0, 0)) is None
    difference = known(resampling.ratio_difference((array(2, 2), array(2, 2)), (array(1, 1), array(2, 2))))
    assert difference.value == 0.5


def test_classes_are_counted_in_every_draw() -> None:
    resampling = Resampling(["a", "b", "a"], draws=50, seed=3)
    counts = resampling.tallied(np.array([0, 1, 2, 2]), np.array([0, 1, 0, 1]), 2)
    drawn = resampling.by_run()
    assert counts[:, 0].tolist() == (drawn[:, 0] + drawn[:, 2]).tolist()
    assert counts[:, 1].tolist() == (drawn[:, 1] + drawn[:, 2]).tolist()


def test_by_hand() -> None:
    found = known(calibrate([0.25, 0.25, 0.85, 0.85], [0, 1, 1, 1]))
    assert found.ece == pytest.approx((2 * abs(0.25 - 0.5) + 2 * abs(0.85 - 1)) / 4)
    assert found.brier == pytest.approx((0.25**2 + 0.75**2 + 2 * 0.15**2) / 4)
    assert (found.confidence, found.accuracy, found.runs) == (pytest.approx(0.55), 0.75, 4)
    assert [one.runs for one in found.bins] == [0, 0, 2, 0, 0, 0, 0, 0, 2, 0]
    assert found.bins[2].accuracy == 0.5
    assert found.bins[0].confidence is None


@pytest.mark.parametrize(
    ("confidence", "place"), [(0.0, 0), (0.0999, 0), (0.1, 1), (0.3, 3), (0.7, 7), (0.9, 9), (0.99, 9), (1.0, 9)]
)
def test_a_bin_holds_its_beginning_and_the_last_one_holds_one(confidence: float, place: int) -> None:
    found = known(calibrate([confidence], [1]))
    assert [one.runs for one in found.bins].index(1) == place
    assert found.bins[place].low <= confidence


def test_perfect_and_worst_and_nothing_answered() -> None:
    perfect, worst = known(calibrate([1.0, 0.0], [1, 0])), known(calibrate([1.0, 0.0], [0, 1]))
    assert (perfect.ece, perfect.brier, worst.ece, worst.brier) == (0, 0, 1, 1)
    assert calibrate([], []) is None


PASS, FAIL, UNKNOWN = RunOutcome.SUCCEEDED, RunOutcome.FAILED, RunOutcome.UNKNOWN


def section(outcomes: list[RunOutcome], said: list[Attribution | None]):
    cases = [case(run("A", run_id=str(k), outcome=outcome), dataset="graded") for k, outcome in enumerate(outcomes)]
    rows = [DetectedRuns(name="x", told=False, answers=[Answer(attribution=one, seconds=0) for one in said])]
    resampling = Resampling([str(k) for k in range(len(cases))], draws=50, seed=0)
    return detection_section(cases, rows, np.ones(len(cases), dtype=np.bool_), resampling)


def test_rates_by_hand() -> None:
    blamed, silent = answer("A", 0), abstention()
    found = section([PASS, PASS, PASS, FAIL, FAIL, UNKNOWN], [blamed, silent, silent, blamed, silent, blamed])
    assert (found.passes, found.failures) == (3, 2)
    (row,) = found.rows
    assert (row.false_alarms.value, row.false_alarms.runs) == (pytest.approx(1 / 3), 3)
    assert (row.attributed.value, row.attributed.runs) == (0.5, 2)


def test_a_failed_attributor_blames_nobody_and_only_failures_give_no_rate_of_false_alarms() -> None:
    (row,) = section([PASS, FAIL], [None, None]).rows
    assert (row.false_alarms.value, row.attributed.value, row.separation.value) == (0, 0, 0.5)
    (row,) = section([FAIL, FAIL], [answer("A", 0), abstention()]).rows
    assert (row.false_alarms, row.separation, row.attributed.value) == (None, None, 0.5)
    assert section([UNKNOWN], [answer("A", 0)]) is None


def test_separation_by_hand() -> None:
    failed = np.array([True, True, False, False])
    confidences = np.array([0.9, 0.3, 0.3, 0.0])
    found = known(separation(confidences, failed, ~failed, Resampling(list("abcd"), draws=100, seed=0)))
    assert found.value == (1 + 1 + 0.5 + 1) / 4
    assert known(found.low) <= found.value <= known(found.high)
