"""A store on a PostgreSQL server: connections that several threads and processes may use at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg import conninfo
from sqlalchemy.exc import SQLAlchemyError

from tracer_hooks._background import close_before_fork
from tracer_hooks.config import ServerUrl
from tracer_hooks.errors import StoreError
from tracer_hooks.store._place import advice_on, cause_of, no_store, refuse_write, wait_for_others
from tracer_hooks.store._tables import is_up_to_date, prepare, read_version

SCHEMA = "tracer_hooks"
"""Where the tables are, so that a store shares a database with other programs."""
_OLDEST, _PER_MAJOR = 12, 10_000
_STATEMENT_S = 30
_DEFAULTS = {
    "connect_timeout": 2,
    "application_name": "tracer-hooks",
    # A server that is gone without a word is noticed.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""What the URL does not say: in seconds, but for the last, which is in milliseconds."""
_OF_VALUES = (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProgramLimitExceeded)
_ADVICE = (
    (r"password|authentication|pg_hba", "Check user and password: PGPASSWORD, ~/.pgpass or the URL"),
    (r"permission denied|must be owner", f"Let its owner run: CREATE SCHEMA {SCHEMA} AUTHORIZATION the-user"),
    (r"database .* does not exist", "Let its owner run: CREATE DATABASE with this name"),
    (r"read-only transaction|recovery", "This server takes no changes: name the primary server in TRACER_HOOKS_STORE"),
    (r"too many|connection slots", "Raise max_connections, or let fewer processes store at once"),
    (r"no space|disk full|could not extend", "Free some disk space on the server"),
    (r"lock timeout|deadlock|statement timeout", "Others keep the server busy: try again when they are done"),
)
"""What to do by what the server said."""
_ELSE = "Start the server or set TRACER_HOOKS_STORE to another one, or TRACER_HOOKS_STORE=off to keep no runs"


