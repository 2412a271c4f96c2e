"""The runs in the store: what callers see, and the statements that it runs."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from tracer_hooks._guard import warn_once
from tracer_hooks.config import Retention
from tracer_hooks.errors import StoreError
from tracer_hooks.schema import Attribution, RunKind, RunOutcome
from tracer_hooks.store._packing import DAY_US, EPOCH_DAY, from_microseconds, to_microseconds
from tracer_hooks.store._place import Store, add_row, cause_of, insert_into
from tracer_hooks.store._prompt_store import count_run
from tracer_hooks.store._records import (
    SUMMARY_TASK_CHARS,
    PackedRun,
    RunCount,
    RunSummary,
    StoredRun,
    attribution_columns,
    attribution_of,
    count_of,
    run_of,
    summary_of,
    tags_column,
)
from tracer_hooks.store._tables import ADDED_IN, prompt_outcomes, runs, version_of_file

if TYPE_CHECKING:
    from tracer_hooks.store._place import Database
    from tracer_hooks.store._prompt_records import PromptOutcome

_MATCHES_SHOWN = 5
_OPTIONAL = {"attribution": tuple(attribution_columns(None)), "rewrite": ("rewrite",), "tape": ("tape",)}
"""What of a run stays where a later save has none of it: by the column that says so, the columns."""
_IN_ORDER = (runs.c.attempt, runs.c.started_us, runs.c.run_id)
"""The order of the attempts of a call."""
_NEWEST = (runs.c.started_us.desc(), runs.c.run_id)
"""The newest first."""
_PARAMETERS = 500
"""How many ids one statement names; SQLite takes so many and no more."""
_REMOVE = runs.delete().where(runs.c.run_id == sa.bindparam("id"))


class Writing:
    """A transaction that goes on; see :meth:`RunStore.writing`."""

    def __init__(self, database: Database, connection: sa.Connection) -> None:
        self._database, self._connection = database, connection

    @contextmanager
    def part(self, *, unread: bool = False) -> Iterator[None]:
        """Treat what is written within as a whole; where it is at fault, the rest of the transaction goes on.

        Args:
            unread: Whether nothing is read within, so that a server is sent everything at once.

        Raises:
            StoreError: What is written is at fault, and none of it was. A fault of the database leaves as it comes, and
                ends the transaction.
        """
        try:
            with self._database.part(self._connection, unread=unread):
                yield
        except Exception as error:
            if isinstance(error, StoreError) or self._database.is_to_blame(error):
                raise
            cause = cause_of(error)
            raise StoreError(f"it cannot be written ({type(cause).__name__}: {cause})") from error

    def save(self, run: PackedRun) -> None:
        """As :meth:`RunStore.save`."""
        empty = tuple(name for name in _OPTIONAL if run.values[name] is None)
        statement = _save_statement(self._database.dialect, empty)
        self._database.execute(self._connection, statement, dict(run.values))

    def count_for_prompts(self, team: str, number: int, outcome: PromptOutcome) -> bool:
        """As :meth:`PromptStore.count`."""
        return count_run(self._connection, team, number, outcome)


@functools.cache
def _save_statement(dialect: str, empty: tuple[str, ...]) -> sa.Insert:
    """The statement that saves a run which lacks some parts; made once, since every run of a team comes past here."""
    kept = {"run_id", *(column for name in empty for column in _OPTIONAL[name])}
    statement = insert_into(dialect, runs)
    changed = {column.name: column for column in statement.excluded if column.name not in kept}
    return statement.on_conflict_do_update(index_elements=[runs.c.run_id], set_=changed)


class RunStore(Store):
    """Runs in a file or on a server, safe to use from several threads and processes at once.

    Nothing is opened or created before the first call of a method. Every method raises :class:`StoreError`
    when the store cannot be used: read-only, locked for too long, damaged, another program's, the server is away, or
    the disk is full.

    Args:
        path: The SQLite file, or the URL of a PostgreSQL database; by default what ``TRACER_HOOKS_STORE`` names, else
            ``.tracer_hooks/runs.sqlite`` in the current directory.
        busy_timeout_s: Seconds to wait while another process writes.
        read_only: Never create or change the file, for tools that only look.
        stays_open: Keep the file open between uses, until :meth:`close_idle`: for many that follow each other.

    Raises:
        StoreError: No path is given and ``TRACER_HOOKS_STORE`` is ``off``.
    """

    def load(self) -> None:
        """Make the statements that save a run, which takes longer than to run them; the store is not touched."""
        _save_statement(self._database.dialect, ())

    def save(self, run: StoredRun) -> None:
        """Write ``run``, over an earlier one with the same id.

        A diagnosis, a repair log or a tape that the store already has stays when ``run`` has none, so that a diagnosis
        made in the background is not lost to a later save of the run.
        """
        packed = PackedRun.of(run)
        with self.writing() as writing:
            writing.save(packed)

    @contextmanager
    def writing(self, doing: str = "save the run") -> Iterator[Writing]:
        """One transaction for several changes, which holds the write lock from its begin.

        Args:
            doing: Completes "cannot ..." in an error.
        """
        with self._database.write(doing) as connection:
            yield Writing(self._database, connection)

    def probe(self) -> None:
        """Take the write lock of a file that is there, and let go of it again; what it holds stays as it is.

        Raises:
            StoreError: The file cannot be written, or is locked for longer than ``busy_timeout_s``.
        """
        self._database.probe("write")

    def add(self, run: StoredRun) -> bool:
        """Write ``run`` unless the store has one with its id; says whether it was written."""
        packed = PackedRun.of(run)
        with self._database.write("save the run") as connection:
            return add_row(connection, runs, packed.values)

    def get(self, run_id: str, *, with_tape: bool = True) -> StoredRun:
        """The run with this id, or whose id alone begins with it.

        Args:
            run_id: The id, or its beginning.
            with_tape: Whether the tape is read as well; it is most of what is kept of a run, and only replays need it.

        Raises:
            StoreError: No run, or more than one, fits; the message names those that do.
        """
        with self._database.read("read the run") as connection:
            columns = row_columns(connection, but=() if with_tape else {"tape"})
            if not with_tape:
                columns.append(_nothing("tape"))
            statement = sa.select(*columns).where(runs.c.run_id == _find_id(connection, run_id))
            return run_of(connection.execute(statement).mappings().one())

    def list(
        self,
        *,
        limit: int = 50,
        team: str | None = None,
        outcome: RunOutcome | None = None,
        since: datetime | None = None,
        tags: Mapping[str, str] | None = None,
        offset: int = 0,
        with_replays: bool = True,
    ) -> tuple[RunSummary, ...]:
        """Summaries of runs, the newest first, read without their trajectories.

        Args:
            limit: How many at most; at least 1.
            team: Only runs of this team.
            outcome: Only runs that ended so.
            since: Only runs that began at or after this moment; a time zone is needed.
            tags: Only runs with all of these tags.
            offset: How many of the newest are left out.
            with_replays: Whether replays are listed among the others.
        """
        if limit < 1:
            raise StoreError(f"limit must be at least 1, got {limit!r}. Next: pass limit=50")
        with self._database.read("list the runs") as connection:
            conditions = _conditions(
                connection, team=team, outcome=outcome, since=since, tags=tags, with_replays=with_replays
            )
            # The ids first, which the index alone gives: rows are read of those that are shown.
            ids = sa.select(runs.c.run_id).where(*conditions).order_by(*_NEWEST).limit(limit).offset(offset)
            statement = sa.select(*_summary_columns(connection)).where(runs.c.run_id.in_(ids.scalar_subquery()))
            return _summaries(connection, statement.order_by(*_NEWEST))

    def counts(
        self,
        *,
        team: str | None = None,
        since: datetime | None = None,
        tags: Mapping[str, str] | None = None,
        days: Sequence[date] = (),
    ) -> tuple[RunCount, ...]:
        """Count runs and their tokens by team, outcome and day (UTC), without replays.

        Args:
            team: Only runs of this team.
            since: Only runs that began at or after this moment; a time zone is needed.
            tags: Only runs with all of these tags.
            days: In order; a run counts for the last of them that had begun, and without a day where none had.
        """
        sums = (sa.func.count(), sa.func.total(runs.c.input_tokens), sa.func.total(runs.c.output_tokens))
        groups = (runs.c.team, runs.c.outcome)
        began = [(day - EPOCH_DAY).days * DAY_US for day in days]
        found: list[RunCount] = []
        with self._database.read("count the runs") as connection:
            conditions = _conditions(connection, team=team, since=since, tags=tags, with_replays=False)
            counted = sa.select(*groups, *sums).where(*conditions).group_by(*groups)
            # A statement a day takes half as long as one for all, which has SQLite sort all runs by team and day.
            for day, begin, end in zip((None, *days), (None, *began), (*began, None), strict=True):
                of_day = counted if begin is None else counted.where(runs.c.started_us >= begin)
                of_day = of_day if end is None else of_day.where(runs.c.started_us < end)
                found += (count_of(row, day) for row in connection.execute(of_day))
        return tuple(found)

    def newest(
        self, *, team: str | None = None, since: datetime | None = None, tags: Mapping[str, str] | None = None
    ) -> datetime | None:
        """When the newest of such runs began, replays left out; None where there is none."""
        with self._database.read("find the newest run") as connection:
            conditions = _conditions(connection, team=team, since=since, tags=tags, with_replays=False)
            began = connection.scalar(sa.select(runs.c.started_us).where(*conditions).order_by(*_NEWEST).limit(1))
            return None if began is None else from_microseconds(began)

    def attributions(self, *run_ids: str) -> dict[str, Attribution]:
        """The diagnoses of runs with exactly these ids, read without the runs; a damaged one is named and left out."""
        found = {}
        with self._database.read("read the diagnoses") as connection:
            for start in range(0, len(run_ids), _PARAMETERS):
                wanted = runs.c.run_id.in_(run_ids[start : start + _PARAMETERS])
                statement = sa.select(runs.c.run_id, runs.c.attribution).where(wanted)
                for row in connection.execute(statement.where(runs.c.attribution.is_not(None))).mappings():
                    try:
                        found[row["run_id"]] = attribution_of(row)
                    except StoreError as error:
                        warn_once(f"damaged {row['run_id']!r}", "tracer-hooks leaves out a diagnosis: %s", error)
        return found

    def digest(self, session_id: str) -> str:
        """A short text that changes with what is kept of a call's attempts but their tapes, and with their forks."""
        seen = hashlib.sha256(repr(self.forks_of(*self.attempt_ids(session_id))).encode(errors="replace"))
        with self._database.read("read the attempts") as connection:
            columns = row_columns(connection, but={"tape"})
            statement = sa.select(*columns).where(runs.c.session_id == session_id).order_by(*_IN_ORDER)
            for row in connection.execute(statement):
                seen.update(repr(tuple(row)).encode(errors="replace"))
        return seen.hexdigest()[:32]

    def attempts(self, session_id: str) -> tuple[StoredRun, ...]:
        """Every attempt of one call, the first attempt first; empty when the session is unknown."""
        with self._database.read("read the attempts") as connection:
            statement = sa.select(*row_columns(connection)).where(runs.c.session_id == session_id)
            return tuple(run_of(row) for row in connection.execute(statement.order_by(*_IN_ORDER)).mappings())

    def attempt_ids(self, session_id: str) -> tuple[str, ...]:
        """The ids of the attempts of one call, in the order of :meth:`attempts`."""
        with self._database.read("read the attempts") as connection:
            attempts = sa.select(runs.c.run_id).where(runs.c.session_id == session_id)
            return tuple(connection.scalars(attempts.order_by(*_IN_ORDER)))

    def forks_of(self, *run_ids: str) -> tuple[RunSummary, ...]:
        """Summaries of the runs that were forked from runs with exactly these ids, in the order in which they began."""
        with self._database.read("find the forks") as connection:
            if version_of_file(connection) < ADDED_IN["parent_id"]:
                return ()
            found: list[RunSummary] = []
            for start in range(0, len(run_ids), _PARAMETERS):
                wanted = runs.c.parent_id.in_(run_ids[start : start + _PARAMETERS])
                statement = sa.select(*_summary_columns(connection)).where(wanted)
                found += _summaries(connection, statement.order_by(runs.c.started_us, runs.c.run_id))
            return tuple(found)

    def set_attribution(self, run_id: str, attribution: Attribution | None) -> None:
        """Put a diagnosis in place of the run's present one; None removes it."""
        with self._database.write("save the diagnosis") as connection:
            wanted = runs.c.run_id == _find_id(connection, run_id)
            connection.execute(runs.update().where(wanted).values(**attribution_columns(attribution)))

    def find_id(self, run_id: str) -> str:
        """The id of the run that ``run_id`` names or begins, which is not read: it may be damaged.

        Raises:
            StoreError: No run, or more than one, fits.
        """
        with self._database.read("find the run") as connection:
            return _find_id(connection, run_id)

    def calls_of(self, *run_ids: str) -> tuple[str, ...]:
        """The ids of all attempts of the calls that runs with exactly these ids belong to; themselves included."""
        with self._database.read("read the attempts") as connection:
            found: dict[str, None] = {}
            for run_id in run_ids:  # one by one: SQLite takes so many parameters and no more
                session = sa.select(runs.c.session_id).where(runs.c.run_id == run_id).scalar_subquery()
                attempts = sa.select(runs.c.run_id).where(runs.c.session_id == session)
                found.update(dict.fromkeys(connection.scalars(attempts.order_by(*_IN_ORDER))))
            return tuple(found)

    def learnt_from(self, *run_ids: str) -> int:
        """How often runs with exactly these ids count for or against a version of prompts; deleting leaves that."""
        with self._database.read("read what was learnt") as connection:
            counts = 0
            for run_id in run_ids:
                counted = sa.select(sa.func.count()).select_from(prompt_outcomes)
                counts += connection.scalar(counted.where(prompt_outcomes.c.run_id == run_id)) or 0
            return counts

    def delete(self, run_id: str, *more: str) -> None:
        """Remove the run with this id, or whose id alone begins with it; :meth:`wipe` removes its last traces.

        The other attempts of its call stay, with the same task: :meth:`calls_of` gives their ids.

        Args:
            run_id: Id of the run, or its beginning.
            more: Other runs; all go in one transaction, or none.
        """
        with self._database.write("delete the run") as connection:
            for name in (run_id, *more):
                connection.execute(_REMOVE, {"id": _find_id(connection, name)})

    def prune(self, which: Retention, *, dry_run: bool = False, limit: int | None = None) -> tuple[RunSummary, ...]:
        """Remove the runs that ``which`` does not keep; gives them, the newest first.

        Prompts and counts that were learnt from them stay.

        Args:
            which: Which runs stay.
            dry_run: Remove nothing.
            limit: Remove so many at most, the oldest, so that nobody waits for long.
        """
        if dry_run:
            with self._database.read("list the runs") as connection:
                return _fallen_out(connection, which, limit)
        with self._database.write("delete runs") as connection:
            found = _fallen_out(connection, which, limit)
            for summary in found:
                connection.execute(_REMOVE, {"id": summary.run_id})
            return found

    def wipe(self, *, compact: bool = True) -> bool:
        """Take what was deleted out of the files, and give its room back; says whether nothing was in the way.

        Where another process is reading, its bytes may stay in the write-ahead log until the next call.
        """
        return self._database.wipe(compact=compact)


