"""The statements that the store runs, each inside a transaction that the caller holds."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.sqlite import insert

from tracer_hooks._guard import warn_once
from tracer_hooks.errors import StoreError
from tracer_hooks.schema import RunOutcome
from tracer_hooks.store._driver import driver_of
from tracer_hooks.store._records import Learnt, RunSummary, StoredRun
from tracer_hooks.store._rows import (
    SUMMARY_TASK_CHARS,
    attribution_columns,
    repair_columns,
    row_of,
    run_of,
    summary_of,
    tape_columns,
    to_microseconds,
)
from tracer_hooks.store._tables import (
    ADDED_IN,
    STORE_VERSION,
    prompt_outcomes,
    runs,
)

_MATCHES_SHOWN = 5


def upsert(connection: sa.Connection, values: Mapping[str, Any]) -> None:
    """Write a run, given as column values, over any earlier one with its id; see ``RunStore.save``."""
    statement, names = _upsert_without(tuple(name for name in _PARTS if values[name] is None))
    driver_of(connection).execute(statement, [values[name] for name in names]).close()


_PARTS = {"attribution": attribution_columns(None), "rewrite": repair_columns(None), "tape": tape_columns(None)}
"""What of a run stays where a later save has none of it: by the column that says so, the columns."""


@functools.cache
def _upsert_without(empty: tuple[str, ...]) -> tuple[str, Sequence[str]]:
    """The statement for a run that lacks some parts, and the columns of its parameters.

    Made once, and run by the driver: to hand it to SQLAlchemy each time costs more than to run it, and every run of a
    team comes past here.
    """
    kept = {"run_id", *(column for name in empty for column in _PARTS[name])}
    statement = insert(runs)
    changed = {column.name: column for column in statement.excluded if column.name not in kept}
    whole = statement.on_conflict_do_update(index_elements=[runs.c.run_id], set_=changed)
    compiled = whole.compile(dialect=sqlite.dialect(paramstyle="qmark"))
    return str(compiled), tuple(compiled.positiontup or ())


def insert_new(connection: sa.Connection, run: StoredRun) -> bool:
    """Write ``run`` unless there is one with its id; says whether it was written."""
    statement = insert(runs).values(row_of(run)).on_conflict_do_nothing(index_elements=[runs.c.run_id])
    return bool(connection.execute(statement).rowcount)


def find_id(connection: sa.Connection, wanted: str) -> str:
    """The id of the one run that ``wanted`` names: a whole id, or the beginning of exactly one.

    Raises:
        StoreError: No run, or more than one, fits.
    """
    exact = connection.scalar(sa.select(runs.c.run_id).where(runs.c.run_id == wanted))
    if exact is not None:
        return str(exact)
    # Not LIKE: in SQLite it does not tell upper from lower case.
    begins = sa.func.substr(runs.c.run_id, 1, len(wanted)) == wanted
    statement = sa.select(runs.c.run_id).where(begins).order_by(runs.c.run_id).limit(_MATCHES_SHOWN + 1)
    found = [str(each) for each in connection.scalars(statement)] if wanted else []
    if len(found) == 1:
        return found[0]
    if not found:
        raise StoreError(f"no run {wanted!r}, expected a run id or the beginning of one. Run: tracer-hooks runs list")
    shown = ", ".join(map(repr, found[:_MATCHES_SHOWN])) + (", ..." if len(found) > _MATCHES_SHOWN else "")
    raise StoreError(f"{wanted!r} is the beginning of several runs ({shown}). Next: give more of the run id")


def load(connection: sa.Connection, run_id: str, *, with_tape: bool) -> StoredRun:
    """The run with exactly this id."""
    columns = _columns(connection) if with_tape else [*_columns(connection, but={"tape"}), _nothing("tape")]
    row = connection.execute(sa.select(*columns).where(runs.c.run_id == run_id)).mappings().one()
    return run_of(row)


def load_session(connection: sa.Connection, session_id: str) -> tuple[StoredRun, ...]:
    """The runs of one session, first attempt first."""
    statement = sa.select(*_columns(connection)).where(runs.c.session_id == session_id)
    ordered = statement.order_by(runs.c.attempt, runs.c.started_us, runs.c.run_id)
    return tuple(run_of(row) for row in connection.execute(ordered).mappings())


def calls_of(connection: sa.Connection, run_ids: Collection[str]) -> tuple[str, ...]:
    """The ids of all attempts of the calls that these runs belong to, the attempts of a call in their order."""
    found: dict[str, None] = {}
    for run_id in run_ids:  # one by one: SQLite takes so many parameters and no more
        session = sa.select(runs.c.session_id).where(runs.c.run_id == run_id).scalar_subquery()
        attempts = sa.select(runs.c.run_id).where(runs.c.session_id == session)
        ordered = attempts.order_by(runs.c.attempt, runs.c.started_us, runs.c.run_id)
        found.update(dict.fromkeys(connection.scalars(ordered)))
    return tuple(found)


def learnt_from(connection: sa.Connection, run_ids: Collection[str]) -> Learnt:
    """What other tables hold of these runs."""
    counts = 0
    for run_id in run_ids:
        counted = sa.select(sa.func.count()).select_from(prompt_outcomes).where(prompt_outcomes.c.run_id == run_id)
        counts += connection.scalar(counted) or 0
    return Learnt(counts=counts)


def summaries(
    connection: sa.Connection,
    *,
    limit: int,
    team: str | None,
    outcome: RunOutcome | None,
    since: datetime | None,
) -> tuple[RunSummary, ...]:
    """One line per run, the newest first."""
    statement = sa.select(*_summary_columns(connection)).order_by(runs.c.started_us.desc(), runs.c.run_id).limit(limit)
    if team is not None:
        statement = statement.where(runs.c.team == team)
    if outcome is not None:
        statement = statement.where(runs.c.outcome == outcome.value)
    if since is not None:
        statement = statement.where(runs.c.started_us >= to_microseconds(since))
    return _listed(connection, statement)


def _listed(connection: sa.Connection, statement: sa.Select[Any]) -> tuple[RunSummary, ...]:
    found = (_summary(row) for row in connection.execute(statement).mappings())
    return tuple(one for one in found if one is not None)


def _summary(row: Mapping[Any, Any]) -> RunSummary | None:
    """One row's summary; a damaged one is said once, and the others are still listed."""
    try:
        return summary_of(row)
    except StoreError as error:
        warn_once(f"damaged {row['run_id']!r}", "tracer-hooks leaves a run out of the list: %s", error)
        return None


