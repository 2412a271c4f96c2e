"""Keeping, retiring and doubting lessons."""

from __future__ import annotations

import random

import pytest

from tracer_hooks.errors import ConfigError
from tracer_hooks.improvement import (
    NEAR,
    LessonDecision,
    LessonRule,
    LessonTrial,
    LessonWatch,
    PairedEvidence,
    kind_of,
    nearness,
)


def trial(seed: int, without: float, with_it: float, share: float = 0.5, rule: LessonRule | None = None) -> LessonTrial:
    chance, found = random.Random(seed), LessonTrial(rule, share=share)
    while found.decision is LessonDecision.UNDECIDED:
        given = chance.random() < share
        found.add(given=given, passed=chance.random() < (with_it if given else without))
    return found


@pytest.mark.parametrize(
    ("without", "with_it", "least", "most"),
    [(0.5, 0.5, 0.0, 0.1), (0.5, 0.8, 0.95, 1.0), (0.5, 0.2, 0.0, 0.0)],
)
def test_what_helps_is_kept_and_nothing_else(without: float, with_it: float, least: float, most: float) -> None:
    kept = [trial(seed, without, with_it).decision is LessonDecision.KEEP for seed in range(60)]
    assert least <= sum(kept) / len(kept) <= most


def test_a_trial_says_why_and_ends_in_time() -> None:
    spent = LessonTrial(LessonRule(most_runs=32))
    for at in range(32):
        spent.add(given=at % 2 == 0, passed=at % 4 < 2)
    assert spent.decision is LessonDecision.RETIRE
    assert spent.reason == "It was not shown to help in 32 runs: 8 of 16 runs passed with it, 8 of 16 without it."
    harm = trial(1, 0.9, 0.1)
    assert (harm.decision, harm.reason.split(":")[0]) == (LessonDecision.RETIRE, "A gain of 10 points is ruled out")
    assert LessonTrial().reason.startswith("It is too early to say")


def test_a_decision_is_final_and_runs_after_it_are_counted() -> None:
    found = trial(3, 0.2, 0.9)
    runs, reason = found.runs, found.reason
    for _ in range(50):
        found.add(given=True, passed=False)
    assert (found.decision, found.reason, found.runs) == (LessonDecision.KEEP, reason, runs + 50)


def test_tasks_that_become_easier_while_it_is_tried_are_no_gain() -> None:
    """The rate rises from 10 to 90 %, with the lesson and without: at a fair coin that is no evidence."""
    kept = 0
    for seed in range(60):
        chance, found = random.Random(seed), LessonTrial()
        for at in range(400):
            found.add(given=chance.random() < 0.5, passed=chance.random() < 0.1 + 0.8 * at / 400)
        kept += found.decision is LessonDecision.KEEP
    assert kept <= 6


def test_the_rarer_arm_weighs_more_so_that_no_effect_is_no_evidence() -> None:
    kept = [trial(seed, 0.6, 0.6, share=0.9).decision is LessonDecision.KEEP for seed in range(40)]
    assert sum(kept) <= 4


def test_the_evidence_is_that_of_the_bets() -> None:
    found, expected = LessonTrial(), PairedEvidence()
    rates = (0.5, 1.5 / 2, 2.5 / 3)
    for given, passed, rate in zip((True, True, False), (True, True, False), rates, strict=True):
        found.add(given=given, passed=passed)
        expected.add((1 if given else -1) * (passed - rate))
    assert found.evidence["e_gain"] == pytest.approx(expected.e_value)


def watched(trial_rate: float, *runs: tuple[bool, bool]) -> LessonWatch:
    watch = LessonWatch(trial_runs=100, trial_passes=round(100 * trial_rate))
    for given, passed in runs:
        watch.add(given=given, passed=passed)
    return watch


def test_a_fall_makes_doubtful_and_chance_does_not() -> None:
    assert not watched(0.7, *[(True, at % 10 < 7) for at in range(200)]).is_doubtful
    fallen = watched(0.7, *[(True, at % 10 < 4) for at in range(60)])
    assert fallen.is_doubtful
    assert "and 70 of 100 did in its trial" in fallen.reason


def test_runs_without_it_that_pass_as_often_make_doubtful() -> None:
    helps = [(at % 10 != 0, at % 10 < 8 and at % 10 != 0) for at in range(400)]
    assert not watched(0.7, *helps).is_doubtful
    no_gain = [(at % 10 != 0, at % 10 < 8) for at in range(400)]
    found = watched(0.7, *no_gain)
    assert found.is_doubtful
    assert found.reason == "Of the last runs 210 of 270 passed with it, and 30 of 30 without it."


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"alpha is 0\.7"):
        LessonRule(alpha=0.7)
    with pytest.raises(ConfigError, match="most_runs is 3"):
        LessonRule(most_runs=3)
    with pytest.raises(ConfigError, match=r"share is 1\.0"):
        LessonTrial(share=1.0)
    with pytest.raises(ConfigError, match="trial_passes is 3 of 2"):
        LessonWatch(trial_runs=2, trial_passes=3)


def test_tasks_of_a_kind_are_near_whatever_their_numbers() -> None:
    sums = kind_of(["What is 17 plus 26?", "What is 1,027 plus 36?"])
    assert nearness(sums, kind_of(["What is 99 plus 1234?"])) > 0.95
    assert nearness(sums, kind_of(["Translate the first page into French."])) < NEAR / 2
    assert nearness(sums, kind_of([""])) == nearness(kind_of([]), sums) == 0.0
    assert nearness(sums, sums) == pytest.approx(1.0)
