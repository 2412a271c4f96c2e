"""Versions of prompts in the store: what callers see, and the statements that it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

from tracer_hooks.errors import StoreError
from tracer_hooks.schema import Json, to_json_value, to_text
from tracer_hooks.store._packing import to_microseconds
from tracer_hooks.store._place import Store, add_row, insert_into, wait_for_others
from tracer_hooks.store._prompt_records import (
    PromptEvent,
    PromptOutcome,
    PromptPhase,
    PromptState,
    PromptTally,
    PromptVersion,
    event_of,
    expect_texts,
    json_in,
    outcome_columns,
    outcome_of,
    pack_json,
    version_of,
)
from tracer_hooks.store._tables import (
    PROMPTS_SINCE,
    prompt_events,
    prompt_outcomes,
    prompt_tallies,
    prompt_teams,
    prompt_versions,
    version_of_file,
)

_NOTHING: Mapping[str, Json] = MappingProxyType({})
_LIST = "Run: tracer-hooks prompts list"
_UNDECIDED = (PromptState.PROPOSED, PromptState.ON_TRIAL)
_SHOWN = 20


class PromptStore(Store):
    """Versions of the prompts of teams, beside the runs; safe to use from several threads and processes.

    A version is proposed, put on trial, accepted and perhaps rolled back. At most one version of a team is current:
    the pinned one, else the one that was accepted last. When the current one is rolled back, its parent is current
    again if it is still accepted, else the team's own prompts are used. Every change is one transaction, which fails
    when another process was faster; what a method has returned outlives a killed process.

    Nothing is opened or created before the first call of a method. Every method raises :class:`StoreError` when the
    store cannot be used.

    Args:
        path: The SQLite file, or the URL of a PostgreSQL database; by default what ``TRACER_HOOKS_STORE`` names, else
            ``.tracer_hooks/runs.sqlite`` in the current directory.
        busy_timeout_s: Seconds to wait while another process writes.
        read_only: Never create or change the file, for tools that only look.

    Raises:
        StoreError: No path is given and ``TRACER_HOOKS_STORE`` is ``off``.
    """

    def propose(
        self,
        team: str,
        texts: Mapping[str, str],
        own: Mapping[str, str],
        *,
        team_name: str = "",
        framework: str = "",
        provenance: Mapping[str, Json] = _NOTHING,
    ) -> PromptVersion:
        """Add a version, whose parent is the current one.

        A version with the same texts and the same parent that is still proposed or on trial is given back instead.

        Args:
            team: The team's fingerprint.
            texts: The new instructions, for every agent that is not to have the team's own.
            own: The team's own instructions of the same agents.
            team_name: The team's name, for people.
            framework: Its framework, for people.
            provenance: Where the texts come from.

        Raises:
            StoreError: There is no text, an empty one, or ``own`` has other agents.
        """
        expect_texts(team, texts, own)
        content: Any = to_json_value({"texts": dict(texts), "own": dict(own), "provenance": dict(provenance)})
        with self._database.write("propose prompts", alone=True) as connection:
            parent = _team_prompts(connection, team).current
            same = _undecided(connection, team, content, parent)
            if same is not None:
                return _version(connection, team, same)
            largest = sa.select(sa.func.max(prompt_versions.c.number)).where(prompt_versions.c.team == team)
            number = (connection.scalar(largest) or 0) + 1
            now = _now()
            values = {
                "team": team,
                "number": number,
                "parent": parent,
                "team_name": to_text(team_name),
                "framework": to_text(framework),
                "state": PromptState.PROPOSED.value,
                "reason": "",
                "created_us": now,
                "changed_us": now,
                "content": pack_json(content),
                "evidence": pack_json({}),
            }
            connection.execute(prompt_versions.insert().values(values))
            _note(connection, team, number, "proposed", "", now)
            return _version(connection, team, number)

    def start_trial(self, team: str, number: int) -> PromptVersion:
        """Put a proposed version on trial.

        Raises:
            StoreError: There is no such version, or it is not just proposed.
        """
        with self._database.write("put prompts on trial", alone=True) as connection:
            found = _row(connection, team, number)
            _expect(found, PromptState.PROPOSED, "put on trial")
            _move(connection, found, PromptState.ON_TRIAL, "", {})
            _note(connection, team, number, "put on trial", "", _now())
            return _version(connection, team, number)

    def accept(
        self, team: str, number: int, *, reason: str = "", evidence: Mapping[str, Json] = _NOTHING
    ) -> PromptVersion:
        """Make a version that is on trial the current one.

        Args:
            team: The team's fingerprint.
            number: The version.
            reason: Why.
            evidence: What the trial found; added to what is there.

        Raises:
            StoreError: It is not on trial, the version that it was compared with is not the current one any more, or
                a version is pinned.
        """
        with self._database.write("accept prompts", alone=True) as connection:
            found = _row(connection, team, number)
            _expect(found, PromptState.ON_TRIAL, "accepted")
            chosen = _team_prompts(connection, team)
            if chosen.pinned is not None:
                raise StoreError(
                    f"version {number} of the prompts of {team!r} cannot be accepted: version {chosen.pinned} is "
                    f"pinned. Run: tracer-hooks prompts unpin {chosen.pinned} --team {team}"
                )
            if chosen.current != found["parent"]:
                raise StoreError(
                    f"version {number} of the prompts of {team!r} cannot be accepted: it was compared with "
                    f"{_named(found['parent'])}, and {_named(chosen.current)} is current now. {_LIST}"
                )
            now = _move(connection, found, PromptState.ACCEPTED, reason, evidence)
            _set_team(connection, team, current=number, pinned=None)
            _note(connection, team, number, "accepted", reason, now)
            return _version(connection, team, number)

    def roll_back(
        self, team: str, number: int, *, reason: str, evidence: Mapping[str, Json] | None = None, force: bool = False
    ) -> PromptVersion:
        """Take a version back, whatever its state; its parent is current again if it was current.

        Args:
            team: The team's fingerprint.
            number: The version.
            reason: Why.
            evidence: What speaks against it; added to what is there.
            force: Also a pinned version, which is unpinned by it.

        Raises:
            StoreError: It is rolled back already, or pinned and ``force`` is not set.
        """
        with self._database.write("roll prompts back", alone=True) as connection:
            found = _row(connection, team, number)
            if found["state"] == PromptState.ROLLED_BACK:
                raise _illegal(found, "rolled back")
            chosen = _team_prompts(connection, team)
            if chosen.pinned == number and not force:
                raise StoreError(
                    f"version {number} of the prompts of {team!r} is pinned and cannot be rolled back. "
                    f"Run: tracer-hooks prompts unpin {number} --team {team}"
                )
            now = _move(connection, found, PromptState.ROLLED_BACK, reason, evidence or {})
            if number in (chosen.pinned, chosen.head):
                pinned = None if chosen.pinned == number else chosen.pinned
                _set_team(connection, team, current=_parent(connection, found), pinned=pinned)
            if chosen.pinned == number:
                _note(connection, team, number, "unpinned", reason, now)
            _note(connection, team, number, "rolled back", reason, now)
        # Read after the change is made, so that a version whose texts are damaged can be taken back.
        return self.get(team, number)

    def pin(self, team: str, number: int) -> PromptVersion:
        """Make an accepted version current whatever comes; one that was pinned before is not any more.

        Raises:
            StoreError: There is no such version, or it is not accepted.
        """
        with self._database.write("pin prompts", alone=True) as connection:
            _expect(_row(connection, team, number), PromptState.ACCEPTED, "pinned")
            chosen = _team_prompts(connection, team)
            if chosen.pinned != number:
                now = _now()
                if chosen.pinned is not None:
                    _note(connection, team, chosen.pinned, "unpinned", f"version {number} is pinned instead", now)
                _set_team(connection, team, current=chosen.head, pinned=number)
                _note(connection, team, number, "pinned", "", now)
            return _version(connection, team, number)

    def unpin(self, team: str, number: int) -> PromptVersion:
        """Let go of a pinned version; the one that was accepted last is current again.

        Raises:
            StoreError: There is no such version, or it is not pinned.
        """
        with self._database.write("unpin prompts", alone=True) as connection:
            _row(connection, team, number)
            chosen = _team_prompts(connection, team)
            if chosen.pinned != number:
                other = "and no other is" if chosen.pinned is None else f"expected {_named(chosen.pinned)}"
                raise StoreError(f"version {number} of the prompts of {team!r} is not pinned, {other}. {_LIST}")
            _set_team(connection, team, current=chosen.head, pinned=None)
            _note(connection, team, number, "unpinned", "", _now())
            return _version(connection, team, number)

    def current(self, team: str) -> PromptVersion | None:
        """The version whose prompts the team is to use; None for the team's own."""
        with self._database.read("read the current prompts") as connection:
            if not _has_prompts(connection):
                return None
            number = _team_prompts(connection, team).current
            return None if number is None else _version(connection, team, number)

    def get(self, team: str, number: int) -> PromptVersion:
        """One version.

        Raises:
            StoreError: There is no such version; the message names those that there are.
        """
        with self._database.read("read prompts") as connection:
            return _version(connection, team, number)

    def versions(self, team: str | None = None) -> tuple[PromptVersion, ...]:
        """All versions of a team, or of all teams one after the other; the oldest first."""
        with self._database.read("list prompts") as connection:
            return _versions(connection, team, None)

    def events(self, team: str) -> tuple[PromptEvent, ...]:
        """List what was done with the prompts of a team, the oldest first."""
        with self._database.read("read what was done with prompts") as connection:
            if not _has_prompts(connection):
                return ()
            statement = sa.select(prompt_events).where(prompt_events.c.team == team).order_by(prompt_events.c.position)
            return tuple(event_of(found) for found in connection.execute(statement).mappings())

    def teams(self) -> tuple[str, ...]:
        """The fingerprints of all teams that have a version, sorted."""
        with self._database.read("list teams with prompts") as connection:
            if not _has_prompts(connection):
                return ()
            column = prompt_versions.c.team
            return tuple(connection.scalars(sa.select(column).distinct().order_by(column)))

    def count(self, team: str, number: int, outcome: PromptOutcome) -> bool:
        """Count a run for or against a version; False where that run was counted for it before.

        Raises:
            StoreError: There is no such version.
        """
        with self._database.write("count a run for prompts") as connection:
            return count_run(connection, team, number, outcome)

    def outcomes(
        self, team: str, number: int, *, phase: PromptPhase | None = None, last: int | None = None
    ) -> tuple[PromptOutcome, ...]:
        """The runs that were counted, in the order of counting.

        Args:
            team: The team's fingerprint.
            number: The version.
            phase: Only those of this phase.
            last: Only so many, the last ones.
        """
        if last is not None and last < 1:
            raise StoreError(f"last must be at least 1, got {last!r}. Next: pass last=100")
        with self._database.read("read runs that counted for prompts") as connection:
            if not _has_prompts(connection):
                return ()
            statement = sa.select(prompt_outcomes).where(_is(prompt_outcomes, team, number))
            if phase is not None:
                statement = statement.where(prompt_outcomes.c.phase == phase.value)
            newest_first = statement.order_by(prompt_outcomes.c.position.desc()).limit(last)
            return tuple(reversed([outcome_of(found) for found in connection.execute(newest_first).mappings()]))


