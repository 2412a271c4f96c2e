"""A store in a file of SQLite: connections to it that several threads and processes may use at once."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import SQLAlchemyError
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from tracer_hooks._background import close_before_fork, no_fork
from tracer_hooks._files import HOME, make_store_file, opener, seal_home
from tracer_hooks.errors import StoreError
from tracer_hooks.store._place import advice_on, cause_of, no_store, refuse_write
from tracer_hooks.store._tables import is_up_to_date, prepare, read_version

_LOCK_WAIT_S = 0.01
"""How long SQLite itself waits for a lock. No fork and no block of another thread can happen meanwhile, so a long wait
is made of many such."""
_ADVICE = (
    ("locked|busy", "Another process is writing: try again when it is done, or set TRACER_HOOKS_STORE to another file"),
    ("not a database|malformed", "The file is damaged or no run store. Run: mv {path!r} {aside!r}"),
    ("full|no space", "Free some disk space, or set TRACER_HOOKS_STORE to a file on another disk"),
)
_ELSE = "Set TRACER_HOOKS_STORE to a file that can be written, or TRACER_HOOKS_STORE=off to keep no runs"
"""What to do by what SQLite or the system said."""
_Identity = tuple[int, int]
"""Device and number of a file."""


def _make_place(file: Path) -> None:
    """Create ``file`` and its directory, for the owner alone; keep our own out of the user's version control."""
    make_store_file(file)
    ignore = file.parent / ".gitignore"
    # Only in the directory that is ours: a store that the user put elsewhere must not hide other files.
    if file.parent.name == HOME and not ignore.exists():
        with open(ignore, "w", encoding="utf-8", opener=opener) as written:
            written.write("*\n")


