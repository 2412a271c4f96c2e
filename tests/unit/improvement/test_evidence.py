"""Evidence from paired differences: by hand, on average, and however often one looks."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracer_hooks.errors import ConfigError
from tracer_hooks.improvement import PairedEvidence

BETS = (0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
DIFFERENCES = st.lists(st.floats(-1, 1), max_size=30)


def evidence_of(differences: list[float], *, null: float = 0.0) -> PairedEvidence:
    evidence = PairedEvidence(null=null)
    for difference in differences:
        evidence.add(difference)
    return evidence


def averaged(wins: list[float]) -> float:
    return sum(math.prod(1 + bet * win for win in wins) for bet in BETS) / len(BETS)


def test_it_is_the_average_of_what_the_bets_win() -> None:
    assert evidence_of([1.0]).e_value == pytest.approx(1 + sum(BETS) / 6)
    assert evidence_of([1.0, -1.0]).e_value == pytest.approx(sum(1 - bet * bet for bet in BETS) / 6)
    assert evidence_of([0.0] * 9).e_value == pytest.approx(1.0)
    assert evidence_of([0.5, 0.25, -0.75]).e_value == pytest.approx(averaged([0.5, 0.25, -0.75]))


def test_another_mean_is_bet_against_in_its_own_scale() -> None:
    # The worst that can come is -1, which is 0.8 below -0.2: a stake of 1 is lost then, and 0.5 wins 0.7 / 0.8.
    assert evidence_of([0.5, -1.0], null=-0.2).e_value == pytest.approx(averaged([0.875, -1.0]))


@pytest.mark.parametrize(
    ("null", "chances"),
    [(0.0, {1.0: 0.2, 0.0: 0.6, -1.0: 0.2}), (-0.2, {1.0: 0.1, 0.0: 0.6, -1.0: 0.3}), (0.0, {0.6: 0.25, -0.2: 0.75})],
)
def test_it_is_1_on_average_where_the_mean_is_the_null_and_for_who_stops_when_it_looks_good(
    null: float, chances: dict[float, float]
) -> None:
    """Exactly, over every sequence of six pairs."""
    at_the_end, stopped = 0.0, 0.0
    for drawn in itertools.product(chances, repeat=6):
        chance = math.prod(chances[value] for value in drawn)
        evidence, first = PairedEvidence(null=null), None
        for value in drawn:
            evidence.add(value)
            if first is None and evidence.e_value >= 1.5:
                first = evidence.e_value
        at_the_end += chance * evidence.e_value
        stopped += chance * (evidence.e_value if first is None else first)
    assert at_the_end == pytest.approx(1.0)
    assert stopped == pytest.approx(1.0)


@pytest.mark.parametrize(("won", "lost"), [(0.05, 0.05), (0.2, 0.2), (0.5, 0.5), (0.1, 0.2)])
def test_no_gain_reaches_20_in_at_most_5_of_100_however_often_one_looks(won: float, lost: float) -> None:
    chance, reached = random.Random(5), 0
    for _ in range(400):
        evidence = PairedEvidence()
        for _ in range(150):
            drawn = chance.random()
            evidence.add(1.0 if drawn < won else -1.0 if drawn < won + lost else 0.0)
            if evidence.e_value >= 20:
                reached += 1
                break
    assert reached <= 0.05 * 400


def test_a_gain_of_tasks_that_differ_is_judged_by_the_mean_so_far() -> None:
    """Every second task gains what the other one loses: there is no gain, though each single one has a mean."""
    chance, reached = random.Random(6), 0
    for _ in range(400):
        evidence = PairedEvidence()
        for number in range(150):
            better = 0.8 if number % 2 else 0.2
            evidence.add(1.0 if chance.random() < better else -1.0)
            if number % 2 and evidence.e_value >= 20:
                reached += 1
                break
    assert reached <= 0.05 * 400


@given(DIFFERENCES)
def test_the_order_of_the_pairs_does_not_matter(differences: list[float]) -> None:
    there, back = evidence_of(differences), evidence_of(differences[::-1])
    assert there.e_value == pytest.approx(back.e_value, rel=1e-9)
    assert there.mean == pytest.approx(back.mean, abs=1e-12)
    assert there.interval() == pytest.approx(back.interval(), abs=1e-6)


@given(DIFFERENCES, st.floats(-0.9, 0.9))
def test_evidence_is_a_number_above_0_and_the_interval_holds_the_mean(differences: list[float], null: float) -> None:
    evidence = evidence_of(differences, null=null)
    assert 0 < evidence.e_value < math.inf
    low, high = evidence.interval()
    assert -1 - 1e-9 <= low <= evidence.mean + 1e-6
    assert evidence.mean - 1e-6 <= high <= 1 + 1e-9


@given(st.lists(st.sampled_from([1.0, 0.4, 0.0, -1.0]), max_size=40), st.floats(-0.8, 0.8))
def test_the_interval_leaves_out_what_the_evidence_refutes(differences: list[float], mean: float) -> None:
    low, high = evidence_of(differences).interval(0.9)
    above = evidence_of(differences, null=mean).e_value
    below = evidence_of([-value for value in differences], null=-mean).e_value
    if abs(mean - low) > 1e-6:
        assert (mean < low) is (above > 20)
    if abs(mean - high) > 1e-6:
        assert (mean > high) is (below > 20)


def test_the_interval_covers_at_every_look() -> None:
    chance, missed = random.Random(8), 0
    for _ in range(120):
        evidence, is_missed = PairedEvidence(), False
        for number in range(60):
            evidence.add(round(chance.betavariate(2, 1.2) - chance.betavariate(1.5, 1.5), 1))
            if number % 12 == 11:
                low, high = evidence.interval(0.8)
                is_missed |= not low <= 0.125 <= high  # 2 / 3.2 - 1 / 2
        missed += is_missed
    assert 0 < missed <= 0.2 * 120


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.01, 1.01])
def test_what_is_no_difference_is_refused_and_not_counted(bad: float) -> None:
    evidence = evidence_of([0.5])
    before = (evidence.e_value, evidence.interval())
    with pytest.raises(ConfigError, match=r"difference of a pair is .*; expected a number from -1 to 1"):
        evidence.add(bad)
    assert (evidence.pairs, evidence.mean) == (1, 0.5)
    assert (evidence.e_value, evidence.interval()) == before


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="null is -1"):
        PairedEvidence(null=-1)
    with pytest.raises(ConfigError, match=r"level is 95; expected a number between 0 and 1"):
        PairedEvidence().interval(95)


def test_thousands_of_pairs_stay_numbers() -> None:
    evidence = evidence_of([1.0] * 5000)
    assert 1e300 < evidence.e_value < math.inf
    assert evidence_of([-1.0] * 5000).e_value >= 0
    low, high = evidence.interval()
    assert 0.99 < low < high <= 1
