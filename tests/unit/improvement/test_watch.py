"""Prompts that turn bad are found soon; those that stay as they are, seldom."""

from __future__ import annotations

import math
import random
import re

import pytest

from tracer_hooks.errors import ConfigError
from tracer_hooks.improvement import PromptWatch


def watch_of(new: float, old: float, *, runs: int = 100, alarm: float = 0.0004) -> PromptWatch:
    return PromptWatch(new_runs=runs, new_passes=new * runs, old_runs=runs, old_passes=old * runs, alarm=alarm)


def runs_until_worse(watch: PromptWatch, rate: float, most: int, chance: random.Random) -> int | None:
    for number in range(1, most + 1):
        watch.add(chance.random() < rate, is_new=True)
        if watch.is_worse:
            return number
    return None


@pytest.mark.parametrize("good", [0, 20, 100])
@pytest.mark.parametrize(("before", "after"), [(0.8, 0.3), (0.9, 0.4)])
def test_a_fall_by_half_a_hundred_points_is_found_within_30_runs(before: float, after: float, good: int) -> None:
    found = 0
    for seed in range(60):
        chance, watch = random.Random(seed), watch_of(before, before - 0.2)
        if runs_until_worse(watch, before, good, chance) is None:
            found += runs_until_worse(watch, after, 30, chance) is not None
        else:
            found += 1
    assert found >= 57


def test_prompts_that_stay_as_they_are_are_seldom_rolled_back() -> None:
    worse = sum(runs_until_worse(watch_of(0.7, 0.5), 0.7, 300, random.Random(seed)) is not None for seed in range(150))
    assert worse <= 6


def test_a_lower_threshold_waits_longer() -> None:
    soon = runs_until_worse(watch_of(0.8, 0.6, alarm=0.05), 0.0, 60, random.Random(1))
    late = runs_until_worse(watch_of(0.8, 0.6, alarm=1e-12), 0.0, 60, random.Random(1))
    assert soon is not None
    assert late is not None
    assert 8 <= soon < late


def test_a_short_trial_is_believed_less_than_a_long_one() -> None:
    long, short = watch_of(0.9, 0.6, runs=200), watch_of(0.9, 0.6, runs=10)
    for number in range(20):
        for watch in (long, short):
            watch.add(number % 2 == 0, is_new=True)
    assert long.is_worse
    assert not short.is_worse


def test_prompts_that_still_beat_the_old_ones_stay() -> None:
    stay, go = watch_of(0.9, 0.3), watch_of(0.9, 0.7)
    for number in range(60):
        for watch in (stay, go):
            watch.add(number % 2 == 0, is_new=True)
    assert go.is_worse
    assert not stay.is_worse


def test_the_sentence_is_true() -> None:
    watch = watch_of(0.7, 0.5)
    for number in range(40):
        watch.add(number % 10 < 7, is_new=True)
    assert not watch.is_worse
    assert watch.reason == ""
    seen = [number % 10 < 7 for number in range(40)]
    while not watch.is_worse:
        seen.append(False)
        watch.add(False, is_new=True)
    found = re.fullmatch(
        r"Of the last (\d+) runs with these prompts (\d+) passed, where (\d+) % of the (\d+) runs before did: "
        r"by chance alone that few pass 1 time in ([\d,]+); the old prompts passed 50 % of 100\.",
        watch.reason,
    )
    assert found
    last, passed, percent, before, odds = (int(text.replace(",", "")) for text in found.groups())
    assert last == 30
    assert passed == sum(seen[-30:])
    assert before == 100 + len(seen) - 30
    passes_before = 70 + sum(seen[:-30])
    assert percent == round(100 * passes_before / before)
    assert 1 / odds == pytest.approx(_tail(passed, 30, passes_before + 0.5, before - passes_before + 0.5), rel=0.01)
    assert odds >= 2500


def _tail(most: int, runs: int, a: float, b: float) -> float:
    """How probable so few passes are, by summing over the rate."""
    rates = [(number + 0.5) / 4000 for number in range(4000)]
    weights = [rate ** (a - 1) * (1 - rate) ** (b - 1) for rate in rates]
    tails = [sum(math.comb(runs, k) * rate**k * (1 - rate) ** (runs - k) for k in range(most + 1)) for rate in rates]
    return sum(weight * tail for weight, tail in zip(weights, tails, strict=True)) / sum(weights)


