"""Where a store is, and what is asked of the database there, whichever it is."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

import sqlalchemy as sa

from tracer_hooks.config import ServerUrl, StorePlace, place_of, store_place
from tracer_hooks.errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy.dialects import sqlite

    from tracer_hooks.store._database import SqliteDatabase
    from tracer_hooks.store._postgres import PostgresDatabase

    Database: TypeAlias = SqliteDatabase | PostgresDatabase
    """Tables that several threads and processes may use at once. Every method raises :class:`StoreError`; what is done,
    ``doing``, completes "cannot ..." in it."""

_FILE = "runs.sqlite"
_LOCK = 0x7261636572
"""Number of the lock of those who want to be alone, in a database of a server; of nobody else's, one hopes."""


class Store:
    """A store that several threads and processes may use at once; see the classes that derive from it."""

    def __init__(
        self,
        path: str | os.PathLike[str] | ServerUrl | None = None,
        *,
        busy_timeout_s: float = 5.0,
        read_only: bool = False,
        stays_open: bool = False,
    ) -> None:
        self._place = default_place() if path is None else _absolute(path)
        self._database = _database_at(
            self._place, busy_timeout_s=busy_timeout_s, read_only=read_only, stays_open=stays_open
        )

    @property
    def place(self) -> StorePlace:
        """The SQLite file, absolute, or the URL of the server; another store of the same place is made of it."""
        return self._place

    @property
    def name(self) -> str:
        """The place for people: the file, or the URL without its password."""
        return str(self._place)

    @property
    def path(self) -> Path:
        """The SQLite file, absolute.

        Raises:
            StoreError: The store is on a server.
        """
        if not isinstance(self._place, Path):
            raise StoreError(f"run store {self.name!r} is no file. Next: take its place or name instead of its path")
        return self._place

    def exists(self) -> bool:
        """Tell whether there is a store at the place; none is made."""
        return self._database.exists()

    def close_idle(self) -> None:
        """Close what ``stays_open`` keeps open between uses; the next use opens it again."""
        self._database.close_idle()

    def close(self) -> None:
        """Let go of the file or the server; the store may be used again, which opens it anew."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def default_place() -> StorePlace:
    """Where the store is: what ``TRACER_HOOKS_STORE`` names, else ``.tracer_hooks/runs.sqlite`` right here.

    Raises:
        StoreError: The variable says ``off``.
    """
    named = store_place()
    if named is None:
        raise StoreError(
            "the run store is switched off by TRACER_HOOKS_STORE='off'. Run: unset TRACER_HOOKS_STORE, or pass path="
        )
    return _absolute(named)


def _absolute(named: str | os.PathLike[str] | ServerUrl) -> StorePlace:
    """The place, with a file made absolute; a directory stands for ``runs.sqlite`` inside it."""
    place = place_of(named)
    if isinstance(place, ServerUrl):
        return place
    given = place.expanduser().absolute()
    return given / _FILE if given.is_dir() else given


def _database_at(place: StorePlace, *, busy_timeout_s: float, read_only: bool, stays_open: bool) -> Database:
    if isinstance(place, ServerUrl):
        from tracer_hooks.store._postgres import PostgresDatabase

        return PostgresDatabase(place, busy_timeout_s=busy_timeout_s, read_only=read_only, stays_open=stays_open)
    from tracer_hooks.store._database import SqliteDatabase

    return SqliteDatabase(place, busy_timeout_s=busy_timeout_s, read_only=read_only, stays_open=stays_open)


def cause_of(error: BaseException) -> BaseException:
    """The driver's own error below one of SQLAlchemy's."""
    return getattr(error, "orig", None) or error


def advice_on(said: str, advice: Sequence[tuple[str, str]], otherwise: str) -> str:
    """What to do by what the database said."""
    return next((told for signs, told in advice if re.search(signs, said, re.IGNORECASE)), otherwise)


def refuse_write(doing: str, name: str) -> StoreError:
    """The error of a change where the store was opened to be looked at."""
    return StoreError(
        f"cannot {doing}: the run store {name!r} was opened read-only. "
        "Next: open it with RunStore(path=...) without read_only=True"
    )


def no_store(name: str) -> StoreError:
    """The error of a look where nothing was stored yet."""
    return StoreError(
        f"there is no run store at {name!r} yet. Next: run a hooked team in this directory, or set TRACER_HOOKS_STORE "
        "to another one"
    )


def insert_into(dialect: str, table: sa.Table) -> sqlite.Insert:
    """``INSERT`` that may say what happens ``ON CONFLICT``: both databases have it, and SQLAlchemy has one for each."""
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql

        return cast("sqlite.Insert", postgresql.insert(table))  # the same methods
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)


def add_row(connection: sa.Connection, table: sa.Table, values: Mapping[str, Any]) -> bool:
    """Write a row unless there is one with its key; says whether it was written."""
    statement = insert_into(connection.dialect.name, table).values(values).on_conflict_do_nothing().inline()
    if connection.dialect.name == "postgresql":  # whose driver has forgotten the count of rows
        return connection.execute(statement.returning(sa.literal_column("1"))).first() is not None
    return connection.execute(statement).rowcount > 0


def wait_for_others(connection: sa.Connection) -> None:
    """Be alone among those who ask for it, until the transaction ends; whoever writes a file of SQLite is so anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
