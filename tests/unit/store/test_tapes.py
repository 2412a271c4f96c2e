"""Tapes in the store, and files of version 1, which had none."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.errors import StoreError
from tracer_hooks.store import RunStore

from ._runs import make_run

TAPE: dict[str, Any] = {
    "run_id": "run-1",
    "messages": [{"role": "user", "content": "größe ✓ " * 500}],
    "model_calls": [{"agent": "solver", "step": 0, "messages": [0], "content": "\ud800", "latency_s": 0.25}],
}

VERSION_1 = """
CREATE TABLE schema_version (version INTEGER NOT NULL);
INSERT INTO schema_version VALUES (1);
CREATE TABLE runs (
    run_id TEXT NOT NULL PRIMARY KEY, session_id TEXT NOT NULL, attempt BIGINT NOT NULL, kind TEXT NOT NULL,
    team TEXT NOT NULL, framework TEXT NOT NULL, task TEXT NOT NULL, outcome TEXT NOT NULL, outcome_reason TEXT,
    started_us BIGINT NOT NULL, ended_us BIGINT, steps BIGINT NOT NULL, input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL, agent TEXT, step BIGINT, error_mode TEXT, confidence FLOAT,
    abstained BOOLEAN NOT NULL, trajectory BLOB NOT NULL, attribution BLOB, rewrite BLOB
);
CREATE INDEX ix_runs_session_id ON runs (session_id);
INSERT INTO runs VALUES (
    'old-1', 's', 1, 'live', 'maths', 'plain', 'what?', 'failed', 'check: no', 1000000, 2000000, 1, 7, 3,
    NULL, NULL, NULL, NULL, 0,
    CAST('{"run_id": "old-1", "team": "maths", "steps": [' ||
         '{"index": 0, "agent": "solver", "content": "six"}]}' AS BLOB), NULL, NULL
);
"""


def version_1(path: Path) -> Path:
    with sqlite3.connect(path) as connection:
        connection.executescript(VERSION_1)
    connection.close()
    return path


def columns(path: Path) -> list[str]:
    with sqlite3.connect(path) as connection:
        return [row[1] for row in connection.execute("PRAGMA table_info(runs)")]


def test_a_tape_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    store.save(make_run(tape=TAPE))
    store.save(make_run("without"))
    assert store.get("run-1").tape == TAPE
    assert store.get("without").tape is None
    assert store.attempts("session-1")[0].tape == TAPE
    assert {run.run_id: run.has_tape for run in store.list()} == {"run-1": True, "without": False}


def test_a_run_can_be_read_without_its_tape(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    store.save(make_run(tape=TAPE))
    assert store.get("run-1", with_tape=False) == make_run()


def test_a_later_save_without_a_tape_keeps_it(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    store.save(make_run(tape=TAPE))
    store.save(make_run(text="later"))
    found = store.get("run-1")
    assert found.trajectory.steps[0].content == "later"
    assert found.tape == TAPE


def test_a_damaged_tape_names_the_run_and_leaves_the_rest_readable(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs.sqlite")
    store.save(make_run(tape=TAPE))
    with sqlite3.connect(store.path) as connection:
        connection.execute("update runs set tape = ?", (b"zgarbage",))
    with pytest.raises(StoreError, match=r"run 'run-1' in the run store is damaged"):
        store.get("run-1")
    assert store.get("run-1", with_tape=False) == make_run()
    assert store.list()[0].has_tape


def test_a_file_of_version_1_is_migrated_and_keeps_its_runs(tmp_path: Path) -> None:
    path = version_1(tmp_path / "runs.sqlite")
    for _ in range(2):
        store = RunStore(path)
        found = store.get("old-1")
        assert (found.trajectory.steps[0].content, found.tape) == ("six", None)
        store.save(make_run(tape=TAPE))
        assert store.get("run-1").tape == TAPE
        assert [run.has_tape for run in store.list()] == [True, False]
    assert columns(path).count("tape") == 1


def test_a_file_of_version_1_is_read_without_changing_it(tmp_path: Path) -> None:
    path = version_1(tmp_path / "runs.sqlite")
    store = RunStore(path, read_only=True)
    assert store.get("old").trajectory.steps[0].agent == "solver"
    assert store.get("old", with_tape=False).tape is None
    assert [run.tape for run in store.attempts("s")] == [None]
    assert [(run.run_id, run.has_tape) for run in store.list()] == [("old-1", False)]
    assert "tape" not in columns(path)


def test_a_store_that_only_reads_sees_the_tapes_after_another_one_has_migrated_the_file(tmp_path: Path) -> None:
    path = version_1(tmp_path / "runs.sqlite")
    reader = RunStore(path, read_only=True)
    assert reader.get("old-1").tape is None
    RunStore(path).save(make_run(tape=TAPE))
    assert reader.get("old-1").tape is None, "it still reads, whatever version it found first"
    reader.close()
    assert reader.get("run-1").tape == TAPE
