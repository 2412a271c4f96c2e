"""The kills of the benchmark, a few of each kind; and that it would see a loss."""

import importlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
KINDS = ["runs", "prompts", "labels", "data-set", "calibrate", "calibrated", "improve"]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")


@pytest.fixture
def kills(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delenv("TRACER_HOOKS_STORE", raising=False)
    return importlib.import_module("kills")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_or_doubled(kills: Any, kind: str) -> None:
    needed = {"calibrate": "sklearn", "improve": "gepa"}
    pytest.importorskip(needed.get(kind, "tracer_hooks"))
    assert set(kills.KINDS) == set(KINDS)
    work, _ = kills.KINDS[kind]
    row = kills.row(work(), 6, 5)
    assert (row["lost"], row["doubled"], row["damaged"]) == (0, 0, [])
    assert row["acknowledged"] > 0


@pytest.mark.slow
def test_a_run_that_is_taken_away_is_a_loss(kills: Any, tmp_path: Path) -> None:
    runs = importlib.import_module("_kills_stores").Runs()
    ground = importlib.import_module("_kills_ground")
    ground.killed(runs, tmp_path / "work", 4, 1)
    lives = [ground.Life(0, 0, said=[json.loads(line) for line in path.read_text().splitlines()])
             for path in (tmp_path / "work").glob("life-*.jsonl")]  # fmt: skip
    gone = next(line["runs"][0] for life in lives for line in life.said)
    from tracer_hooks.store import RunStore

    RunStore(tmp_path / "work" / "runs.sqlite").delete(gone)
    assert runs.found(tmp_path / "work", lives).lost == 1


def test_a_fitted_attributor_of_two_savings_is_seen(kills: Any, tmp_path: Path) -> None:
    jobs = importlib.import_module("_kills_jobs")
    from tracer_hooks.runtime import TeamCard, save_calibrated

    card = TeamCard(framework="python", team="sums", agents=("solver",), labels=7)
    folder = save_calibrated(tmp_path, jobs._Numbered(7), card)
    assert jobs._half(tmp_path, expected=True) == []
    (folder / "number").write_text("8")
    assert jobs._half(tmp_path, expected=True) == ["the card is of saving 7, the attributor of 8"]
    (folder / "structural.json").unlink()
    assert jobs._half(tmp_path, expected=True) == ["a fitted attributor is there by half"]
    (folder / "team.json").unlink()
    assert jobs._half(tmp_path, expected=True) == ["it is gone"]
    assert jobs._half(tmp_path, expected=False) == []
