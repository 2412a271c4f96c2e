"""Intervals and the sequential test, against known values and against chance."""

from __future__ import annotations

import itertools
import random

import pytest

from tracer_hooks.replay import SequentialTest, difference_interval, wilson


def test_wilson_has_the_known_values() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = wilson(8, 10)
    assert (low, high) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)


def test_the_interval_of_a_difference_is_newcombes() -> None:
    # Newcombe 1998, Table II, method 10: 56/70 and 48/80; 9/10 and 3/10; 10/10 and 0/10.
    assert difference_interval((56, 70), (48, 80)) == pytest.approx((0.0524, 0.3339), abs=1e-4)
    assert difference_interval((9, 10), (3, 10)) == pytest.approx((0.1705, 0.8090), abs=1e-4)
    assert difference_interval((10, 10), (0, 10)) == pytest.approx((0.6075, 1.0), abs=1e-4)
    low, high = difference_interval((0, 0), (0, 0))  # without trials it says nothing
    assert (low < -0.6, high > 0.6) == (True, True)


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_evidence_is_no_more_than_1_on_average_while_there_is_no_effect(rate: float) -> None:
    """Exactly, over every outcome of four pairs: that is what makes it safe to look after each pair."""
    mean = 0.0
    for outcome in itertools.product((False, True), repeat=8):
        test = SequentialTest(max_pairs=4)
        chance = 1.0
        for flipped, control in zip(outcome[::2], outcome[1::2], strict=True):
            test.add(flipped, control)
            chance *= (rate if flipped else 1 - rate) * (rate if control else 1 - rate)
        mean += chance * test.e_value
    assert mean <= 1.0 + 1e-9


def test_false_alarms_stay_below_alpha_however_often_one_looks() -> None:
    chance, alarms = random.Random(1), 0
    for _ in range(2_000):
        test = SequentialTest(alpha=0.05, max_pairs=30)
        for _ in range(30):
            test.add(chance.random() < 0.4, chance.random() < 0.4)
            if test.is_significant:
                alarms += 1
                break
    assert alarms / 2_000 < 0.05


def test_a_clean_effect_takes_three_pairs() -> None:
    test = SequentialTest()
    for pairs in (1, 2, 3):
        test.add(True, False)
        assert test.is_significant == (pairs == 3)
    assert test.pairs == 3


def test_futile_is_said_only_when_the_rest_could_not_help() -> None:
    for outcome in itertools.product((False, True), repeat=6):
        test = SequentialTest(max_pairs=5)
        for flipped, control in zip(outcome[::2], outcome[1::2], strict=True):
            test.add(flipped, control)
        was_futile = test.is_futile
        for _ in range(2):
            test.add(True, False)
        assert test.is_significant == (not was_futile)


def test_an_effect_the_wrong_way_round_is_none() -> None:
    test = SequentialTest(max_pairs=20)
    for _ in range(20):
        test.add(False, True)
    assert test.e_value < 0.01
