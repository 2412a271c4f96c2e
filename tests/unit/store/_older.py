"""Files as older versions of the library left them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tracer_hooks.store import RunStore
from tracer_hooks.store._tables import ADDED_IN

from ._runs import make_run
from .test_tapes import version_1

PROMPT_TABLES = ("prompt_versions", "prompt_teams", "prompt_outcomes", "prompt_tallies", "prompt_events")
LESSON_TABLES = ("lessons", "lesson_failures", "lesson_outcomes")


def older(folder: Path, version: int) -> Path:
    """A file of an older version with one run."""
    path = folder / f"version{version}.sqlite"
    if version == 1:
        return version_1(path)
    with RunStore(path) as store:
        store.save(make_run("old-1"))
    with closing(sqlite3.connect(path)) as connection, connection:
        since = {**dict.fromkeys(LESSON_TABLES, 5), **dict.fromkeys(PROMPT_TABLES, 4), "repair_counts": 3}
        for table in (name for name, added in since.items() if added > version):
            connection.execute(f"drop table {table}")
        for column in (name for name, added in ADDED_IN.items() if added > version):
            connection.execute(f"alter table runs drop column {column}")
        connection.execute(f"update schema_version set version = {version}")
    return path
