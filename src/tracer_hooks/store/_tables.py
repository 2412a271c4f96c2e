"""The store's tables, their version, and the migrations from older ones."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

from tracer_hooks.errors import StoreError
from tracer_hooks.schema import to_text

STORE_VERSION = 8
"""Version of the tables; raised with every change of them, with a migration. Version 5 was version 4 with three tables
and a column of ``runs`` for lessons, which were taken out again: nothing reads or changes what a file holds of them."""


# In the words of their versions of the tables: those of the library may change once more, these steps may not. Those
# from version 7 on are for a PostgreSQL server as well.
MIGRATIONS = {
    1: ("ALTER TABLE runs ADD COLUMN tape BLOB",),
    2: (
        "CREATE TABLE repair_counts (team TEXT NOT NULL, strategy TEXT NOT NULL, kept INTEGER NOT NULL, "
        "holds INTEGER NOT NULL, error_mode TEXT NOT NULL, trials BIGINT NOT NULL, passes BIGINT NOT NULL, "
        "PRIMARY KEY (team, strategy, kept, holds, error_mode))",
    ),
    3: (
        "CREATE TABLE prompt_versions (team TEXT NOT NULL, number INTEGER NOT NULL, parent INTEGER, "
        "team_name TEXT NOT NULL, framework TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL, "
        "created_us BIGINT NOT NULL, changed_us BIGINT NOT NULL, accepted_us BIGINT, content BLOB NOT NULL, "
        "evidence BLOB NOT NULL, PRIMARY KEY (team, number))",
        "CREATE TABLE prompt_teams (team TEXT NOT NULL, current INTEGER, pinned INTEGER, PRIMARY KEY (team))",
        "CREATE TABLE prompt_outcomes (position INTEGER NOT NULL, team TEXT NOT NULL, number INTEGER NOT NULL, "
        "run_id TEXT NOT NULL, arm TEXT NOT NULL, phase TEXT NOT NULL, passed BOOLEAN NOT NULL, score FLOAT NOT NULL, "
        "counted_us BIGINT NOT NULL, task TEXT NOT NULL, PRIMARY KEY (position), UNIQUE (team, number, run_id))",
        "CREATE TABLE prompt_tallies (team TEXT NOT NULL, number INTEGER NOT NULL, phase TEXT NOT NULL, "
        "arm TEXT NOT NULL, runs BIGINT NOT NULL, passes BIGINT NOT NULL, score FLOAT NOT NULL, "
        "PRIMARY KEY (team, number, phase, arm))",
        "CREATE TABLE prompt_events (position INTEGER NOT NULL, team TEXT NOT NULL, number INTEGER, "
        "what TEXT NOT NULL, reason TEXT NOT NULL, at_us BIGINT NOT NULL, PRIMARY KEY (position))",
        "CREATE INDEX ix_prompt_events_team ON prompt_events (team)",
        "ALTER TABLE runs ADD COLUMN prompts TEXT",
    ),
    4: (),
    5: ("ALTER TABLE runs ADD COLUMN tags TEXT",),
    6: (
        "ALTER TABLE runs ADD COLUMN parent TEXT",
        "DROP INDEX IF EXISTS ix_runs_team",
        "DROP INDEX IF EXISTS ix_runs_started_us",
        "CREATE INDEX ix_runs_newest ON runs "
        "(started_us DESC, run_id, kind, team, outcome, input_tokens, output_tokens, tags)",
    ),
    7: (
        "ALTER TABLE runs ADD COLUMN source TEXT",
        "ALTER TABLE runs ADD COLUMN parent_id TEXT",
        # The id is the first thing in a parent's JSON, behind 11 characters.
        "UPDATE runs SET parent_id = substr(parent, 12, instr(substr(parent, 12), '\"') - 1) WHERE parent IS NOT NULL",
        "CREATE INDEX ix_runs_parent_id ON runs (parent_id)",
    ),
}
"""The statements under n turn tables of version n into version n + 1; they run inside the opening transaction."""

ADDED_IN = {"tape": 2, "prompts": 4, "tags": 6, "parent": 7, "source": 8, "parent_id": 8}
"""Columns with the version that brought them: an older file that may not be changed is read without them."""

PROMPTS_SINCE = 4
"""The version that brought the tables of prompts."""

metadata = sa.MetaData()


class _ServerText(sa.TypeDecorator[str]):
    """Text on a server, which takes no NUL, and compares signs by number, as SQLite does."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        return None if value is None else to_text(value).replace("\0", "\N{SYMBOL FOR NULL}")