def count_run(connection: sa.Connection, team: str, number: int, outcome: PromptOutcome) -> bool:
    """Count a run once; the sums change in the same transaction, so that they are those of the outcomes."""
    wait_for_others(connection)  # two that count for several teams in another order would wait for each other
    _row(connection, team, number)
    values = {"team": team, "number": number, **outcome_columns(outcome)}
    if not add_row(connection, prompt_outcomes, values):
        return False
    figures = {"runs": 1, "passes": int(outcome.passed), "score": outcome.score}
    statement = insert_into(connection.dialect.name, prompt_tallies)
    sums = {name: prompt_tallies.c[name] + statement.excluded[name] for name in figures}
    key = {"team": team, "number": number, "phase": outcome.phase.value, "arm": outcome.arm.value}
    connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=sums), {**key, **figures})
    return True


def _undecided(connection: sa.Connection, team: str, new: Mapping[str, Any], parent: int | None) -> int | None:
    """The version with the same texts and parent that is neither accepted nor rolled back."""
    columns = prompt_versions.c
    statement = sa.select(prompt_versions).where(columns.team == team, columns.state.in_(_UNDECIDED))
    for found in connection.execute(statement.order_by(columns.number)).mappings():
        content = json_in(found, "content")
        if found["parent"] == parent and all(content.get(name) == new[name] for name in ("texts", "own")):
            return int(found["number"])
    return None


