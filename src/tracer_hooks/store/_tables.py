"""The store's tables, their version, and the migrations from older ones."""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from tracer_hooks.errors import StoreError

STORE_VERSION = 2
"""Version of the tables; raised with every change of them, with a migration."""


def _add_tapes(connection: sa.Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE runs ADD COLUMN tape BLOB")


MIGRATIONS: dict[int, Callable[[sa.Connection], None]] = {1: _add_tapes}
"""``MIGRATIONS[n]`` turns tables of version n into version n + 1; it runs inside the opening transaction."""

ADDED_IN = {"tape": 2}
"""Columns with the version that brought them: an older file that may not be changed is read without them."""

metadata = sa.MetaData()

schema_version = sa.Table("schema_version", metadata, sa.Column("version", sa.Integer, nullable=False))

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("session_id", sa.Text, nullable=False, index=True),
    sa.Column("attempt", sa.BigInteger, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("team", sa.Text, nullable=False, index=True),
    sa.Column("framework", sa.Text, nullable=False),
    sa.Column("task", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("outcome_reason", sa.Text),
    sa.Column("started_us", sa.BigInteger, nullable=False, index=True),  # microseconds since the epoch
    sa.Column("ended_us", sa.BigInteger),
    # What a summary shows of the records below.
    sa.Column("steps", sa.BigInteger, nullable=False),
    sa.Column("input_tokens", sa.BigInteger, nullable=False),
    sa.Column("output_tokens", sa.BigInteger, nullable=False),
    sa.Column("agent", sa.Text),
    sa.Column("step", sa.BigInteger),
    sa.Column("error_mode", sa.Text),
    sa.Column("confidence", sa.Float),
    sa.Column("abstained", sa.Boolean, nullable=False),
    # The whole records, packed JSON.
    sa.Column("trajectory", sa.LargeBinary, nullable=False),
    sa.Column("attribution", sa.LargeBinary),
    sa.Column("rewrite", sa.LargeBinary),
    sa.Column("tape", sa.LargeBinary),
)


def prepare(connection: sa.Connection) -> None:
    """Create the tables in an empty file, or bring older ones up to date. Call it inside a write transaction.

    Raises:
        StoreError: The file belongs to another program or to a newer version.
    """
    tables = sa.inspect(connection).get_table_names()
    if not tables:
        metadata.create_all(connection)
        connection.execute(schema_version.insert().values(version=STORE_VERSION))
        return
    version = read_version(connection, tables)
    if version < STORE_VERSION:
        _migrate(connection, version)


def read_version(connection: sa.Connection, tables: list[str]) -> int:
    """The version of the tables in the file.

    Raises:
        StoreError: The file belongs to another program or to a newer version.
    """
    found = connection.scalar(sa.select(schema_version.c.version)) if "schema_version" in tables else None
    if not isinstance(found, int) or "runs" not in tables:
        shown = ", ".join(map(repr, sorted(tables)[:5]))
        raise StoreError(
            f"the SQLite file holds the tables of another program ({shown}), "
            "expected a tracer-hooks run store. Run: export TRACER_HOOKS_STORE=another-file.sqlite"
        )
    if found > STORE_VERSION:
        raise StoreError(
            f"the run store has version {found}, this version reads up to {STORE_VERSION}. "
            "Run: pip install --upgrade tracer-hooks"
        )
    return found


def _migrate(connection: sa.Connection, version: int) -> None:
    while version < STORE_VERSION:
        if version not in MIGRATIONS:
            raise StoreError(
                f"the run store has unknown version {version}, expected 1 to {STORE_VERSION}. "
                "Run: export TRACER_HOOKS_STORE=another-file.sqlite"
            )
        MIGRATIONS[version](connection)
        version += 1
    connection.execute(schema_version.update().values(version=version))
