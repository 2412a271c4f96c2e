"""The formulas against figures worked out by hand."""

import math

import numpy as np
import pytest

from tracer_hooks.diagnosis.contrast import Formula, famas, scaled, suspiciousness

# Three failing and five passing runs. In all failing and no passing run; in all; in 2 failing and 1 passing; in passing
# runs only; in no run at all.
EF = np.array([3.0, 3.0, 2.0, 0.0, 0.0])
EP = np.array([0.0, 5.0, 1.0, 4.0, 0.0])
BY_HAND = {
    Formula.OCHIAI: [1.0, 3 / math.sqrt(24), 2 / 3, 0.0, 0.0],
    Formula.TARANTULA: [1.0, 0.5, (2 / 3) / (2 / 3 + 1 / 5), 0.0, 0.0],
    Formula.JACCARD: [1.0, 3 / 8, 2 / 4, 0.0, 0.0],
    Formula.DSTAR: [math.inf, 9 / 5, 4 / 2, 0.0, 0.0],
    Formula.KULCZYNSKI2: [1.0, (1 + 3 / 8) / 2, 2 / 3, 0.0, 0.0],
    Formula.OP2: [3.0, 3 - 5 / 6, 2 - 1 / 6, -4 / 6, 0.0],
}


@pytest.mark.parametrize("formula", BY_HAND)
def test_published_formulas(formula) -> None:
    found = suspiciousness(formula, EF, EP, failing=3, passing=5)
    assert found == pytest.approx(BY_HAND[formula])


@pytest.mark.parametrize("formula", BY_HAND)
def test_scaling_keeps_the_order_and_the_range(formula) -> None:
    raw = suspiciousness(formula, EF, EP, failing=3, passing=5)
    found = scaled(formula, raw, failing=3)
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    assert [int(np.argmax(raw)), found[0] > found[2]] == [int(np.argmax(found)), True]


def test_without_passing_runs_nothing_is_divided_by_zero() -> None:
    for formula in Formula:
        assert not np.isnan(suspiciousness(formula, np.array([1.0, 0.0]), np.zeros(2), failing=1, passing=0)).any()


def test_famas_by_hand() -> None:
    # Columns: the judged run and another failing one, then two passing runs. The element occurs 2, 0, 1, 0 times; its
    # agent acts 4, 3, 2, 0 times.
    found = famas(
        np.array([[2.0, 0.0, 1.0, 0.0]]),
        np.array([[4.0, 3.0, 2.0, 0.0]]),
        np.array([True, True, False, False]),
        subject=0,
        decay=0.9,
    )
    ef, ep, without = 0.9, 1.0, 1
    k2 = 0.5 * (ef / (ef + without) + ef / (ef + ep))
    alpha, beta, gamma = 1 + math.log(2) / math.log(1 / 0.9), 3 / 9, 2 / 3
    assert found == pytest.approx([alpha * k2 * (1 + beta) * (1 + gamma)])


def test_famas_of_an_element_that_no_run_contains_is_zero() -> None:
    assert famas(np.zeros((1, 2)), np.zeros((1, 2)), np.array([True, False]), subject=0) == pytest.approx([0.0])