class SqliteDatabase:
    """The store's file.

    Every block opens a connection of its own and closes it, which leaves nothing that a forked process or another
    thread could share by accident, and costs about a millisecond. Where many blocks follow each other, one connection
    may stay open between them: see ``stays_open``. No fork happens within a block, and none while a connection is open;
    while a block waits for another process to let go of the file, forks and the blocks of other threads go on.
    """

    dialect = "sqlite"

    def __init__(self, path: Path, *, busy_timeout_s: float, read_only: bool, stays_open: bool = False) -> None:
        self._path = path
        self._busy_timeout_s = busy_timeout_s
        self._read_only = read_only
        self._prepared: _Identity | None = None
        if stays_open:
            self._engine = sa.create_engine(
                "sqlite://", creator=self._connect, poolclass=sa.pool.QueuePool, pool_size=1, max_overflow=-1
            )
            close_before_fork(self)
        else:
            self._engine = sa.create_engine("sqlite://", creator=self._connect, poolclass=sa.pool.NullPool)
        sa.event.listen(self._engine, "begin", self._begin)
        self._reader = self._engine
        self._writer = self._engine.execution_options(tracer_hooks_begin="BEGIN IMMEDIATE")

    def exists(self) -> bool:
        """Tell whether there is a file."""
        return self._path.exists()

    @contextmanager
    def write(self, doing: str, *, alone: bool = True) -> Iterator[sa.Connection]:
        """A transaction that holds the write lock: whoever writes is ``alone``, and what was read stays true."""
        if self._read_only:
            raise refuse_write(doing, str(self._path))
        with self._errors(doing), self._begun(writes=True) as connection:
            yield connection

    @contextmanager
    def read(self, doing: str) -> Iterator[sa.Connection]:
        """A transaction that sees one state of the file and waits for no writer."""
        with self._errors(doing), self._begun(writes=False) as connection:
            yield connection

    @contextmanager
    def part(self, connection: sa.Connection, *, unread: bool = False) -> Iterator[None]:
        """A part of a transaction, by the driver as in :meth:`execute`."""
        driver = driver_of(connection)
        driver.execute("SAVEPOINT part").close()
        try:
            yield
        except BaseException as error:
            # After some errors SQLite has rolled back everything, with the savepoint.
            if driver.in_transaction and not self.is_to_blame(error):
                driver.execute("ROLLBACK TO part").close()
                driver.execute("RELEASE part").close()
            raise
        driver.execute("RELEASE part").close()

    def is_to_blame(self, error: BaseException) -> bool:
        """Tell whether an error speaks of the file: of the driver's these two do, their subclasses speak of values."""
        cause = cause_of(error)
        return isinstance(cause, sqlite3.OperationalError) or type(cause) is sqlite3.DatabaseError

    def execute(self, connection: sa.Connection, statement: sa.Insert, values: dict[str, Any]) -> None:
        """Run a statement that is compiled once, by the driver: to hand it to SQLAlchemy costs more than to run it."""
        text, names = _compiled(statement)
        driver_of(connection).execute(text, [values[name] for name in names]).close()

    def probe(self, doing: str) -> None:
        """Take the write lock and let go of it, without a change to the file."""
        with self._errors(doing):
            for attempt in self._retrying():
                with attempt, no_fork, closing(self._connect()) as connection:
                    connection.execute("BEGIN IMMEDIATE")
                    connection.execute("ROLLBACK")

    def wipe(self, *, compact: bool) -> bool:
        """Take what was deleted out of the write-ahead log as well; says whether no other process was in the way.

        Args:
            compact: Whether the file is written anew, without the room that deleted runs took. It then also holds
                nothing of what versions before this one replaced without overwriting it.
        """
        is_busy = True
        with self._errors("wipe what was deleted"):
            try:
                for attempt in self._retrying():
                    with attempt, no_fork, closing(self._connect()) as connection:
                        if compact:
                            connection.execute("VACUUM")
                        (is_busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except sqlite3.OperationalError as error:
                if not _is_locked(error):
                    raise
        return not is_busy

    def close_idle(self) -> None:
        """Close the connection that is kept for the next block, if there is one."""
        if no_fork.was_cut:  # it is the parent's
            return
        with no_fork:
            self._engine.dispose()

    def close(self) -> None:
        """Let go of everything; a later block opens the file anew."""
        self.close_idle()
        self._prepared = None

    @contextmanager
    def _begun(self, *, writes: bool) -> Iterator[sa.Connection]:
        """A transaction that has its lock; waiting for it is done outside of what no fork may cut in two."""
        begun: tuple[sa.Connection, AbstractContextManager[Any]] | None = None
        for attempt in self._retrying():
            with attempt:
                begun = self._begin_once(writes=writes)
        assert begun is not None  # the last attempt raises
        connection, open_until_here = begun
        with open_until_here:
            yield connection

    def _begin_once(self, *, writes: bool) -> tuple[sa.Connection, AbstractContextManager[Any]]:
        with ExitStack() as stack:
            stack.enter_context(no_fork)
            self._prepare()
            connection = stack.enter_context((self._writer if writes else self._reader).begin())
            driver = driver_of(connection)
            # Takes the shared lock, so that a file that is locked shows here and not within the caller's block.
            driver.execute("SELECT 1 FROM sqlite_master LIMIT 1").close()
            if writes:  # without a write-ahead log, the end of the transaction waits for readers
                _wait_for_locks(driver, self._busy_timeout_s)
            return connection, stack.pop_all()
        raise AssertionError("not reached")

    def _prepare(self) -> None:
        found = _identity(self._path)
        if found is not None and found == self._prepared:
            return
        self._engine.dispose()  # the user may delete or replace the file while we run: then it is made, or read, anew
        if self._read_only:
            self._check(found is not None)
        else:
            self._create(found is not None)
        self._prepared = _identity(self._path)

    def _check(self, exists: bool) -> None:
        if exists:
            with self._engine.begin() as connection:
                tables = sa.inspect(connection).get_table_names()
                if tables:  # else another process is making them right now
                    version = read_version(connection, tables)
                    self._reader = self._engine.execution_options(tracer_hooks_version=version)
                    return
        raise no_store(str(self._path))

    def _create(self, exists: bool) -> None:
        if not exists:
            _make_place(self._path)
        seal_home(self._path)
        if exists and self._is_up_to_date():  # no lock is needed then: others may hold it for long
            return
        self._use_write_ahead_log()
        with self._writer.begin() as connection:
            prepare(connection)

    def _is_up_to_date(self) -> bool:
        with self._engine.begin() as connection:
            tables = sa.inspect(connection).get_table_names()
            mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
            return mode == "wal" and is_up_to_date(connection, tables)

    def _use_write_ahead_log(self) -> None:
        # Readers then never wait for a writer. SQLite does not honour the busy timeout while it switches the
        # mode, and on file systems without shared memory it stays with the older mode, which is as correct.
        with closing(self._connect()) as connection:
            connection.execute("PRAGMA journal_mode=WAL")

    def _retrying(self) -> Retrying:
        return Retrying(
            retry=retry_if_exception(_is_locked),
            stop=stop_after_delay(self._busy_timeout_s),
            wait=wait_random_exponential(multiplier=0.002, max=0.05),
            reraise=True,
        )

    def _connect(self) -> sqlite3.Connection:
        if no_fork.was_cut:
            raise StoreError(
                f"run store {str(self._path)!r} cannot be used in this process: it was forked while another thread "
                "was at work in SQLite and did not end in time. Next: start the process again, by spawn perhaps"
            )
        mode = "ro" if self._read_only else "rwc"
        connection = sqlite3.connect(
            f"{self._path.as_uri()}?mode={mode}",
            uri=True,
            timeout=self._lock_wait_s,
            isolation_level=None,  # transactions begin where _begin says, not where the driver guesses
            check_same_thread=False,
        )
        connection.text_factory = _decoded
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA secure_delete=ON")  # what is deleted or replaced is overwritten in the file
        return connection

    @property
    def _lock_wait_s(self) -> float:
        return min(self._busy_timeout_s, _LOCK_WAIT_S)

    def _begin(self, connection: sa.Connection) -> None:
        # By the driver: a statement through SQLAlchemy costs as much as the whole of a short transaction.
        driver = driver_of(connection)
        _wait_for_locks(driver, self._lock_wait_s)  # a connection that was kept waits as long as its last block did
        driver.execute(connection.get_execution_options().get("tracer_hooks_begin", "BEGIN"))

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error, OSError, OverflowError) as error:
            self.close_idle()
            cause, path = cause_of(error), str(self._path)
            advice = advice_on(str(cause), _ADVICE, _ELSE).format(path=path, aside=f"{path}.damaged")
            told = StoreError(f"cannot {doing}: run store {path!r}: {cause}. {advice}")
            told.is_of_place = self.is_to_blame(cause) or not isinstance(cause, (sqlite3.Error, OverflowError))
            raise told from error


@functools.cache
def _compiled(statement: sa.Insert) -> tuple[str, Sequence[str]]:
    """Text of a statement, and the columns of its parameters."""
    compiled = statement.compile(dialect=sqlite.dialect(paramstyle="qmark"))
    return str(compiled), tuple(compiled.positiontup or ())


def driver_of(connection: sa.Connection) -> sqlite3.Connection:
    """SQLite's own connection below ``connection``, for the few statements that every stored run pays for."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def _identity(path: Path) -> _Identity | None:
    """Return the device and inode of the file that a path leads to; None for none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _wait_for_locks(driver: sqlite3.Connection, seconds: float) -> None:
    driver.execute(f"PRAGMA busy_timeout={round(seconds * 1000)}").close()


def _decoded(text: bytes) -> str:
    """A text as it was written; one that was damaged in the file must not make every row unreadable."""
    return text.decode("utf-8", "replace")


def _is_locked(error: BaseException) -> bool:
    code = getattr(cause_of(error), "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)  # the low byte: its class
