"""The simulation of lessons measures what its rows say."""

from __future__ import annotations

import importlib
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def simulation(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("lessons")


def test_rows_of_trials(simulation: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "lessons.json"
    monkeypatch.setattr(sys, "argv", ["lessons.py", "--parts", "trial", "--runs", "5", "--json", str(out)])
    simulation.main()
    rows = json.loads(out.read_text())["trial"]
    assert [row["lesson"] for row in rows] == [name for name, _, _ in simulation.TRIALS]
    assert all(abs(row["kept"] + row["retired_early"] + row["spent"] - 1) < 1e-9 for row in rows)


def test_a_life_ends_when_its_lesson_harms(simulation: Any) -> None:
    life = simulation.Life(random.Random(1), simulation.LessonRule())
    runs = 0
    while not life.is_retired and runs < 1000:
        life.run(0.7, 0.2)
        runs += 1
    assert life.is_retired


def test_a_stream_goes_through_the_store(simulation: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "TASKS", 60)
    monkeypatch.setitem(simulation.QUALITIES, "good", ((0.4, 1.0),))
    head, *rows = simulation.stream_rows(2, 1)
    assert head["lessons_a_stream"] >= 1
    passed = {row["arm"]: row["passed"] for row in rows if "arm" in row}
    assert passed["with lessons"] > passed["without lessons"]