class PostgresDatabase:
    """Tables in the schema ``tracer_hooks`` of a database on a server.

    Every block has a connection of its own; where many blocks follow each other, one may stay open between them: see
    ``stays_open``. A forked process never uses a connection of its parent's. No error shows or leads to the password.
    """

    dialect = "postgresql"

    def __init__(self, url: ServerUrl, *, busy_timeout_s: float, read_only: bool, stays_open: bool = False) -> None:
        self._url, self._name = url, str(url)
        self._busy_timeout_s = busy_timeout_s
        self._read_only = read_only
        self._stays_open = stays_open
        self._start()
        if stays_open:
            close_before_fork(self)

    def exists(self) -> bool:
        """Tell whether there are tables of a store."""
        with self._errors("find the run store"), self._engine.connect() as connection:
            return bool(connection.scalar(sa.select(sa.func.to_regclass(f"{SCHEMA}.schema_version").is_not(None))))

    @contextmanager
    def write(self, doing: str, *, alone: bool = False) -> Iterator[sa.Connection]:
        """A transaction beside those of others; with ``alone``, after those that want the same."""
        if self._read_only:
            raise refuse_write(doing, self._name)
        with self._errors(doing):
            self._prepare()
            with self._engine.begin() as connection:
                if alone:
                    wait_for_others(connection)
                yield connection

    @contextmanager
    def read(self, doing: str) -> Iterator[sa.Connection]:
        """A transaction that sees one state of the database and waits for no writer."""
        with self._errors(doing):
            self._prepare()
            with self._reader.begin() as connection:
                yield connection

    @contextmanager
    def part(self, connection: sa.Connection, *, unread: bool = False) -> Iterator[None]:
        """A part of a transaction; what nobody reads in between goes to the server and back once."""
        if not unread:
            with connection.begin_nested():
                yield
            return
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        sending = ExitStack()
        sending.enter_context(driver.pipeline())
        try:
            driver.execute("SAVEPOINT part")
            yield
            driver.execute("RELEASE part")
            sending.close()  # waits for the answers, of which the first error is raised
        except BaseException as error:
            with suppress(psycopg.Error):  # of what was sent, again
                sending.close()
            if not self.is_to_blame(error):
                driver.execute("ROLLBACK TO part")
                driver.execute("RELEASE part")
            raise

    def is_to_blame(self, error: BaseException) -> bool:
        """Tell whether an error speaks of the server, and not of the values that it was given."""
        cause = cause_of(error)
        return isinstance(cause, psycopg.Error) and not isinstance(cause, _OF_VALUES)

    def execute(self, connection: sa.Connection, statement: sa.Insert, values: dict[str, Any]) -> None:
        """Run a statement; SQLAlchemy keeps what it makes of one that it has seen."""
        connection.execute(statement, values)

    def probe(self, doing: str) -> None:
        """Take the lock of those who write, which needs their rights, and let go of it."""
        with self._errors(doing), self._engine.connect() as connection:
            connection.execute(sa.text("LOCK TABLE runs IN ROW EXCLUSIVE MODE"))

    def wipe(self, *, compact: bool) -> bool:
        """Give the room of what was deleted back to the table. Its bytes stay until the server writes over them."""
        with self._errors("wipe what was deleted"):
            self._prepare()
            with self._engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
                connection.execute(sa.text("SET statement_timeout = 0"))
                connection.execute(sa.text("VACUUM runs"))
                connection.invalidate()  # with its setting
        return False

    def close_idle(self) -> None:
        """Close the connection that is kept for the next block, if there is one."""
        if self._process == os.getpid():
            self._engine.dispose()

    def close(self) -> None:
        """Let go of everything; a later block connects anew."""
        self.close_idle()
        self._is_prepared = False

    def _start(self) -> None:
        pool: dict[str, Any] = {"poolclass": sa.pool.NullPool}
        if self._stays_open:
            pool = {"poolclass": sa.pool.QueuePool, "pool_size": 1, "max_overflow": -1, "pool_pre_ping": True}
        self._engine = sa.create_engine(
            "postgresql+psycopg://", creator=self._connect, hide_parameters=True, use_native_hstore=False, **pool
        )
        self._reader = self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._is_prepared = False
        self._process = os.getpid()

    def _prepare(self) -> None:
        if self._process != os.getpid():
            self._start()  # what is open is the parent's
        if self._is_prepared:
            return
        with self._engine.begin() as connection:
            tables = sa.inspect(connection).get_table_names()
            if self._read_only:
                if not tables:
                    raise no_store(self._name)
                self._reader = self._reader.execution_options(tracer_hooks_version=read_version(connection, tables))
            elif not is_up_to_date(connection, tables):
                wait_for_others(connection)
                if not sa.inspect(connection).has_schema(SCHEMA):
                    connection.execute(sa.schema.CreateSchema(SCHEMA))
                prepare(connection)
        self._is_prepared = True

    def _connect(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(**{**_DEFAULTS, **self._parameters()}, autocommit=True, prepare_threshold=None)
        try:
            version, encoding = connection.info.server_version, connection.info.parameter_status("server_encoding")
            if version < _OLDEST * _PER_MAJOR:
                raise self._unfit(f"PostgreSQL {version // _PER_MAJOR}", f"{_OLDEST} or later", "upgrade the server")
            if encoding != "UTF8":
                raise self._unfit(f"in {encoding}", "UTF8", "CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0")
            connection.execute(
                f"SET search_path = {SCHEMA}; SET client_encoding = 'UTF8'; SET statement_timeout = '{_STATEMENT_S}s'; "
                f"SET idle_in_transaction_session_timeout = '{2 * _STATEMENT_S}s'; "
                f"SET lock_timeout = '{max(round(self._busy_timeout_s * 1000), 1)}ms'"
            )
            connection.autocommit = False
        except BaseException:
            connection.close()
            raise
        return connection

    def _parameters(self) -> dict[str, Any]:
        """The parts of the URL, as libpq reads them."""
        scheme, _, rest = self._url.secret.partition("://")
        try:
            return conninfo.conninfo_to_dict(f"{scheme.partition('+')[0].lower()}://{rest}")
        except psycopg.Error:  # which quotes what it cannot read
            pass
        raise self._unfit("a URL that cannot be read", "postgresql://user@host:5432/database", "escape signs as %40")

    def _unfit(self, found: str, expected: str, next_step: str) -> StoreError:
        return StoreError(f"run store {self._name!r} is {found}, expected {expected}. Next: {next_step}")

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
            return
        except (SQLAlchemyError, psycopg.Error, OSError) as error:
            cause = cause_of(error)
            text = " ".join(str(cause).split())
            is_of_place = self.is_to_blame(cause) or not isinstance(cause, psycopg.Error)
            del cause  # which leads to what the driver was given
        self.close()
        password = self._parameters().get("password")
        text = (text.replace(str(password), "***") if password else text).rstrip(".")
        told = StoreError(f"cannot {doing}: run store {self._name!r}: {text}. {advice_on(text, _ADVICE, _ELSE)}")
        told.is_of_place = is_of_place
        try:
            raise told from None
        except StoreError as error:
            error.__context__ = None  # it leads to what the driver was given
            raise