def _parent(connection: sa.Connection, found: Mapping[Any, Any]) -> int | None:
    """The parent of a version, where it is still accepted."""
    number = found["parent"]
    if number is None or _row(connection, found["team"], number)["state"] != PromptState.ACCEPTED:
        return None
    return int(number)


def _move(
    connection: sa.Connection, found: Mapping[Any, Any], state: PromptState, reason: str, evidence: Mapping[str, Json]
) -> int:
    """Set the state; gives the moment."""
    now = _now()
    values: dict[str, Any] = {"state": state.value, "reason": to_text(reason), "changed_us": now}
    if state is PromptState.ACCEPTED:
        values["accepted_us"] = now
    if evidence:
        values["evidence"] = pack_json({**json_in(found, "evidence"), **evidence})
    columns = prompt_versions.c
    connection.execute(
        prompt_versions.update()
        .where(columns.team == found["team"], columns.number == found["number"], columns.state == found["state"])
        .values(values)
    )
    return now


def _set_team(connection: sa.Connection, team: str, *, current: int | None, pinned: int | None) -> None:
    statement = insert_into(connection.dialect.name, prompt_teams).values(team=team, current=current, pinned=pinned)
    new = {"current": statement.excluded.current, "pinned": statement.excluded.pinned}
    connection.execute(statement.on_conflict_do_update(index_elements=["team"], set_=new))


