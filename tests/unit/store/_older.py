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


def older(folder: Path, version: int) -> Path:
    """A file of an older version with one run."""
    path = folder / f"version{version}.sqlite"
    if version == 1:
        return version_1(path)
    with RunStore(path) as store:
        store.save(make_run("old-1"))
    with closing(sqlite3.connect(path)) as connection, connection:
        dropped = PROMPT_TABLES if version == 3 else (*PROMPT_TABLES, "repair_counts")
        for table in dropped:
            connection.execute(f"drop table {table}")
        for column in (name for name, since in ADDED_IN.items() if since > version):
            connection.execute(f"alter table runs drop column {column}")
        connection.execute(f"update schema_version set version = {version}")
    return path