def summaries_where(
    connection: sa.Connection, condition: sa.ColumnElement[bool], limit: int | None
) -> tuple[RunSummary, ...]:
    """One line for each run that fits, the oldest first."""
    statement = sa.select(*_summary_columns(connection)).where(condition).order_by(runs.c.started_us, runs.c.run_id)
    return _listed(connection, statement.limit(limit))


def update(connection: sa.Connection, run_id: str, values: Mapping[str, Any]) -> None:
    """Set columns of the run with exactly this id."""
    connection.execute(runs.update().where(runs.c.run_id == run_id).values(**values))


def remove(connection: sa.Connection, run_id: str) -> None:
    """Delete the run with exactly this id."""
    connection.execute(runs.delete().where(runs.c.run_id == run_id))


def _columns(connection: sa.Connection, *, but: Collection[str] = ()) -> list[sa.ColumnElement[Any]]:
    """The columns of a run; a file of an older version has no value in those that it lacks."""
    version = connection.get_execution_options().get("tracer_hooks_version", STORE_VERSION)
    return [
        column if ADDED_IN.get(column.name, 1) <= version else _nothing(column.name)
        for column in runs.c
        if column.name not in but
    ]


def _nothing(name: str) -> sa.ColumnElement[Any]:
    return sa.null().label(name)


def _summary_columns(connection: sa.Connection) -> list[sa.ColumnElement[Any]]:
    light = _columns(connection, but={"task", "trajectory", "attribution", "rewrite", "tape"})
    tape = next(column for column in _columns(connection) if column.name == "tape")
    task = sa.func.substr(runs.c.task, 1, SUMMARY_TASK_CHARS).label("task")
    return [*light, task, runs.c.rewrite.is_not(None).label("has_repair"), tape.is_not(None).label("has_tape")]
