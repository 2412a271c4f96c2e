"""One transaction for everything that is kept of a call, or of several."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tracer_hooks.errors import StoreError
from tracer_hooks.store._driver import driver_of
from tracer_hooks.store._rows import row_of

if TYPE_CHECKING:
    import sqlalchemy as sa

    from tracer_hooks.store._prompt_records import PromptOutcome
    from tracer_hooks.store._records import StoredRun


@dataclass(frozen=True)
class PackedRun:
    """A run as the store's file holds it: small, and without any object of the user's."""

    values: Mapping[str, Any]
    """Column values."""

    @classmethod
    def of(cls, run: StoredRun) -> PackedRun:
        """``run``, packed."""
        return cls(row_of(run))

    @property
    def size(self) -> int:
        """How many bytes its texts and records take, nearly."""
        return sum(len(value) for value in self.values.values() if isinstance(value, (str, bytes)))


class Writing:
    """A transaction that goes on; see :meth:`RunStore.writing`."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    @contextmanager
    def part(self) -> Iterator[None]:
        """What is written within counts as a whole; where it is at fault, the rest of the transaction goes on.

        Raises:
            StoreError: What is written is at fault, and none of it was. A fault of the file leaves as it comes, and
                ends the transaction.
        """
        driver = driver_of(self._connection)
        driver.execute("SAVEPOINT part").close()
        try:
            yield
        except BaseException as error:
            cause = getattr(error, "orig", None) or error
            # Of the driver's errors these two speak of the file, their subclasses of values. After some of them SQLite
            # has rolled back everything, with the savepoint.
            is_files = isinstance(cause, sqlite3.OperationalError) or type(cause) is sqlite3.DatabaseError
            if driver.in_transaction and not is_files:
                driver.execute("ROLLBACK TO part").close()
                driver.execute("RELEASE part").close()
            if is_files or isinstance(error, StoreError) or not isinstance(error, Exception):
                raise
            raise StoreError(f"it cannot be written ({type(cause).__name__}: {cause})") from error
        driver.execute("RELEASE part").close()

    def save(self, run: PackedRun) -> None:
        """As :meth:`RunStore.save`."""
        from tracer_hooks.store import _queries

        _queries.upsert(self._connection, run.values)

    def add_repair_counts(self, team: str, rows: Iterable[tuple[str, int, int, str, int, int]]) -> None:
        """As :meth:`RunStore.add_repair_counts`."""
        from tracer_hooks.store import _repair_counts

        _repair_counts.add(self._connection, team, rows)

    def count_for_prompts(self, team: str, number: int, outcome: PromptOutcome) -> bool:
        """As :meth:`PromptStore.count`."""
        from tracer_hooks.store import _prompt_changes

        return _prompt_changes.count(self._connection, team, number, outcome)
