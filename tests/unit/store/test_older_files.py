"""Files of older versions: brought up to date when they are written to, read as they are when they may not be."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.errors import StoreError
from tracer_hooks.store import PromptStore, RunStore

from ._older import LESSON_TABLES, older
from ._prompts import TEAM, accepted
from ._runs import make_run

TAPE: dict[str, Any] = {"run_id": "run-1", "messages": [{"role": "user", "content": "What?"}]}
COUNTS = ("feedback_in_task", 0, 4, "FM-3.2", 3, 1)


def columns(path: Path) -> dict[str, dict[str, list[Any]]]:
    """The columns of every table."""
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
        return {
            name: {row[1]: row[2:] for row in connection.execute(f"PRAGMA table_info({name})")} for (name,) in tables
        }


def indexes(path: Path) -> dict[str, Any]:
    """The indexes of the tables that came after the first version."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("select tbl_name, name from sqlite_master where type = 'index'").fetchall()
        return {
            name: [row[2] for row in connection.execute(f"PRAGMA index_info('{name}')")]
            for table, name in found
            if table != "runs"
        }


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_it_gets_the_tables_of_a_new_one_and_keeps_its_run(tmp_path: Path, version: int) -> None:
    path, new = older(tmp_path, version), tmp_path / "new.sqlite"
    for file in (path, new):
        RunStore(file).save(make_run("run-1"))
    for _ in range(2):
        RunStore(path).save(make_run("run-1", tape=TAPE))
    assert columns(path) == columns(new)
    assert indexes(path) == indexes(new)
    assert not columns(path).keys() & set(LESSON_TABLES)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("select version from schema_version").fetchall() == [(4,)]
    store = RunStore(path)
    assert (store.get("old-1").trajectory.steps[0].content, store.get("old-1").tape) == ("six", None)
    assert {run.run_id: run.has_tape for run in store.list()} == {"old-1": False, "run-1": True}
    store.add_repair_counts("team", [COUNTS])
    assert store.repair_counts("team") == (COUNTS,)
    prompts = PromptStore(path)
    assert accepted(prompts) == prompts.current(TEAM)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_one_that_may_not_be_changed_is_read_as_it_is(tmp_path: Path, version: int) -> None:
    path = older(tmp_path, version)
    before = path.read_bytes()
    store = RunStore(path, read_only=True)
    assert store.get("old").trajectory.steps[0].agent == "solver"
    assert [run.tape for run in store.attempts(store.get("old", with_tape=False).session_id)] == [None]
    assert [(run.run_id, run.has_tape) for run in store.list()] == [("old-1", False)]
    assert store.repair_counts("team") == ()
    with pytest.raises(StoreError, match="opened read-only"):
        store.add_repair_counts("team", [COUNTS])
    prompts = PromptStore(path, read_only=True)
    assert (prompts.current(TEAM), prompts.versions(), prompts.events(TEAM), prompts.teams()) == (None, (), (), ())
    assert prompts.outcomes(TEAM, 1) == ()
    with pytest.raises(StoreError, match="no prompts are stored"):
        prompts.get(TEAM, 1)
    assert path.read_bytes() == before


def test_one_that_only_reads_sees_the_tapes_after_another_one_has_migrated_the_file(tmp_path: Path) -> None:
    path = older(tmp_path, 1)
    reader = RunStore(path, read_only=True)
    assert reader.get("old-1").tape is None
    RunStore(path).save(make_run(tape=TAPE))
    assert reader.get("old-1").tape is None, "it still reads, whatever version it found first"
    reader.close()
    assert reader.get("run-1").tape == TAPE
