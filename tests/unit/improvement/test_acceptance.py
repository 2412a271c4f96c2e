"""Prompts that gain nothing are kept out, those that gain are let in, and the sentences are true."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable

import pytest

from tracer_hooks.errors import ConfigError
from tracer_hooks.improvement import AcceptanceRule, AcceptanceTest, Decision, PairedEvidence

ANY = AcceptanceRule(needs_passed=False)
Pair = tuple[float, float]
Draw = Callable[[random.Random, bool], Pair]


def differing(gain: float, discordance: float, passed_gain: float | None = None) -> Draw:
    """Pairs that differ as often as said, with another gain on formerly passed tasks."""

    def draw(chance: random.Random, is_passed: bool) -> Pair:
        value = gain if passed_gain is None or not is_passed else passed_gain
        drawn = chance.random()
        if drawn < (discordance + value) / 2:
            return 1.0, 0.0
        return (0.0, 1.0) if drawn < discordance else (1.0, 1.0)

    return draw


def trials(draw: Draw, count: int, seed: int) -> list[AcceptanceTest]:
    tests = []
    for number in range(count):
        chance, test = random.Random(seed + number), AcceptanceTest()
        while not test.is_spent:
            is_passed = test.pairs % 3 == 2
            test.add(*draw(chance, is_passed), formerly_passed=is_passed)
        tests.append(test)
    return tests


def count(tests: list[AcceptanceTest], decision: Decision) -> int:
    return sum(test.decision is decision for test in tests)


def fed(pairs: list[tuple[float, float, bool]], rule: AcceptanceRule | None = None) -> AcceptanceTest:
    test = AcceptanceTest(rule)
    for new, old, formerly_passed in pairs:
        test.add(new, old, formerly_passed=formerly_passed)
    return test


@pytest.mark.parametrize("discordance", [0.1, 0.3, 1.0])
def test_prompts_that_change_nothing_are_accepted_in_at_most_5_of_100(discordance: float) -> None:
    assert count(trials(differing(0.0, discordance), 120, 100), Decision.ACCEPT) <= 6


def test_harmful_prompts_are_kept_out_and_mostly_rejected() -> None:
    tests = trials(differing(-0.1, 0.3), 100, 200)
    assert count(tests, Decision.ACCEPT) <= 1
    assert count(tests, Decision.REJECT) >= 80


def test_prompts_that_lose_every_pair_do_harm_where_that_is_asked_before_the_gain() -> None:
    rule = AcceptanceRule(alpha_futile=0.001)
    test = fed([(0.0, 1.0, False)] * 12, rule)
    assert test.decision is Decision.REJECT
    assert test.reason.startswith("The new prompts do harm: ")
    by_default = fed([(0.0, 1.0, False)] * 12)
    assert by_default.decision is Decision.REJECT
    assert "gain too little" in by_default.reason  # it is shown with less


def test_a_clear_gain_is_accepted() -> None:
    tests = trials(differing(0.2, 0.3), 100, 300)
    assert count(tests, Decision.ACCEPT) >= 90
    assert sum(test.pairs for test in tests) / 100 < 100


def test_a_gain_that_formerly_passed_tasks_pay_for_is_not_accepted() -> None:
    tests = trials(differing(0.3, 0.4, -0.3), 100, 400)
    assert count(tests, Decision.ACCEPT) <= 2
    assert count(tests, Decision.REJECT) >= 70
    assert any("harm tasks that passed before" in test.reason for test in tests)


def test_tasks_chosen_because_they_had_passed_hit_both_prompts_alike() -> None:
    """The new prompts change nothing. A pass that is not run anew would be taken for a loss."""

    def anew(chance: random.Random, is_passed: bool) -> Pair:
        rate = chance.random()
        while is_passed and chance.random() >= rate:
            rate = chance.random()
        return float(chance.random() < rate), float(chance.random() < rate)

    def remembered(chance: random.Random, is_passed: bool) -> Pair:
        new, old = anew(chance, is_passed)
        return new, 1.0 if is_passed else old

    def harmful(draw: Draw) -> int:
        return sum("harm" in test.reason for test in trials(draw, 60, 500))

    assert harmful(anew) <= 4
    assert harmful(remembered) >= 25


def test_scores_count_as_what_they_are() -> None:
    test = AcceptanceTest()
    chance = random.Random(9)
    while not test.is_spent:
        old = chance.randrange(4) / 5
        test.add(old + 0.2, old, formerly_passed=test.pairs % 3 == 2)
    assert test.decision is Decision.ACCEPT
    assert "+20.0 points" in test.reason


def test_a_decision_is_final_and_later_pairs_are_in_the_record() -> None:
    test = fed([(1.0, 0.0, False)] * 12, ANY)
    assert test.decision is Decision.ACCEPT
    reason, after = test.reason, test.evidence["decided_after"]
    for _ in range(50):
        test.add(0.0, 1.0, formerly_passed=True)
    assert (test.decision, test.reason) == (Decision.ACCEPT, reason)
    assert test.evidence["decided_after"] == after == 10
    assert test.evidence["pairs"] == 62
    assert test.evidence["passed_e_harm"] > 20


def test_no_prompts_are_accepted_before_the_least_number_of_pairs() -> None:
    test = fed([(1.0, 0.0, False)] * 9, ANY)
    assert test.evidence["e_gain"] > 20
    assert test.decision is Decision.UNDECIDED
    assert "at least 10 pairs are needed" in test.reason


def test_formerly_passed_tasks_must_show_that_they_do_not_lose() -> None:
    test = fed([(1.0, 0.0, False)] * 14 + [(1.0, 1.0, True)], AcceptanceRule(least_pairs=15))
    assert test.decision is Decision.UNDECIDED
    assert "a loss of 15 points on tasks that passed before is not ruled out yet" in test.reason
    while test.decision is Decision.UNDECIDED:
        test.add(1.0, 1.0, formerly_passed=True)
    assert test.decision is Decision.ACCEPT
    assert 5 < test.evidence["passed_pairs"] < 40


def test_formerly_passed_tasks_that_lost_in_the_mean_hold_it_up() -> None:
    test = fed([(1.0, 0.0, False)] * 20 + [(0.0, 1.0, True)] + [(1.0, 1.0, True)] * 30)
    assert test.decision is Decision.UNDECIDED
    assert "tasks that passed before lost 3.23 points in 31 pairs" in test.reason
    for _ in range(18):
        test.add(1.0, 1.0, formerly_passed=True)
    assert test.decision is Decision.UNDECIDED
    test.add(1.0, 1.0, formerly_passed=True)
    assert test.decision is Decision.ACCEPT  # 1 of 50: what is allowed


def test_without_tasks_that_passed_before_nothing_is_accepted_unless_there_are_none() -> None:
    pairs = [(1.0, 0.0, False)] * 30
    test = fed(pairs)
    assert test.decision is Decision.UNDECIDED
    assert test.reason.startswith("There is a gain, but no task that passed before has been run yet: +100.0 points")
    assert "no task that passed before was among them" in fed(pairs, ANY).reason


def test_a_spent_trial_is_undecided_and_goes_on_with_more_pairs() -> None:
    chance, draw = random.Random(12), differing(0.15, 0.3)
    pairs = [(1.0, 0.0, False), (0.0, 1.0, False), (1.0, 0.0, False), (1.0, 1.0, False)] * 10
    first = fed(pairs, AcceptanceRule(most_pairs=40, needs_passed=False))
    assert first.decision is Decision.UNDECIDED
    assert first.is_spent
    later = fed(pairs, AcceptanceRule(most_pairs=400, needs_passed=False))
    assert not later.is_spent
    assert later.evidence["e_gain"] == pytest.approx(first.evidence["e_gain"])
    while not later.is_spent:
        later.add(*draw(chance, False), formerly_passed=False)
    assert later.decision is Decision.ACCEPT


def test_prompts_that_cannot_gain_what_is_worth_it_are_given_up() -> None:
    test = AcceptanceTest()
    while not test.is_spent:
        test.add(1.0, 1.0, formerly_passed=False)
    assert test.decision is Decision.REJECT
    assert test.pairs < 100
    assert "a gain of 5 points is ruled out" in test.reason


FIGURES = re.compile(r"([+-][\d.]+) points in (\d+) pairs? \(([\d.]+) % interval ([+-][\d.]+) to ([+-][\d.]+)\)")


@pytest.mark.parametrize(
    ("gain", "passed_gain", "decision"),
    [(0.3, 0.1, "accept"), (-0.3, -0.3, "reject"), (0.3, -0.4, "reject"), (0.0, 0.0, "reject")],
)
def test_the_figures_of_the_sentence_are_those_of_the_pairs(gain: float, passed_gain: float, decision: str) -> None:
    draw = differing(gain, 0.4 if gain else 0.04, passed_gain)
    told = 0
    for number in range(20):
        chance, test = random.Random(number), AcceptanceTest()
        every: list[float] = []
        passed: list[float] = []
        while not test.is_spent:
            is_passed = test.pairs % 3 == 2
            new, old = draw(chance, is_passed)
            test.add(new, old, formerly_passed=is_passed)
            every.append(new - old)
            passed += [new - old] if is_passed else []
        if test.decision.value != decision:
            continue
        told += 1
        assert test.reason.endswith(".")
        for mean, pairs, level, low, high in FIGURES.findall(test.reason):
            values = every if int(pairs) == len(every) else passed
            evidence = PairedEvidence()
            for value in values:
                evidence.add(value)
            assert int(pairs) == len(values)
            assert float(mean) == pytest.approx(100 * sum(values) / len(values), abs=0.051)
            ends = [100 * end for end in evidence.interval(float(level) / 100)]
            assert [float(low), float(high)] == pytest.approx(ends, abs=0.051)
        assert FIGURES.search(test.reason)
    assert told >= 10


def test_before_the_first_pair_it_says_so() -> None:
    test = AcceptanceTest()
    assert test.reason == "No task has been run with both prompts yet."
    assert json.loads(json.dumps(test.evidence))["pairs"] == 0


@pytest.mark.parametrize(("new", "old"), [(1.5, 0.0), (0.0, -0.1), (float("nan"), 0.0), (1.0, float("nan"))])
def test_what_is_no_score_is_refused_and_not_counted(new: float, old: float) -> None:
    test = AcceptanceTest()
    with pytest.raises(ConfigError, match="expected a number from 0 to 1"):
        test.add(new, old, formerly_passed=True)
    assert test.pairs == 0
    assert test.evidence["passed_pairs"] == 0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"alpha": 0.0}, "alpha is 0.0; expected a number between 0 and 0.5"),
        ({"alpha_harm": 1}, "alpha_harm is 1; expected"),
        ({"tolerance": 1.0}, "tolerance is 1.0; expected a number between 0 and 1"),
        ({"observed_loss": -0.1}, "observed_loss is -0.1; expected a number from 0"),
        ({"least_pairs": 0}, "least_pairs is 0; expected at least 1"),
        ({"most_pairs": 5}, "most_pairs is 5; expected at least least_pairs, 10"),
        ({"alpha": float("nan")}, "alpha is nan; expected"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(settings: dict[str, float], said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        AcceptanceRule(**settings)  # type: ignore[arg-type]
