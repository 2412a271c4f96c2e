"""The simulation of the repair search says what it claims to."""

from __future__ import annotations

import importlib
import random
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.repairs import Repair, RepairTarget

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def regret(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("repair_regret")


def test_each_world_has_the_rates_that_its_name_says(regret: Any) -> None:
    plain, told = Repair(strategy="from_scratch"), Repair(strategy="x", target=RepairTarget.TASK, text="t")
    feedback = told.model_copy(update={"strategy": "feedback_in_task"})
    worlds = regret.WORLDS
    assert worlds["plain .30"].rate(plain, 3) == pytest.approx(0.3)
    assert worlds["plain .62, all else never"].rate(feedback, 3) < 1e-6
    assert worlds["feedback .06 -> .20"].rate(feedback, 3) == pytest.approx(0.2, abs=0.005)
    resumed = Repair(strategy="resample", resume_from=3)
    resume = worlds["resume where blame is right"]
    assert resume.rate(resumed, 3) == pytest.approx(0.79, abs=0.005)
    assert resume.rate(resumed, 2) == pytest.approx(0.25, abs=0.005)
    assert worlds["nothing"].rate(plain, 3) == 0.0


def test_the_blame_is_right_as_often_as_it_says(regret: Any) -> None:
    drawn = list(regret.failures(3000, random.Random(1)))
    right = sum(failure.step == decisive for failure, decisive in drawn) / len(drawn)
    said = sum(failure.attribution.confidence for failure, _ in drawn) / len(drawn)
    assert right == pytest.approx(said, abs=0.03)
    assert said == pytest.approx(0.68, abs=0.01)


def test_where_only_plain_retries_work_hardly_anything_is_lost(regret: Any) -> None:
    row = regret.measure(regret.WORLDS["plain .62, all else never"], 50, 1, 6)
    assert row["difference"] > -3
    assert row["late_good"] > 0.8
