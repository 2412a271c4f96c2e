"""Intervals, the sequential test and the belief over steps, against known values and against chance."""

from __future__ import annotations

import itertools
import random

import pytest

from tracer_hooks.replay import SequentialTest, StepBelief, difference_interval, wilson
from tracer_hooks.schema import Attribution, Candidate


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


def blame(**scores: float) -> Attribution:
    named = {int(name[1:]): score for name, score in scores.items()}
    step, confidence = next(iter(named.items()))
    candidates = tuple(Candidate(agent="a", step=s, score=score) for s, score in named.items())
    return Attribution(run_id="r", agent="a", step=step, confidence=confidence, candidates=candidates)


def test_half_of_the_belief_is_the_attributors_and_half_is_spread() -> None:
    belief = StepBelief.of(range(4), blame(s2=0.6, s1=0.2))
    # Half of 0.2, 0.6 and of what the diagnosis leaves open, a fifth, on four steps; half of a quarter for each.
    assert [belief.probability(step) for step in range(4)] == pytest.approx([0.15, 0.25, 0.45, 0.15])
    sure = StepBelief.of(range(4), blame(s2=0.9, s1=0.9))
    assert sure.probability(2) == pytest.approx(0.375), "scores that are no probabilities are shares"


@pytest.mark.parametrize("attribution", [None, blame(s9=0.8), Attribution(run_id="r", abstained=True)])
def test_without_a_usable_diagnosis_all_steps_are_alike(attribution: Attribution | None) -> None:
    belief = StepBelief.of([3, 1, 1], attribution)
    assert belief.steps == (1, 3)
    assert [belief.probability(step) for step in (1, 2, 3)] == [0.5, 0.0, 0.5]


def test_no_steps_no_belief() -> None:
    belief = StepBelief.of([], blame(s1=0.5))
    assert (belief.probability(0), belief.steps) == (0.0, ())


def test_runs_of_a_team_whose_rates_are_not_known() -> None:
    before = StepBelief.of(range(4))
    assert before.after({}).steps == before.steps
    assert before.after({}).probability(2) == pytest.approx(0.25)
    after = before.after({1: (10, 6), 2: (10, 0)})  # asked again at step 1 it passes, kept it never does
    assert after.probability(1) > 0.9
    poor = before.after({1: (10, 3), 2: (10, 0)})  # also of a team that seldom passes
    assert 0.5 < poor.probability(1) < after.probability(1)
    assert before.after({4: (10, 9)}).probability(0) == pytest.approx(0.25), "every step was kept: it says nothing"


def test_many_runs_overflow_nothing() -> None:
    belief = StepBelief.of(range(3)).after({1: (100_000, 60_000), 2: (100_000, 0)})
    assert belief.probability(1) == pytest.approx(1.0)
