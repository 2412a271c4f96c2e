"""What is done with prompts.

Each function wants a transaction that holds the write lock, so that what it reads cannot change before it writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from tracer_hooks.errors import StoreError
from tracer_hooks.schema import Json, to_json_value, to_text
from tracer_hooks.store import _prompt_queries as queries
from tracer_hooks.store._prompt_records import PromptOutcome, PromptState, PromptVersion
from tracer_hooks.store._prompt_rows import (
    PromptContent,
    content_of,
    evidence_of,
    outcome_columns,
    pack_content,
    pack_evidence,
)
from tracer_hooks.store._rows import to_microseconds
from tracer_hooks.store._tables import (
    prompt_events,
    prompt_outcomes,
    prompt_tallies,
    prompt_teams,
    prompt_versions,
)

_LIST = "Run: tracer-hooks prompts list"
_OPEN = (PromptState.PROPOSED, PromptState.ON_TRIAL)


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A version that has no number yet."""

    team: str
    team_name: str
    framework: str
    content: PromptContent


def draft(
    team: str,
    texts: Mapping[str, str],
    own: Mapping[str, str],
    *,
    team_name: str,
    framework: str,
    provenance: Mapping[str, Json],
) -> Draft:
    """A version to propose.

    Raises:
        StoreError: It says nothing, or not what it stands in the place of.
    """
    if not team:
        raise StoreError("team is '', expected the team's fingerprint. Next: pass fingerprint(framework, team name)")
    if not texts:
        raise StoreError(
            f"no texts for the team {team!r}, expected one agent at least. Next: pass texts={{agent: text}}"
        )
    for agent, text in texts.items():
        if not text.strip():
            raise StoreError(f"the text for the agent {agent!r} is empty, expected instructions. Next: leave it out")
    if texts.keys() != own.keys():
        raise StoreError(
            f"own has the agents {sorted(own)!r}, expected those of texts, {sorted(texts)!r}. "
            "Next: pass the team's own instructions of each agent"
        )
    content = PromptContent(texts=dict(texts), own=dict(own), provenance=_plain(provenance))
    return Draft(team=team, team_name=to_text(team_name), framework=to_text(framework), content=content)


def propose(connection: sa.Connection, new: Draft) -> PromptVersion:
    """Add a version, or give back the one that says the same and is not decided yet."""
    parent = queries.team_prompts(connection, new.team).current
    same = _undecided(connection, new, parent)
    if same is not None:
        return queries.version(connection, new.team, same)
    largest = sa.select(sa.func.max(prompt_versions.c.number)).where(prompt_versions.c.team == new.team)
    number = (connection.scalar(largest) or 0) + 1
    now = _now()
    values = {
        "team": new.team,
        "number": number,
        "parent": parent,
        "team_name": new.team_name,
        "framework": new.framework,
        "state": PromptState.PROPOSED.value,
        "reason": "",
        "created_us": now,
        "changed_us": now,
        "content": pack_content(new.content),
        "evidence": pack_evidence({}),
    }
    connection.execute(prompt_versions.insert().values(values))
    _note(connection, new.team, number, "proposed", "", now)
    return queries.version(connection, new.team, number)


def start_trial(connection: sa.Connection, team: str, number: int) -> PromptVersion:
    """Proposed to on trial."""
    found = queries.row(connection, team, number)
    _expect(found, PromptState.PROPOSED, "put on trial")
    _move(connection, found, PromptState.ON_TRIAL, "", {})
    _note(connection, team, number, "put on trial", "", _now())
    return queries.version(connection, team, number)


def accept(
    connection: sa.Connection, team: str, number: int, reason: str, evidence: Mapping[str, Json]
) -> PromptVersion:
    """On trial to accepted, and current from now on."""
    found = queries.row(connection, team, number)
    _expect(found, PromptState.ON_TRIAL, "accepted")
    said = queries.team_prompts(connection, team)
    if said.pinned is not None:
        raise StoreError(
            f"version {number} of the prompts of {team!r} cannot be accepted: version {said.pinned} is pinned. "
            f"Run: tracer-hooks prompts unpin {said.pinned} --team {team}"
        )
    if said.current != found["parent"]:
        raise StoreError(
            f"version {number} of the prompts of {team!r} cannot be accepted: it was compared with "
            f"{_named(found['parent'])}, and {_named(said.current)} is current now. {_LIST}"
        )
    now = _move(connection, found, PromptState.ACCEPTED, reason, evidence)
    _set_team(connection, team, current=number, pinned=None)
    _note(connection, team, number, "accepted", reason, now)
    return queries.version(connection, team, number)


