"""What is read of prompts, inside a transaction that the caller holds. A file older than prompts has none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from tracer_hooks.errors import StoreError
from tracer_hooks.store._prompt_records import (
    PromptEvent,
    PromptOutcome,
    PromptPhase,
    PromptTally,
    PromptVersion,
)
from tracer_hooks.store._prompt_rows import event_of, outcome_of, version_of
from tracer_hooks.store._tables import (
    PROMPTS_SINCE,
    STORE_VERSION,
    prompt_events,
    prompt_outcomes,
    prompt_tallies,
    prompt_teams,
    prompt_versions,
)

_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class TeamPrompts:
    """Which versions of a team have a say."""

    head: int | None = None
    """What is used where nothing is pinned."""
    pinned: int | None = None
    """What is used whatever comes."""

    @property
    def current(self) -> int | None:
        """What is used; None for the team's own prompts."""
        return self.head if self.pinned is None else self.pinned


def has_prompts(connection: sa.Connection) -> bool:
    """Whether the file has the tables; one of an older version that may not be changed has not."""
    version: int = connection.get_execution_options().get("tracer_hooks_version", STORE_VERSION)
    return version >= PROMPTS_SINCE


def team_prompts(connection: sa.Connection, team: str) -> TeamPrompts:
    """Which versions of this team have a say."""
    return _all_team_prompts(connection, team).get(team, TeamPrompts())


def current(connection: sa.Connection, team: str) -> PromptVersion | None:
    """The version that is used; None for the team's own prompts."""
    if not has_prompts(connection):
        return None
    number = team_prompts(connection, team).current
    return None if number is None else version(connection, team, number)


def version(connection: sa.Connection, team: str, number: int) -> PromptVersion:
    """One version.

    Raises:
        StoreError: There is none with this number.
    """
    found = _versions(connection, team, number) if has_prompts(connection) else ()
    if not found:
        raise unknown_version(connection, team, number)
    return found[0]


def versions(connection: sa.Connection, team: str | None) -> tuple[PromptVersion, ...]:
    """All versions, by team and number."""
    return _versions(connection, team, None) if has_prompts(connection) else ()


def row(connection: sa.Connection, team: str, number: int) -> Mapping[Any, Any]:
    """A version as the table holds it.

    Raises:
        StoreError: There is none with this number.
    """
    statement = sa.select(prompt_versions).where(_is(prompt_versions, team, number))
    found = connection.execute(statement).mappings().one_or_none()
    if found is None:
        raise unknown_version(connection, team, number)
    return found


def teams(connection: sa.Connection) -> tuple[str, ...]:
    """The teams that have a version."""
    if not has_prompts(connection):
        return ()
    column = prompt_versions.c.team
    return tuple(connection.scalars(sa.select(column).distinct().order_by(column)))


def events(connection: sa.Connection, team: str) -> tuple[PromptEvent, ...]:
    """What was done, the oldest first."""
    if not has_prompts(connection):
        return ()
    statement = sa.select(prompt_events).where(prompt_events.c.team == team).order_by(prompt_events.c.position)
    return tuple(event_of(found) for found in connection.execute(statement).mappings())


def outcomes(
    connection: sa.Connection, team: str, number: int, *, phase: PromptPhase | None, last: int | None
) -> tuple[PromptOutcome, ...]:
    """The runs that were counted, in the order of counting."""
    if not has_prompts(connection):
        return ()
    statement = sa.select(prompt_outcomes).where(_is(prompt_outcomes, team, number))
    if phase is not None:
        statement = statement.where(prompt_outcomes.c.phase == phase.value)
    newest_first = statement.order_by(prompt_outcomes.c.position.desc()).limit(last)
    return tuple(reversed([outcome_of(found) for found in connection.execute(newest_first).mappings()]))


def unknown_version(connection: sa.Connection, team: str, number: int) -> StoreError:
    """Says which versions there are."""
    column = prompt_versions.c.number
    statement = sa.select(column).where(prompt_versions.c.team == team).order_by(column)
    known = [str(each) for each in connection.scalars(statement)] if has_prompts(connection) else []
    if not known:
        return StoreError(f"no prompts are stored for the team {team!r}. Run: tracer-hooks prompts list")
    shown = ", ".join(known if len(known) <= _SHOWN else ["...", *known[-_SHOWN:]])
    return StoreError(
        f"no version {number!r} of the prompts of {team!r}, expected one of: {shown}. Run: tracer-hooks prompts list"
    )


def _versions(connection: sa.Connection, team: str | None, number: int | None) -> tuple[PromptVersion, ...]:
    statement = sa.select(prompt_versions).order_by(prompt_versions.c.team, prompt_versions.c.number)
    if team is not None:
        statement = statement.where(_is(prompt_versions, team, number))
    said = _all_team_prompts(connection, team)
    tallies = _tallies(connection, team, number)
    return tuple(
        version_of(
            found,
            is_pinned=said.get(found["team"], TeamPrompts()).pinned == found["number"],
            tallies=tallies.get((found["team"], found["number"]), {}),
        )
        for found in connection.execute(statement).mappings()
    )


def _all_team_prompts(connection: sa.Connection, team: str | None) -> dict[str, TeamPrompts]:
    statement = sa.select(prompt_teams)
    if team is not None:
        statement = statement.where(prompt_teams.c.team == team)
    rows = connection.execute(statement).mappings()
    return {found["team"]: TeamPrompts(head=found["current"], pinned=found["pinned"]) for found in rows}


def _tallies(
    connection: sa.Connection, team: str | None, number: int | None
) -> dict[tuple[str, int], dict[str, PromptTally]]:
    """The sums of each version, by phase."""
    statement = sa.select(prompt_tallies)
    if team is not None:
        statement = statement.where(_is(prompt_tallies, team, number))
    figures: dict[tuple[str, int], dict[str, dict[str, Any]]] = {}
    for found in connection.execute(statement).mappings():
        of_phase = figures.setdefault((found["team"], found["number"]), {}).setdefault(found["phase"], {})
        of_phase |= {f"{found['arm']}_{name}": found[name] for name in ("runs", "passes", "score")}
    return {key: {phase: PromptTally(**sums) for phase, sums in phases.items()} for key, phases in figures.items()}


def _is(table: sa.Table, team: str, number: int | None) -> sa.ColumnElement[bool]:
    same_team = table.c.team == team
    return same_team if number is None else sa.and_(same_team, table.c.number == number)
