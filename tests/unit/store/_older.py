"""Files as older versions of the library left them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tracer_hooks.store import RunStore
from tracer_hooks.store._tables import ADDED_IN

from ._runs import make_run

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
PROMPT_TABLES = ("prompt_versions", "prompt_teams", "prompt_outcomes", "prompt_tallies", "prompt_events")
LESSON_TABLES = ("lessons", "lesson_failures", "lesson_outcomes")
_TO_VERSION_5 = (
    "CREATE TABLE lessons (team TEXT NOT NULL, number INTEGER NOT NULL, team_name TEXT NOT NULL, "
    "framework TEXT NOT NULL, agent TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL, "
    "period INTEGER NOT NULL, created_us BIGINT NOT NULL, changed_us BIGINT NOT NULL, with_runs BIGINT NOT NULL, "
    "with_passes BIGINT NOT NULL, without_runs BIGINT NOT NULL, without_passes BIGINT NOT NULL, "
    "content BLOB NOT NULL, evidence BLOB NOT NULL, PRIMARY KEY (team, number))",
    "CREATE TABLE lesson_failures (team TEXT NOT NULL, agent TEXT NOT NULL, run_id TEXT NOT NULL, "
    "number INTEGER NOT NULL, PRIMARY KEY (team, agent, run_id))",
    "CREATE TABLE lesson_outcomes (position INTEGER NOT NULL, team TEXT NOT NULL, number INTEGER NOT NULL, "
    "run_id TEXT NOT NULL, period INTEGER NOT NULL, given BOOLEAN NOT NULL, passed BOOLEAN NOT NULL, "
    "share FLOAT NOT NULL, counted_us BIGINT NOT NULL, PRIMARY KEY (position), UNIQUE (team, number, run_id))",
    "CREATE INDEX ix_lesson_outcomes_period ON lesson_outcomes (team, number, period)",
    "ALTER TABLE runs ADD COLUMN lessons TEXT",
    "INSERT INTO lessons VALUES ('autogen-maths', 1, 'maths', 'autogen', 'solver', 'kept', 'it helps', 2, 1, 2, "
    "1, 1, 0, 0, x'00', x'ff')",
    "INSERT INTO lesson_failures VALUES ('autogen-maths', 'solver', 'old-1', 1)",
    "INSERT INTO lesson_outcomes VALUES (1, 'autogen-maths', 1, 'old-1', 1, 1, 1, 0.5, 3)",
    "UPDATE runs SET lessons = '[{\"number\": 1'",
    "UPDATE schema_version SET version = 5",
)
"""What the version that had lessons made of a file of version 4, and one lesson, which nobody could read."""


def older(folder: Path, version: int) -> Path:
    """A file of an older version with one run."""
    path = folder / f"version{version}.sqlite"
    if version == 1:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(VERSION_1)
        return path
    with RunStore(path) as store:
        store.save(make_run("old-1"))
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in PROMPT_TABLES if version < 4 else ():
            connection.execute(f"drop table {table}")
        for index in ["ix_runs_parent_id"] + ["ix_runs_newest"] * (version < 7):  # versions 8 and 7 brought them
            connection.execute(f"drop index {index}")
        for column in (name for name, added in ADDED_IN.items() if added > version):
            connection.execute(f"alter table runs drop column {column}")
        connection.execute(f"update schema_version set version = {version}")
    return path


def with_lessons(folder: Path) -> Path:
    """A file of version 5, the only one that had lessons, with one run and one lesson."""
    path = older(folder, 4)
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in _TO_VERSION_5:
            connection.execute(statement)
    return path


def lessons_in(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What the tables of lessons hold, and which lessons each run had."""
    queries = {name: f"select * from {name}" for name in LESSON_TABLES}
    queries["runs"] = "select run_id, lessons from runs where lessons is not null"
    with closing(sqlite3.connect(path)) as connection:
        return {name: connection.execute(query).fetchall() for name, query in queries.items()}