_TEXT = sa.Text().with_variant(_ServerText(collation="C"), "postgresql")
_COUNTED = sa.Integer().with_variant(sa.BigInteger(), "postgresql")  # SQLite counts by itself what is an INTEGER alone


class instr(sa.sql.functions.GenericFunction[int]):
    """Where a text begins in another one, with upper and lower case told apart; 0 for nowhere. SQLite's."""

    type = sa.Integer()
    inherit_cache = True


class total(sa.sql.functions.GenericFunction[float]):
    """A sum that nothing overflows. SQLite's."""

    type = sa.Float()
    inherit_cache = True


@compiles(instr, "postgresql")
def _strpos(element: Any, compiler: Any, **options: Any) -> str:
    return f"strpos({compiler.process(element.clauses, **options)})"


@compiles(total, "postgresql")
def _sum(element: Any, compiler: Any, **options: Any) -> str:
    return f"sum(CAST({compiler.process(element.clauses, **options)} AS DOUBLE PRECISION))"


schema_version = sa.Table("schema_version", metadata, sa.Column("version", sa.Integer, nullable=False))

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("run_id", _TEXT, primary_key=True),
    sa.Column("session_id", _TEXT, nullable=False, index=True),
    sa.Column("attempt", sa.BigInteger, nullable=False),
    sa.Column("kind", _TEXT, nullable=False),
    sa.Column("team", _TEXT, nullable=False),
    sa.Column("framework", _TEXT, nullable=False),
    sa.Column("task", _TEXT, nullable=False),
    sa.Column("outcome", _TEXT, nullable=False),
    sa.Column("outcome_reason", _TEXT),
    sa.Column("started_us", sa.BigInteger, nullable=False),  # microseconds since the epoch
    sa.Column("ended_us", sa.BigInteger),
    # What a summary shows of the records below.
    sa.Column("steps", sa.BigInteger, nullable=False),
    sa.Column("input_tokens", sa.BigInteger, nullable=False),
    sa.Column("output_tokens", sa.BigInteger, nullable=False),
    sa.Column("agent", _TEXT),
    sa.Column("step", sa.BigInteger),
    sa.Column("error_mode", _TEXT),
    sa.Column("confidence", sa.Float),
    sa.Column("abstained", sa.Boolean, nullable=False),
    # The whole records, packed JSON.
    sa.Column("trajectory", sa.LargeBinary, nullable=False),
    sa.Column("attribution", sa.LargeBinary),
    # What was tried to recover the call. The column is named for what it held up to version 2 of the library's store.
    sa.Column("rewrite", sa.LargeBinary),
    sa.Column("tape", sa.LargeBinary),
    sa.Column("prompts", _TEXT),  # which accepted prompts the run was made on: short JSON
    sa.Column("tags", _TEXT),  # what the user says of it: JSON
    sa.Column("parent", _TEXT),  # the run that it was made of, and the change: short JSON
    sa.Column("source", _TEXT),  # what builds and checks its team, and places in its code: short JSON
    sa.Column("parent_id", _TEXT, index=True),  # of ``parent``
)

# All that runs are chosen, ordered and counted by, so that neither a list nor a count reads rows in vain. A server has
# no room there for tags, which may be long.
_NEWEST_BY = ("kind", "team", "outcome", "input_tokens", "output_tokens")
_newest = (runs.c.started_us.desc(), runs.c.run_id)
sa.Index("ix_runs_newest", *_newest, *(runs.c[name] for name in (*_NEWEST_BY, "tags"))).ddl_if(dialect="sqlite")
sa.Index("ix_runs_newest", *_newest, postgresql_include=_NEWEST_BY).ddl_if(dialect="postgresql")

