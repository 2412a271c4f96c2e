"""Files of older versions, of which one had lessons: brought up to date when written to, else read as they are."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tracer_hooks.cli.app import app
from tracer_hooks.config import Retention
from tracer_hooks.errors import StoreError
from tracer_hooks.store import PromptStore, RunStore

from ._older import LESSON_TABLES, lessons_in, older, with_lessons
from ._prompts import TEAM, accepted
from ._runs import make_attribution, make_run

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


@pytest.mark.parametrize("version", [1, 2, 3, 4, 7])
def test_it_gets_the_tables_of_a_new_one_and_keeps_its_run(tmp_path: Path, version: int) -> None:
    path, new = older(tmp_path, version), tmp_path / "new.sqlite"
    for file in (path, new):
        RunStore(file).save(make_run("run-1"))
    for _ in range(2):
        RunStore(path).save(make_run("run-1", tape=TAPE))
    assert {name: found for name, found in columns(path).items() if name != "repair_counts"} == columns(new)
    assert {name: on for name, on in indexes(path).items() if "repair_counts" not in name} == indexes(new)
    assert not columns(path).keys() & set(LESSON_TABLES)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("select version from schema_version").fetchall() == [(8,)]
    store = RunStore(path)
    assert (store.get("old-1").trajectory.steps[0].content, store.get("old-1").tape) == ("six", None)
    assert {run.run_id: run.has_tape for run in store.list()} == {"old-1": False, "run-1": True}
    prompts = PromptStore(path)
    assert accepted(prompts) == prompts.current(TEAM)


@pytest.mark.parametrize("version", [1, 2, 3, 4, 7])
def test_one_that_may_not_be_changed_is_read_as_it_is(tmp_path: Path, version: int) -> None:
    path = older(tmp_path, version)
    before = path.read_bytes()
    store = RunStore(path, read_only=True)
    assert store.get("old").trajectory.steps[0].agent == "solver"
    assert [run.tape for run in store.attempts(store.get("old", with_tape=False).session_id)] == [None]
    assert [(run.run_id, run.has_tape) for run in store.list()] == [("old-1", False)]
    assert (store.get("old").tags, store.list(tags={"release": "1.4"})) == ({}, ())
    assert [(count.team, count.runs) for count in store.counts()] == [("maths", 1)]
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


def test_runs_and_prompts_are_written_and_the_lessons_stay(tmp_path: Path) -> None:
    path = with_lessons(tmp_path)
    before = lessons_in(path)
    assert [len(rows) for rows in before.values()] == [1, 1, 1, 1]
    for _ in range(2):
        with RunStore(path) as runs:
            runs.save(make_run("old-1", outcome_reason="said anew"))
            runs.set_attribution("old-1", make_attribution("old-1"))
            runs.save(make_run("new-1"))
            assert {run.run_id for run in runs.list()} == {"old-1", "new-1"}
            assert runs.get("old-1").outcome_reason == "said anew"
            assert runs.get("new-1") == make_run("new-1")
    with PromptStore(path) as prompts:
        made = accepted(prompts)
        assert prompts.current(made.team) == made
    assert lessons_in(path) == before
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("select version from schema_version").fetchall() == [(8,)]


def test_it_is_read_without_a_change(tmp_path: Path) -> None:
    path = with_lessons(tmp_path)
    before = path.read_bytes()
    with RunStore(path, read_only=True) as runs, PromptStore(path, read_only=True) as prompts:
        assert runs.get("old-1").trajectory.steps[0].content == "six"
        assert [run.run_id for run in runs.list()] == ["old-1"]
        assert prompts.versions() == ()
    assert path.read_bytes() == before


def test_its_runs_are_deleted_and_what_was_learnt_stays(tmp_path: Path) -> None:
    path = with_lessons(tmp_path)
    tables = {name: rows for name, rows in lessons_in(path).items() if name in LESSON_TABLES}
    found = CliRunner().invoke(app, ["runs", "delete", "old-1", "--yes", "--store", str(path)])
    assert (found.exit_code, found.stdout) == (0, "1 run deleted\n")
    with RunStore(path) as runs:
        runs.save(make_run("new-1"))
        assert [run.run_id for run in runs.prune(Retention(keep=0))] == ["new-1"]
        assert runs.wipe()
        assert runs.list() == ()
    assert lessons_in(path) == {**tables, "runs": []}


def test_a_fork_that_version_7_kept_is_found_by_its_parent(tmp_path: Path) -> None:
    path = older(tmp_path, 7)
    parent = '{"run_id":"old-1","step":1,"change":"a \\"b\\"","kind":"say"}'
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "insert into runs select 'fork-1', 's2', 1, 'replay', team, framework, task, outcome, outcome_reason, "
            "started_us, ended_us, steps, input_tokens, output_tokens, agent, step, error_mode, confidence, "
            "abstained, trajectory, attribution, rewrite, tape, prompts, tags, ? from runs",
            (parent,),
        )
    assert RunStore(path, read_only=True).forks_of("old-1") == (), "an older file is read as it is"
    store = RunStore(path)
    store.save(make_run("run-1"))
    assert [(fork.run_id, fork.parent and fork.parent.step) for fork in store.forks_of("old-1")] == [("fork-1", 1)]
    assert store.forks_of("run-1") == store.forks_of() == ()
