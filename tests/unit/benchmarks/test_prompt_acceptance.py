"""The simulation of accepted prompts draws what its rows say."""

from __future__ import annotations

import importlib
import json
import math
import random
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def simulation(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("prompt_acceptance")


@pytest.mark.parametrize(
    ("name", "gain", "differ"),
    [
        ("null, pass rate .5", 0.0, 0.5),
        ("null, discordance .15", 0.0, 0.15),
        ("-10", -0.1, 0.3),
        ("+20, discordance .5", 0.2, 0.5),
    ],
)
def test_new_tasks_gain_and_differ_as_the_row_says(simulation: Any, name: str, gain: float, differ: float) -> None:
    chance = random.Random(1)
    pairs = [simulation.REWRITES[name][0].draw(chance) for _ in range(20_000)]
    assert sum(new - old for new, old in pairs) / len(pairs) == pytest.approx(gain, abs=0.015)
    assert sum(new != old for new, old in pairs) / len(pairs) == pytest.approx(differ, abs=0.015)


def test_scores_gain_what_the_row_says(simulation: Any) -> None:
    chance = random.Random(1)
    new, passed = simulation.REWRITES["+10, scores"]
    pairs = [new.draw(chance) for _ in range(20_000)]
    assert sum(a - b for a, b in pairs) / len(pairs) == pytest.approx(0.1, abs=0.01)
    assert {round(5 * a) / 5 for a, _ in pairs} == {a for a, _ in pairs}
    assert (passed.new, passed.old) == (0.8, 0.7)


def test_a_life_falls_when_it_should(simulation: Any) -> None:
    life = simulation.Life(before=1.0, old=0.8, after=0.0, old_after=0.8, good=40, last=30)
    assert 40 < life.rolled_back_after(random.Random(1), None) < 55
    stays = simulation.Life(before=1.0, old=0.8, after=1.0, old_after=0.8, good=0, last=100)
    assert stays.rolled_back_after(random.Random(1), None) is None


def test_those_rolled_back_too_soon_are_not_counted_as_found(simulation: Any) -> None:
    life = simulation.Life(before=0.6, old=0.4, after=0.0, old_after=0.4, good=200, last=30)
    (row,) = simulation.within(life, (30,), 40, 1, alarm=0.05)
    assert 0 < row["of"] < 40
    assert row["found"] <= row["of"]


def test_a_lucky_trial_is_lucky(simulation: Any) -> None:
    """Of a true gain of 0, only trials that show 14 points: the first watch expects more than there is."""
    life = simulation.Life(0.5, 0.5, 0.5, 0.5, 0, 1, 0.0, 0.14)
    watch = life._watch(random.Random(1), None)
    assert watch._new.score - watch._old.score >= 14


def test_the_rules_that_know_the_rates_sum_what_they_say(simulation: Any) -> None:
    assert list(simulation._cusum([1.0, -2.0, 1.0, 1.0])) == [1.0, -1.0, 1.0, 2.0]
    sums = list(simulation._last_thirty([1.0] * 29 + [3.0, 5.0]))
    assert sums[28] == -math.inf
    assert sums[29:] == [32.0, 36.0]


def test_it_writes_what_it_prints(simulation: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "REWRITES", {"+30": simulation.REWRITES["+30"]})
    target = tmp_path / "found.json"
    monkeypatch.setattr(sys, "argv", ["x", "--parts", "acceptance", "--runs", "5", "--json", str(target)])
    assert simulation.main() == 0
    (row,) = json.loads(target.read_text())["acceptance"]
    assert row["accepted"] == 5
    assert 10 <= row["pairs"] < 100
