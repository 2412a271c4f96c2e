"""Which runs have fallen out by age and number, inside a transaction that the caller holds."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa

from tracer_hooks.config import Retention
from tracer_hooks.store._queries import summaries_where
from tracer_hooks.store._records import RunSummary
from tracer_hooks.store._rows import to_microseconds
from tracer_hooks.store._tables import runs


def fallen_out(connection: sa.Connection, which: Retention, limit: int | None) -> tuple[RunSummary, ...]:
    """The runs that ``which`` does not keep, the newest first; of more than ``limit`` the oldest."""
    conditions = []
    if which.older_than is not None:
        conditions.append(runs.c.started_us < to_microseconds(datetime.now(UTC) - which.older_than))
    if which.keep is not None:
        newest = sa.select(runs.c.run_id).order_by(runs.c.started_us.desc(), runs.c.run_id).limit(which.keep)
        conditions.append(runs.c.run_id.not_in(newest.scalar_subquery()))
    if not conditions:
        return ()
    return tuple(reversed(summaries_where(connection, sa.and_(*conditions), limit)))
