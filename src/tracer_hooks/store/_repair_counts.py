"""How often each kind of repair was tried and helped, by team: numbers alone, no text of any run."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from tracer_hooks.store._tables import repair_counts

RepairCountRow = tuple[str, int, int, str, int, int]
"""Strategy, part of the run that was kept, part of the belief, error mode, trials, passes."""

_KIND = (
    repair_counts.c.strategy,
    repair_counts.c.kept,
    repair_counts.c.holds,
    repair_counts.c.error_mode,
)


def read(connection: sa.Connection, team: str) -> tuple[RepairCountRow, ...]:
    """The team's counts, sorted; none where the file is of a version that had none."""
    if not sa.inspect(connection).has_table(repair_counts.name):
        return ()
    statement = sa.select(*_KIND, repair_counts.c.trials, repair_counts.c.passes)
    found = connection.execute(statement.where(repair_counts.c.team == team).order_by(*_KIND))
    return tuple((row[0], row[1], row[2], row[3], row[4], row[5]) for row in found)


def add(connection: sa.Connection, team: str, rows: Iterable[RepairCountRow]) -> None:
    """Add to the team's counts. The database adds, so that of two writers neither is lost."""
    for strategy, kept, holds, error_mode, trials, passes in rows:
        statement = insert(repair_counts).values(
            team=team,
            strategy=strategy,
            kept=kept,
            holds=holds,
            error_mode=error_mode,
            trials=trials,
            passes=passes,
        )
        new = statement.excluded
        statement = statement.on_conflict_do_update(
            index_elements=[repair_counts.c.team, *_KIND],
            set_={
                "trials": repair_counts.c.trials + new.trials,
                "passes": repair_counts.c.passes + new.passes,
            },
        )
        connection.execute(statement)
