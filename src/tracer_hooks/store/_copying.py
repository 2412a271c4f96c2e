"""Taking what one store holds into another: runs with all that is kept of them, and the prompts of teams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from tracer_hooks.errors import StoreError
from tracer_hooks.schema import Record, Text
from tracer_hooks.store._place import Store, add_row
from tracer_hooks.store._prompt_store import PromptStore
from tracer_hooks.store._run_store import Writing, row_columns
from tracer_hooks.store._tables import (
    prompt_events,
    prompt_outcomes,
    prompt_tallies,
    prompt_teams,
    prompt_versions,
    runs,
)

if TYPE_CHECKING:
    from tracer_hooks.store._place import Database

_PAGE = 500
"""Ids that are compared at a time."""
_AT_A_TIME = 20
"""Runs of one transaction: with their tapes they are in memory."""
_OF_PROMPTS = (prompt_teams, prompt_versions, prompt_outcomes, prompt_tallies, prompt_events)


class CopyCounts(Record):
    """What became of what a store held."""

    runs: int = 0
    """Runs that were copied."""
    runs_there: int = 0
    """Runs that were there already, and stay as they are."""
    teams: int = 0
    """Teams whose prompts were copied, with versions, counts and what was done with them."""
    teams_there: int = 0
    """Teams that had prompts there already, which stay as they are."""
    left_out: tuple[Text, ...] = ()
    """Ids of runs that the other store cannot hold: damaged ones."""


def copy_store(source: Store, target: Store, told: Callable[[int, int], None] = lambda done, total: None) -> CopyCounts:
    """Copy what ``source`` holds into ``target``; what that has already stays as it is.

    Runs go in order of their ids, some in each transaction, and the prompts of a team in one: copying again goes on
    where it broke off, and doubles nothing. Runs that are stored meanwhile may be missed; copying again takes them.

    Args:
        source: Where to copy from; it is only read.
        target: Where to; its tables are made where there are none.
        told: Called with the runs that are seen to, and all, after each few.

    Raises:
        StoreError: Both are one, or one of them cannot be used; what was copied stays.
    """
    if source.place == target.place:
        raise StoreError(f"run store {source.name!r} cannot be copied into itself, expected two places")
    ours, theirs = source._database, target._database
    counts = _copy_runs(ours, theirs, told)
    with PromptStore(source.place, read_only=True) as prompts:
        teams = [_copy_prompts(ours, theirs, team) for team in prompts.teams()]
    return counts.model_copy(update={"teams": teams.count(True), "teams_there": teams.count(False)})


def _copy_runs(ours: Database, theirs: Database, told: Callable[[int, int], None]) -> CopyCounts:
    with ours.read("count the runs") as connection:
        total = connection.scalar(sa.select(sa.func.count()).select_from(runs)) or 0
    copied, there, left_out = 0, 0, list[str]()
    for ids in _pages(ours):
        with theirs.write("copy runs") as connection:  # makes the tables
            known = set(connection.scalars(sa.select(runs.c.run_id).where(runs.c.run_id.in_(ids))))
        there += len(known)
        missing = [run_id for run_id in ids if run_id not in known]
        for start in range(0, len(missing), _AT_A_TIME):
            wanted = missing[start : start + _AT_A_TIME]
            bad = _copy_some(ours, theirs, wanted)
            copied += len(wanted) - len(bad)
            left_out += bad
            told(copied + there + len(left_out), total)
    return CopyCounts(runs=copied, runs_there=there, left_out=tuple(left_out))


def _pages(ours: Database) -> Iterator[list[str]]:
    last: str | None = None
    while True:
        statement = sa.select(runs.c.run_id).order_by(runs.c.run_id).limit(_PAGE)
        with ours.read("list the runs") as connection:
            ids = list(connection.scalars(statement if last is None else statement.where(runs.c.run_id > last)))
        if not ids:
            return
        yield ids
        last = ids[-1]


def _copy_some(ours: Database, theirs: Database, wanted: list[str]) -> list[str]:
    """Copy runs as they are, unread; gives the ids of those that cannot be."""
    with ours.read("read runs") as connection:
        statement = sa.select(*row_columns(connection)).where(runs.c.run_id.in_(wanted))
        rows = [dict(row) for row in connection.execute(statement).mappings()]
    bad = []
    with theirs.write("copy runs") as connection:
        writing = Writing(theirs, connection)
        for row in rows:
            try:
                with writing.part():
                    add_row(connection, runs, row)
            except StoreError:
                bad.append(row["run_id"])
    return bad


def _copy_prompts(ours: Database, theirs: Database, team: str) -> bool:
    """Copy all prompts of a team in one transaction, unless there are some; says whether."""
    with ours.read("read prompts") as connection:
        found = {table: _rows(connection, table, team) for table in _OF_PROMPTS}
    with theirs.write("copy prompts", alone=True) as connection:
        if any(_rows(connection, table, team, most=1) for table in (prompt_versions, prompt_teams)):
            return False
        for table, rows in found.items():
            if rows:
                connection.execute(table.insert().inline(), rows)
    return True


def _rows(connection: sa.Connection, table: sa.Table, team: str, most: int | None = None) -> list[dict[str, Any]]:
    """A team's rows in the order in which they came; positions are given anew."""
    order = table.c.get("position")
    statement = sa.select(*(column for column in table.c if column is not order)).where(table.c.team == team)
    ordered = statement if order is None else statement.order_by(order)
    return [dict(row) for row in connection.execute(ordered.limit(most)).mappings()]