def _note(connection: sa.Connection, team: str, number: int, what: str, reason: str, at_us: int) -> None:
    connection.execute(
        prompt_events.insert().values(team=team, number=number, what=what, reason=to_text(reason), at_us=at_us)
    )


def _expect(found: Mapping[Any, Any], state: PromptState, what: str) -> None:
    if found["state"] != state:
        raise _illegal(found, what, f", expected {state.value!r}")


def _illegal(found: Mapping[Any, Any], what: str, expected: str = "") -> StoreError:
    return StoreError(
        f"version {found['number']} of the prompts of {found['team']!r} cannot be {what}: "
        f"it is {found['state']!r}{expected}. {_LIST}"
    )


def _named(number: int | None) -> str:
    return "the team's own prompts" if number is None else f"version {number}"


def _now() -> int:
    return to_microseconds(datetime.now(UTC))


@dataclass(frozen=True, kw_only=True)
class _TeamPrompts:
    """Versions of a team that have a say."""

    head: int | None = None
    """What is used where nothing is pinned."""
    pinned: int | None = None
    """What is used whatever comes."""

    @property
    def current(self) -> int | None:
        """Version in use; None for the team's own prompts."""
        return self.head if self.pinned is None else self.pinned


def _has_prompts(connection: sa.Connection) -> bool:
    """Tell whether the file has the tables; one of an older version that may not be changed has not."""
    return version_of_file(connection) >= PROMPTS_SINCE


def _team_prompts(connection: sa.Connection, team: str) -> _TeamPrompts:
    """Return the versions of this team that have a say."""
    return _all_team_prompts(connection, team).get(team, _TeamPrompts())


def _version(connection: sa.Connection, team: str, number: int) -> PromptVersion:
    """One version; StoreError where there is none with this number."""
    found = _versions(connection, team, number)
    if not found:
        raise _unknown_version(connection, team, number)
    return found[0]


def _row(connection: sa.Connection, team: str, number: int) -> Mapping[Any, Any]:
    """A version as the table holds it; StoreError where there is none with this number."""
    statement = sa.select(prompt_versions).where(_is(prompt_versions, team, number))
    found = connection.execute(statement).mappings().one_or_none()
    if found is None:
        raise _unknown_version(connection, team, number)
    return found


def _unknown_version(connection: sa.Connection, team: str, number: int) -> StoreError:
    """Error that names the versions that there are."""
    column = prompt_versions.c.number
    statement = sa.select(column).where(prompt_versions.c.team == team).order_by(column)
    known = [str(known_number) for known_number in connection.scalars(statement)] if _has_prompts(connection) else []
    if not known:
        return StoreError(f"no prompts are stored for the team {team!r}. {_LIST}")
    shown = ", ".join(known if len(known) <= _SHOWN else ["...", *known[-_SHOWN:]])
    return StoreError(f"no version {number!r} of the prompts of {team!r}, expected one of: {shown}. {_LIST}")


def _versions(connection: sa.Connection, team: str | None, number: int | None) -> tuple[PromptVersion, ...]:
    if not _has_prompts(connection):
        return ()
    statement = sa.select(prompt_versions).order_by(prompt_versions.c.team, prompt_versions.c.number)
    if team is not None:
        statement = statement.where(_is(prompt_versions, team, number))
    chosen = _all_team_prompts(connection, team)
    tallies = _tallies(connection, team, number)
    return tuple(
        version_of(
            found,
            is_pinned=chosen.get(found["team"], _TeamPrompts()).pinned == found["number"],
            tallies=tallies.get((found["team"], found["number"]), {}),
        )
        for found in connection.execute(statement).mappings()
    )


def _all_team_prompts(connection: sa.Connection, team: str | None) -> dict[str, _TeamPrompts]:
    statement = sa.select(prompt_teams)
    if team is not None:
        statement = statement.where(prompt_teams.c.team == team)
    rows = connection.execute(statement).mappings()
    return {found["team"]: _TeamPrompts(head=found["current"], pinned=found["pinned"]) for found in rows}


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