# Prompts of a team: versions that are never deleted, which of them is used, and what was counted and done.
prompt_versions = sa.Table(
    "prompt_versions",
    metadata,
    sa.Column("team", _TEXT, primary_key=True),  # the team's fingerprint
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("parent", sa.Integer),
    sa.Column("team_name", _TEXT, nullable=False),
    sa.Column("framework", _TEXT, nullable=False),
    sa.Column("state", _TEXT, nullable=False),
    sa.Column("reason", _TEXT, nullable=False),
    sa.Column("created_us", sa.BigInteger, nullable=False),
    sa.Column("changed_us", sa.BigInteger, nullable=False),
    sa.Column("accepted_us", sa.BigInteger),
    sa.Column("content", sa.LargeBinary, nullable=False),  # texts and where they come from: packed JSON, never changed
    sa.Column("evidence", sa.LargeBinary, nullable=False),  # packed JSON
)

prompt_teams = sa.Table(
    "prompt_teams",
    metadata,
    sa.Column("team", _TEXT, primary_key=True),
    sa.Column("current", sa.Integer),
    sa.Column("pinned", sa.Integer),
)

prompt_outcomes = sa.Table(
    "prompt_outcomes",
    metadata,
    sa.Column("position", _COUNTED, primary_key=True),
    sa.Column("team", _TEXT, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("run_id", _TEXT, nullable=False),
    sa.Column("arm", _TEXT, nullable=False),
    sa.Column("phase", _TEXT, nullable=False),
    sa.Column("passed", sa.Boolean, nullable=False),
    sa.Column("score", sa.Float, nullable=False),
    sa.Column("counted_us", sa.BigInteger, nullable=False),
    sa.Column("task", _TEXT, nullable=False),
    sa.UniqueConstraint("team", "number", "run_id"),
)

# Sums of the outcomes, so that a version with a million runs is read as fast as a new one.
prompt_tallies = sa.Table(
    "prompt_tallies",
    metadata,
    sa.Column("team", _TEXT, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("phase", _TEXT, primary_key=True),
    sa.Column("arm", _TEXT, primary_key=True),
    sa.Column("runs", sa.BigInteger, nullable=False),
    sa.Column("passes", sa.BigInteger, nullable=False),
    sa.Column("score", sa.Float, nullable=False),
)

prompt_events = sa.Table(
    "prompt_events",
    metadata,
    sa.Column("position", _COUNTED, primary_key=True),
    sa.Column("team", _TEXT, nullable=False, index=True),
    sa.Column("number", sa.Integer),
    sa.Column("what", _TEXT, nullable=False),
    sa.Column("reason", _TEXT, nullable=False),
    sa.Column("at_us", sa.BigInteger, nullable=False),
)


def prepare(connection: sa.Connection) -> None:
    """Create the tables in an empty file, or bring older ones up to date. Call it inside a write transaction."""
    tables = sa.inspect(connection).get_table_names()
    if not tables:
        metadata.create_all(connection)
        connection.execute(schema_version.insert().values(version=STORE_VERSION))
        return
    version = read_version(connection, tables)
    if version < STORE_VERSION:
        _migrate(connection, version)


def is_up_to_date(connection: sa.Connection, tables: list[str]) -> bool:
    """Tell whether the file holds the tables of this version, so that :func:`prepare` has nothing to do."""
    return bool(tables) and read_version(connection, tables) >= STORE_VERSION


def read_version(connection: sa.Connection, tables: list[str]) -> int:
    """The version of the tables in the file."""
    found = connection.scalar(sa.select(schema_version.c.version)) if "schema_version" in tables else None
    if not isinstance(found, int) or "runs" not in tables:
        shown = ", ".join(map(repr, sorted(tables)[:5]))
        raise StoreError(
            f"the run store holds the tables of another program ({shown}), "
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
        for statement in MIGRATIONS[version]:
            connection.exec_driver_sql(statement)
        version += 1
    connection.execute(schema_version.update().values(version=version))


def version_of_file(connection: sa.Connection) -> int:
    """Version of the tables that ``connection`` reads: an older one only in a file that may not be changed."""
    version: int = connection.get_execution_options().get("tracer_hooks_version", STORE_VERSION)
    return version
