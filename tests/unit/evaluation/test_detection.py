import numpy as np
import pytest

from tracer_hooks.evaluation._measures import Resampling
from tracer_hooks.evaluation._methods import Answer
from tracer_hooks.evaluation._scores import DetectedRuns
from tracer_hooks.evaluation._sections import detection_section, separation
from tracer_hooks.schema import Attribution, RunOutcome

from .._known import known
from ._runs import abstention, answer, case, run

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
