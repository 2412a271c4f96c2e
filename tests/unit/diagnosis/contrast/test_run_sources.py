"""Runs to compare with, out of the run store and out of files."""

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.diagnosis.contrast import RunSource
from tracer_hooks.errors import StoreError, TrajectoryError
from tracer_hooks.runtime import _diagnose
from tracer_hooks.runtime._diagnose import FiledRuns, StoredRuns, contrast_attributor
from tracer_hooks.schema import RunOutcome, save_jsonl, to_json
from tracer_hooks.store import RunStore, StoredRun

from ._runs import PASSED, TASK, failed, passed, run

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
WRONG = [(agent, text.replace("204", "214")) for agent, text in PASSED]


def save(store, trajectory, *, minute: int = 0, team: str = "pricing", outcome=None) -> None:
    store.save(
        StoredRun(
            run_id=trajectory.run_id,
            team=team,
            task=trajectory.task,
            outcome=outcome or trajectory.outcome,
            started_at=NOON + timedelta(minutes=minute),
            session_id=trajectory.run_id,
            trajectory=trajectory,
        )
    )


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs.sqlite")


def ids(runs):
    return [one.run_id for one in runs]


def test_runs_of_the_team_the_same_task_first_then_the_newest(store) -> None:
    for minute, (name, task) in enumerate([("old", TASK), ("other", "Write a poem."), ("new", TASK)]):
        save(store, run(name, PASSED, task=task, team="pricing"), minute=minute)
    save(store, run("stranger", PASSED, team="poets"), team="poets")
    save(store, failed(PASSED, run_id="bad", team="pricing"))
    save(store, run("open", PASSED, outcome=RunOutcome.UNKNOWN, team="pricing"))
    source = StoredRuns(store)
    assert isinstance(source, RunSource)
    assert ids(source.runs_like(failed(WRONG, team="pricing"))) == ["new", "old", "other", "bad"]
    assert ids(StoredRuns(store, limit=1).runs_like(failed(WRONG, team="pricing"))) == ["new", "bad"]
    assert ids(StoredRuns(store, looked_at=2).runs_like(failed(WRONG, team="pricing"))) == ["new", "other", "bad"]


def test_a_trajectory_without_a_team_is_compared_with_any(store) -> None:
    save(store, run("one", PASSED, team="pricing"))
    save(store, run("two", PASSED, team="poets"), team="poets")
    assert sorted(ids(StoredRuns(store).runs_like(failed(WRONG)))) == ["one", "two"]


def test_the_judged_run_itself_is_not_handed_over(store) -> None:
    save(store, run("one", PASSED))
    assert StoredRuns(store).runs_like(failed(WRONG, run_id="one")) == []


def test_the_outcome_of_the_store_counts_even_when_it_changes(store) -> None:
    trajectory = run("one", PASSED, outcome=RunOutcome.UNKNOWN)
    source = StoredRuns(store)
    for outcome in (RunOutcome.FAILED, RunOutcome.SUCCEEDED):
        save(store, trajectory, outcome=outcome)
        assert [one.outcome for one in source.runs_like(failed(WRONG))] == [outcome]


def test_a_damaged_run_is_left_out_and_said(store, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("good", "bad"):
        save(store, run(name, PASSED))
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE runs SET trajectory = x'7a00' WHERE run_id = 'bad'")
    assert ids(StoredRuns(store).runs_like(failed(WRONG))) == ["good"]
    assert "leaves out a stored run that cannot be read" in caplog.text
    assert "'bad'" in caplog.text


def test_runs_are_read_once_and_not_all_kept(store, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        save(store, run(f"r{number}", PASSED, team=f"team {number}"), team=f"team {number}")
    read: list[str] = []
    original = store.get

    def get(run_id: str, **options: Any) -> StoredRun:
        read.append(run_id)
        return original(run_id, **options)

    monkeypatch.setattr(store, "get", get)
    monkeypatch.setattr(_diagnose, "_KEPT", 2)
    source = StoredRuns(store, limit=1)
    for number in (0, 0, 1, 2, 0):
        assert ids(source.runs_like(failed(WRONG, team=f"team {number}"))) == [f"r{number}"]
    assert read == ["r0", "r1", "r2", "r0"]


def test_a_store_that_does_not_exist_holds_nothing_and_is_not_made(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "none.sqlite", read_only=True)
    assert StoredRuns(store).runs_like(failed(WRONG)) == ()
    assert not store.path.exists()


def test_a_store_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "runs.sqlite").write_text("this is no database, but a text of some length\n" * 40)
    with pytest.raises(StoreError):
        StoredRuns(RunStore(tmp_path / "runs.sqlite")).runs_like(failed(WRONG))


def test_runs_of_a_folder_with_a_broken_file_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    save_jsonl(tmp_path / "good.jsonl", passed(2))
    (tmp_path / "bad.json").write_text("{")
    source = FiledRuns(tmp_path)
    assert isinstance(source, RunSource)
    assert ids(source.runs_like(failed(WRONG))) == ["passed-0", "passed-1"]
    assert "bad.json" in caplog.text
    assert ids(FiledRuns(tmp_path, limit=1).runs_like(failed(WRONG))) == ["passed-0"]


def test_files_are_read_once(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text(to_json(passed(1)[0]))
    source = FiledRuns(file)
    first = source.runs_like(failed(WRONG))
    file.unlink()
    assert source.runs_like(failed(WRONG)) == first


def test_a_folder_without_runs_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(TrajectoryError, match=r"no run to compare with.*tracer-hooks runs export"):
        FiledRuns(tmp_path).runs_like(failed(WRONG))


def test_the_attributor_takes_both(store, tmp_path: Path) -> None:
    save_jsonl(tmp_path / "good.jsonl", passed(2))
    save(store, run("stored", PASSED))
    save(store, failed(WRONG, run_id="stored-failure"))
    for attributor in (
        contrast_attributor(passing=tmp_path / "good.jsonl"),
        contrast_attributor(store=store),
        contrast_attributor(passing=tmp_path / "good.jsonl", store=store),
    ):
        assert attributor.attribute(failed(WRONG)).step == 1
    assert contrast_attributor().score(failed(WRONG)) is None
    both = contrast_attributor(passing=tmp_path / "good.jsonl", store=store)
    assert len(both.divergences(failed(WRONG)).spectrum.failing) == 1