def test_worse_is_worse_for_good_and_its_sentence_does_not_change() -> None:
    watch = watch_of(0.8, 0.6)
    assert runs_until_worse(watch, 0.0, 30, random.Random(1))
    reason = watch.reason
    assert runs_until_worse(watch, 1.0, 50, random.Random(1)) == 1
    assert watch.reason == reason


def test_scores_are_shares_of_a_pass() -> None:
    falls, stays = watch_of(0.8, 0.6), watch_of(0.8, 0.6)
    for _ in range(30):
        falls.add(0.35, is_new=True)
        stays.add(0.75, is_new=True)
    assert falls.is_worse
    assert not stays.is_worse
    assert " passed, where 80 % of the 100 runs before did" in falls.reason


def test_scores_between_whole_passes_lie_between_them() -> None:
    def runs(last: float) -> int:
        watch = watch_of(0.8, 0.6)
        for number in range(1, 31):
            watch.add(last, is_new=True)
            if watch.is_worse:
                return number
        return 31

    found = [runs(score / 100) for score in range(0, 60, 3)]
    assert found == sorted(found)
    assert len(set(found)) > 5


def test_few_control_runs_are_waited_for() -> None:
    """One control in 25 runs: long before it has decided, the last 30 runs are no worse than those before them."""
    watch = watch_of(0.8, 0.6)
    for number in range(400):
        watch.add(number < 40 or number % 10 < 3, is_new=True)
        if number % 25 == 0:
            watch.add(number % 75 != 0, is_new=False)
    assert watch.is_worse


def controlled(new: float, old: float, seed: int, runs: int = 150) -> bool:
    chance, watch = random.Random(seed), watch_of(0.8, 0.6)
    for number in range(50 + runs):
        fell = number >= 50
        is_new = chance.random() >= 0.2
        rate = (new if fell else 0.8) if is_new else (old if fell else 0.6)
        watch.add(chance.random() < rate, is_new=is_new)
    return watch.is_worse


def test_control_runs_tell_a_bad_prompt_from_harder_tasks() -> None:
    only_new = sum(controlled(0.3, 0.6, seed) for seed in range(60))
    harder = sum(controlled(0.3, 0.15, seed) for seed in range(60))
    assert only_new >= 52
    assert harder <= 15


def test_once_tasks_are_known_to_be_harder_a_further_fall_is_found() -> None:
    watch = watch_of(0.9, 0.7)
    for number in range(200):
        watch.add(number % 2 == 0, is_new=True)  # from 90 to 50 %
        if number % 3 == 0:
            watch.add(number % 9 == 0, is_new=False)  # from 70 to 33 %
    assert not watch.is_worse
    for number in range(120):
        watch.add(False, is_new=True)
        if number % 3 == 0:
            watch.add(number % 9 == 0, is_new=False)
    assert watch.is_worse


def test_control_runs_that_have_ended_are_not_waited_for() -> None:
    watch = watch_of(0.8, 0.6)
    watch.add(True, is_new=False)
    assert runs_until_worse(watch, 0.8, 40, random.Random(2)) is None
    ended = runs_until_worse(watch, 0.1, 200, random.Random(3))
    assert ended is not None
    assert 45 <= ended <= 55  # 90 runs after the last control


@pytest.mark.parametrize("bad", [math.nan, -0.1, 1.1])
def test_what_is_no_score_is_refused_and_not_counted(bad: float) -> None:
    watch, other = watch_of(0.8, 0.6), watch_of(0.8, 0.6)
    with pytest.raises(ConfigError, match=r"score is .*; expected True, False or a number from 0 to 1"):
        watch.add(bad, is_new=True)
    assert runs_until_worse(watch, 0.2, 60, random.Random(4)) == runs_until_worse(other, 0.2, 60, random.Random(4))
    assert watch.reason == other.reason


def test_a_trial_that_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigError, match="new_passes is 5 of 4 runs"):
        PromptWatch(new_runs=4, new_passes=5, old_runs=4, old_passes=4)
    with pytest.raises(ConfigError, match="old_passes is nan of 4 runs"):
        PromptWatch(new_runs=4, new_passes=4, old_runs=4, old_passes=math.nan)
    with pytest.raises(ConfigError, match="alarm is 0"):
        watch_of(0.5, 0.5, alarm=0)
