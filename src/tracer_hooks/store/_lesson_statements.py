"""What is read of lessons and done with them, each inside a transaction that the caller holds.

What changes something wants a transaction that holds the write lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from tracer_hooks.errors import StoreError
from tracer_hooks.schema import Json, to_text
from tracer_hooks.store._lesson_records import Lesson, LessonDraft, LessonOutcome, LessonState
from tracer_hooks.store._lesson_rows import lesson_of, outcome_columns, outcome_of, pack_draft, pack_evidence
from tracer_hooks.store._packing import to_microseconds
from tracer_hooks.store._tables import (
    LESSONS_SINCE,
    STORE_VERSION,
    lesson_failures,
    lesson_outcomes,
    lessons,
)

MOST_LIVING = 5
"""Lessons of one agent that are on trial or kept at the same time."""
_SHOWN = 20
_LIST = "Run: tracer-hooks lessons list"


def has_lessons(connection: sa.Connection) -> bool:
    """Whether the file has the tables; one of an older version that may not be changed has not."""
    version: int = connection.get_execution_options().get("tracer_hooks_version", STORE_VERSION)
    return version >= LESSONS_SINCE


def all_lessons(connection: sa.Connection, team: str | None, *, living_only: bool) -> tuple[Lesson, ...]:
    """Lessons by team and number."""
    if not has_lessons(connection):
        return ()
    statement = sa.select(lessons).order_by(lessons.c.team, lessons.c.number)
    if team is not None:
        statement = statement.where(lessons.c.team == team)
    if living_only:
        statement = statement.where(lessons.c.state != LessonState.RETIRED.value)
    return tuple(lesson_of(row) for row in connection.execute(statement).mappings())


def lesson(connection: sa.Connection, team: str, number: int) -> Lesson:
    """One lesson.

    Raises:
        StoreError: There is none with this number.
    """
    return lesson_of(_row(connection, team, number))


def learnt_from(connection: sa.Connection, team: str) -> frozenset[tuple[str, str]]:
    """Agents with the failed runs that they have learnt from."""
    if not has_lessons(connection):
        return frozenset()
    statement = sa.select(lesson_failures.c.agent, lesson_failures.c.run_id).where(lesson_failures.c.team == team)
    return frozenset((row.agent, row.run_id) for row in connection.execute(statement))


def outcomes(
    connection: sa.Connection, team: str, number: int, *, period: int | None, last: int | None, skip: int
) -> tuple[LessonOutcome, ...]:
    """The runs that were counted, in the order of counting."""
    if not has_lessons(connection):
        return ()
    columns = lesson_outcomes.c
    statement = sa.select(lesson_outcomes).where(columns.team == team, columns.number == number)
    if period is not None:
        statement = statement.where(columns.period == period)
    if last is None:
        # Positions only grow, and one transaction writes at a time: what was read once keeps its place.
        ordered = statement.order_by(columns.position).offset(skip)
        return tuple(outcome_of(row) for row in connection.execute(ordered).mappings())
    newest_first = statement.order_by(columns.position.desc()).limit(last)
    return tuple(reversed([outcome_of(row) for row in connection.execute(newest_first).mappings()]))


def counted(connection: sa.Connection, team: str, number: int, period: int) -> int:
    """How many runs were counted in a period."""
    columns = lesson_outcomes.c
    is_of = (columns.team == team, columns.number == number, columns.period == period)
    statement = sa.select(sa.func.count()).select_from(lesson_outcomes).where(*is_of)
    return (connection.scalar(statement) or 0) if has_lessons(connection) else 0


def propose(connection: sa.Connection, team: str, draft: LessonDraft) -> Lesson | None:
    """Put a new lesson on trial; None where another process was faster, or the agent has its most lessons."""
    living = [one for one in all_lessons(connection, team, living_only=True) if one.agent == draft.agent]
    if len(living) >= MOST_LIVING or any(one.text == draft.text for one in living):
        return None
    taken = {run_id for agent, run_id in learnt_from(connection, team) if agent == draft.agent}
    if taken.intersection(draft.runs):
        return None
    number = (connection.scalar(sa.select(sa.func.max(lessons.c.number)).where(lessons.c.team == team)) or 0) + 1
    now = to_microseconds(datetime.now(UTC))
    values = {
        "team": team,
        "number": number,
        "team_name": to_text(draft.team_name),
        "framework": to_text(draft.framework),
        "agent": draft.agent,
        "state": LessonState.ON_TRIAL.value,
        "reason": "",
        "period": 1,
        "created_us": now,
        "changed_us": now,
        **dict.fromkeys(("with_runs", "with_passes", "without_runs", "without_passes"), 0),
        "content": pack_draft(draft),
        "evidence": pack_evidence({}),
    }
    connection.execute(lessons.insert().values(values))
    rows = [{"team": team, "agent": draft.agent, "run_id": one, "number": number} for one in dict.fromkeys(draft.runs)]
    connection.execute(lesson_failures.insert(), rows)
    return lesson(connection, team, number)


def change(
    connection: sa.Connection, seen: Lesson, state: LessonState, reason: str, evidence: Mapping[str, Json]
) -> bool:
    """Change the state of a lesson that is still as it was seen; False where another process was faster."""
    columns = lessons.c
    values: dict[str, Any] = {
        "state": state.value,
        "reason": to_text(reason),
        "period": seen.period + 1,
        "changed_us": to_microseconds(datetime.now(UTC)),
    }
    if evidence:
        values["evidence"] = pack_evidence({**seen.evidence, **evidence})
    is_seen = (columns.team == seen.team, columns.number == seen.number, columns.period == seen.period)
    return connection.execute(lessons.update().where(*is_seen).values(values)).rowcount > 0


def retire(connection: sa.Connection, team: str, number: int, reason: str) -> None:
    """Retire a lesson, whatever its state; what it says is not read, so that a damaged one can be retired, too."""
    row = _row(connection, team, number)
    if row["state"] == LessonState.RETIRED:
        raise StoreError(f"lesson {number} of {team!r} is retired already, expected one that is not. {_LIST}")
    values = {
        "state": LessonState.RETIRED.value,
        "reason": to_text(reason),
        "period": row["period"] + 1,
        "changed_us": to_microseconds(datetime.now(UTC)),
    }
    connection.execute(lessons.update().where(lessons.c.team == team, lessons.c.number == number).values(values))


def count(connection: sa.Connection, team: str, number: int, outcome: LessonOutcome) -> bool:
    """Count a run once; the sums change in the same transaction, so that they are those of the outcomes."""
    _row(connection, team, number)
    values = {"team": team, "number": number, **outcome_columns(outcome)}
    if connection.execute(insert(lesson_outcomes).values(values).on_conflict_do_nothing()).rowcount == 0:
        return False
    arm = "with" if outcome.given else "without"
    runs, passes = lessons.c[f"{arm}_runs"], lessons.c[f"{arm}_passes"]
    sums = {runs.name: runs + 1, passes.name: passes + int(outcome.passed)}
    connection.execute(lessons.update().where(lessons.c.team == team, lessons.c.number == number).values(sums))
    return True


def teams(connection: sa.Connection) -> Sequence[str]:
    """The teams that have a lesson."""
    if not has_lessons(connection):
        return ()
    return tuple(connection.scalars(sa.select(lessons.c.team).distinct().order_by(lessons.c.team)))


def _row(connection: sa.Connection, team: str, number: int) -> Mapping[Any, Any]:
    if not has_lessons(connection):
        raise StoreError(f"no lessons are stored for the team {team!r}. {_LIST}")
    statement = sa.select(lessons).where(lessons.c.team == team, lessons.c.number == number)
    found = connection.execute(statement).mappings().one_or_none()
    if found is not None:
        return found
    column = lessons.c.number
    known = [str(one) for one in connection.scalars(sa.select(column).where(lessons.c.team == team).order_by(column))]
    if not known:
        raise StoreError(f"no lessons are stored for the team {team!r}. {_LIST}")
    shown = ", ".join(known if len(known) <= _SHOWN else ["...", *known[-_SHOWN:]])
    raise StoreError(f"no lesson {number!r} of {team!r}, expected one of: {shown}. {_LIST}")