def _conditions(
    connection: sa.Connection,
    *,
    team: str | None,
    since: datetime | None,
    tags: Mapping[str, str] | None,
    outcome: RunOutcome | None = None,
    with_replays: bool,
) -> list[sa.ColumnElement[bool]]:
    """The conditions that runs are chosen by."""
    if since is not None and since.tzinfo is None:
        raise StoreError(f"since must have a time zone, got {since!r}. Next: pass since.astimezone()")
    found: list[sa.ColumnElement[bool]] = []
    if team is not None:
        found.append(runs.c.team == team)
    if outcome is not None:
        found.append(runs.c.outcome == outcome.value)
    if since is not None:
        found.append(runs.c.started_us >= to_microseconds(since))
    if not with_replays:
        found.append(runs.c.kind != RunKind.REPLAY.value)
    if tags and version_of_file(connection) < ADDED_IN["tags"]:
        found.append(sa.false())
    else:
        # In JSON a quote within a text is escaped, so that no text can hold the like of a key with its value.
        entries = ((tags_column({key: value}) or "")[1:-1] for key, value in (tags or {}).items())
        found += [sa.func.instr(runs.c.tags, entry) > 0 for entry in entries]
    return found


def _find_id(connection: sa.Connection, wanted: str) -> str:
    """The id of the one run that ``wanted`` names: a whole id, or the beginning of exactly one."""
    exact = connection.scalar(sa.select(runs.c.run_id).where(runs.c.run_id == wanted))
    if exact is not None:
        return str(exact)
    # Not LIKE: in SQLite it does not tell upper from lower case. No text has a sign after the last of Unicode.
    begins = runs.c.run_id.between(wanted, wanted + chr(sys.maxunicode))
    statement = sa.select(runs.c.run_id).where(begins).order_by(runs.c.run_id).limit(_MATCHES_SHOWN + 1)
    found = [str(each) for each in connection.scalars(statement)] if wanted else []
    if len(found) == 1:
        return found[0]
    if not found:
        raise StoreError(f"no run {wanted!r}, expected a run id or the beginning of one. Run: tracer-hooks runs list")
    shown = ", ".join(map(repr, found[:_MATCHES_SHOWN])) + (", ..." if len(found) > _MATCHES_SHOWN else "")
    raise StoreError(f"{wanted!r} is the beginning of several runs ({shown}). Next: give more of the run id")