def roll_back(
    connection: sa.Connection,
    team: str,
    number: int,
    reason: str,
    evidence: Mapping[str, Json],
    *,
    force: bool,
) -> None:
    """Any state to rolled back; if it is current, its parent is, where that is still accepted."""
    found = queries.row(connection, team, number)
    if found["state"] == PromptState.ROLLED_BACK:
        raise _illegal(found, "rolled back")
    said = queries.team_prompts(connection, team)
    if said.pinned == number and not force:
        raise StoreError(
            f"version {number} of the prompts of {team!r} is pinned and cannot be rolled back. "
            f"Run: tracer-hooks prompts unpin {number} --team {team}"
        )
    now = _move(connection, found, PromptState.ROLLED_BACK, reason, evidence)
    if number in (said.pinned, said.head):
        pinned = None if said.pinned == number else said.pinned
        _set_team(connection, team, current=_parent(connection, found), pinned=pinned)
    if said.pinned == number:
        _note(connection, team, number, "unpinned", reason, now)
    _note(connection, team, number, "rolled back", reason, now)


def pin(connection: sa.Connection, team: str, number: int) -> PromptVersion:
    """Make an accepted version current whatever comes."""
    _expect(queries.row(connection, team, number), PromptState.ACCEPTED, "pinned")
    said = queries.team_prompts(connection, team)
    if said.pinned != number:
        now = _now()
        if said.pinned is not None:
            _note(connection, team, said.pinned, "unpinned", f"version {number} is pinned instead", now)
        _set_team(connection, team, current=said.head, pinned=number)
        _note(connection, team, number, "pinned", "", now)
    return queries.version(connection, team, number)


def unpin(connection: sa.Connection, team: str, number: int) -> PromptVersion:
    """Let go of a pinned version."""
    queries.row(connection, team, number)
    said = queries.team_prompts(connection, team)
    if said.pinned != number:
        raise StoreError(
            f"version {number} of the prompts of {team!r} is not pinned, expected {_named(said.pinned)}. {_LIST}"
            if said.pinned is not None
            else f"version {number} of the prompts of {team!r} is not pinned, and no other is. {_LIST}"
        )
    _set_team(connection, team, current=said.head, pinned=None)
    _note(connection, team, number, "unpinned", "", _now())
    return queries.version(connection, team, number)


def count(connection: sa.Connection, team: str, number: int, outcome: PromptOutcome) -> bool:
    """Count a run once; the sums change in the same transaction, so that they are those of the outcomes."""
    queries.row(connection, team, number)
    values = {"team": team, "number": number, **outcome_columns(outcome)}
    if connection.execute(insert(prompt_outcomes).values(values).on_conflict_do_nothing()).rowcount == 0:
        return False
    key = {"team": team, "number": number, "phase": outcome.phase.value, "arm": outcome.arm.value}
    statement = insert(prompt_tallies).values(**key, runs=1, passes=int(outcome.passed), score=outcome.score)
    sums = {name: prompt_tallies.c[name] + statement.excluded[name] for name in ("runs", "passes", "score")}
    connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=sums))
    return True


def _undecided(connection: sa.Connection, new: Draft, parent: int | None) -> int | None:
    """The version with the same texts and parent that is neither accepted nor rolled back."""
    columns = prompt_versions.c
    statement = sa.select(prompt_versions).where(columns.team == new.team, columns.state.in_(_OPEN))
    for found in connection.execute(statement.order_by(columns.number)).mappings():
        content = content_of(found)
        if found["parent"] == parent and (content.texts, content.own) == (new.content.texts, new.content.own):
            return int(found["number"])
    return None


def _parent(connection: sa.Connection, found: Mapping[Any, Any]) -> int | None:
    """The parent of a version, where it is still accepted."""
    number = found["parent"]
    if number is None or queries.row(connection, found["team"], number)["state"] != PromptState.ACCEPTED:
        return None
    return int(number)


def _move(
    connection: sa.Connection,
    found: Mapping[Any, Any],
    state: PromptState,
    reason: str,
    evidence: Mapping[str, Json],
) -> int:
    """Set the state; gives the moment."""
    now = _now()
    values: dict[str, Any] = {"state": state.value, "reason": to_text(reason), "changed_us": now}
    if state is PromptState.ACCEPTED:
        values["accepted_us"] = now
    if evidence:
        values["evidence"] = pack_evidence(evidence_of(found) | _plain(evidence))
    columns = prompt_versions.c
    connection.execute(
        prompt_versions.update()
        .where(columns.team == found["team"], columns.number == found["number"], columns.state == found["state"])
        .values(values)
    )
    return now


def _set_team(connection: sa.Connection, team: str, *, current: int | None, pinned: int | None) -> None:
    statement = insert(prompt_teams).values(team=team, current=current, pinned=pinned)
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


def _plain(values: Mapping[str, Json]) -> dict[str, Json]:
    plain: Any = to_json_value(dict(values))
    return dict(plain)


def _now() -> int:
    return to_microseconds(datetime.now(UTC))
