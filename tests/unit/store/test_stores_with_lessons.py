"""A store of the version that had lessons opens, works, and keeps what it holds of them as it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from typer.testing import CliRunner

from tracer_hooks.cli.app import app
from tracer_hooks.config import Retention
from tracer_hooks.store import PromptStore, RunStore

from ._older import LESSON_TABLES, lessons_in, with_lessons
from ._prompts import accepted
from ._runs import make_attribution, make_run


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (version,) = connection.execute("select version from schema_version").fetchone()
    return int(version)


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
    assert version_of(path) == 5


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