def _fallen_out(connection: sa.Connection, which: Retention, limit: int | None) -> tuple[RunSummary, ...]:
    """The runs that ``which`` does not keep, the newest first; of more than ``limit`` the oldest."""
    conditions = []
    if which.older_than is not None:
        conditions.append(runs.c.started_us < to_microseconds(datetime.now(UTC) - which.older_than))
    if which.keep is not None:
        newest = sa.select(runs.c.run_id).order_by(runs.c.started_us.desc(), runs.c.run_id).limit(which.keep)
        conditions.append(runs.c.run_id.not_in(newest.scalar_subquery()))
    if not conditions:
        return ()
    statement = sa.select(*_summary_columns(connection)).where(*conditions).order_by(runs.c.started_us, runs.c.run_id)
    return tuple(reversed(_summaries(connection, statement.limit(limit))))


def _summaries(connection: sa.Connection, statement: sa.Select[Any]) -> tuple[RunSummary, ...]:
    """Summaries of what ``statement`` selects; a damaged one is named once, and the others are still listed."""
    found = []
    for row in connection.execute(statement).mappings():
        try:
            found.append(summary_of(row))
        except StoreError as error:
            warn_once(f"damaged {row['run_id']!r}", "tracer-hooks leaves a run out of the list: %s", error)
    return tuple(found)


def row_columns(connection: sa.Connection, *, but: Collection[str] = ()) -> list[sa.ColumnElement[Any]]:
    """The columns of a run; a file of an older version has no value in those that it lacks."""
    version = version_of_file(connection)
    return [
        column if ADDED_IN.get(column.name, 1) <= version else _nothing(column.name)
        for column in runs.c
        if column.name not in but
    ]


def _nothing(name: str) -> sa.ColumnElement[Any]:
    return sa.null().label(name)


def _summary_columns(connection: sa.Connection) -> list[sa.ColumnElement[Any]]:
    light = row_columns(connection, but={"task", "trajectory", "attribution", "rewrite", "tape", "source"})
    tape = next(column for column in row_columns(connection) if column.name == "tape")
    task = sa.func.substr(runs.c.task, 1, SUMMARY_TASK_CHARS).label("task")
    return [*light, task, runs.c.rewrite.is_not(None).label("has_repair"), tape.is_not(None).label("has_tape")]
