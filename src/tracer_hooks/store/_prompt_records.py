"""A team's prompts in the store: versions, counts of their runs and what was done with them, and their columns."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import AwareDatetime, Field

from tracer_hooks.errors import StoreError
from tracer_hooks.schema import Json, Record, Text, to_json_value
from tracer_hooks.store._packing import from_microseconds, pack, to_microseconds, unpack


class PromptState(StrEnum):
    """State of a version of a team's prompts, from its proposal on."""

    PROPOSED = "proposed"
    """Written, and not tried yet."""
    ON_TRIAL = "on trial"
    """Being compared with what it would replace."""
    ACCEPTED = "accepted"
    """Found better; the version that was accepted last is the current one."""
    ROLLED_BACK = "rolled back"
    """Not used any more, or never: it failed its trial, got worse later, or somebody took it back."""


class PromptArm(StrEnum):
    """Arm of a trial: the prompts that a run had."""

    NEW = "new"
    """Those of the version."""
    OLD = "old"
    """Those that were current before it."""


class PromptPhase(StrEnum):
    """Phase in which a run counted for or against a version."""

    TRIAL = "trial"
    """In its trial, before it was accepted."""
    LIVE = "live"
    """In the user's own work, after it was accepted."""


class PromptOutcome(Record):
    """One run that counts for or against a version."""

    run_id: Text = Field(min_length=1)
    """The run; it counts once for a version."""
    arm: PromptArm
    """Which prompts the run had."""
    phase: PromptPhase
    """Whether it was part of the trial."""
    passed: bool
    """Whether it passed the check."""
    score: float = Field(ge=0, le=1)
    """The check's score; 1 or 0 where it only says passed or not."""
    counted_at: AwareDatetime
    """When it was counted (UTC)."""
    task: Text = ""
    """An id of the task, not its text."""


class PromptTally(Record):
    """Sums over the runs of one phase."""

    new_runs: int = Field(default=0, ge=0)
    """Runs on the version's prompts."""
    new_passes: int = Field(default=0, ge=0)
    """Those of them that passed."""
    new_score: float = Field(default=0.0, ge=0)
    """Sum of their scores."""
    old_runs: int = Field(default=0, ge=0)
    """Runs on the prompts before it."""
    old_passes: int = Field(default=0, ge=0)
    """Those of them that passed."""
    old_score: float = Field(default=0.0, ge=0)
    """Sum of their scores."""

    @property
    def new_rate(self) -> float | None:
        """Share of runs on the version's prompts that passed; None without any."""
        return self.new_passes / self.new_runs if self.new_runs else None

    @property
    def old_rate(self) -> float | None:
        """Share of runs on the prompts before it that passed; None without any."""
        return self.old_passes / self.old_runs if self.old_runs else None


class PromptVersion(Record):
    """One version of a team's prompts."""

    team: Text
    """The team's fingerprint."""
    team_name: Text = ""
    """The team's name."""
    framework: Text = ""
    """Its framework."""
    number: int = Field(ge=1)
    """Counted from 1 for each team."""
    parent: int | None = None
    """The version that was current when this one was proposed; None for the team's own prompts."""
    texts: dict[Text, Text]
    """The new instructions by agent, for every agent that does not have the team's own."""
    own: dict[Text, Text]
    """The team's own instructions of the same agents."""
    state: PromptState
    """How far it has come."""
    reason: Text = ""
    """Why it is in this state."""
    is_pinned: bool = False
    """Whether it is current whatever comes."""
    provenance: dict[str, Json] = Field(default_factory=dict)
    """Where it comes from: who proposed it, from which failures, with which model."""
    evidence: dict[str, Json] = Field(default_factory=dict)
    """What its tests found."""
    created_at: AwareDatetime
    """When it was proposed (UTC)."""
    changed_at: AwareDatetime
    """When its state changed last (UTC)."""
    accepted_at: AwareDatetime | None = None
    """When it was accepted (UTC); stays when it is rolled back."""
    trial: PromptTally = PromptTally()
    """Its trial in figures."""
    live: PromptTally = PromptTally()
    """The user's own runs since it was accepted, in figures."""


class PromptEvent(Record):
    """One thing that was done with a version."""

    team: Text
    """The team's fingerprint."""
    number: int | None = None
    """The version."""
    what: Text
    """``proposed``, ``put on trial``, ``accepted``, ``rolled back``, ``pinned`` or ``unpinned``."""
    reason: Text = ""
    """Why."""
    at: AwareDatetime
    """When (UTC)."""


def prompt_diff(before: str, after: str, *, before_name: str = "before", after_name: str = "after") -> str:
    """Compare two prompts in a unified diff; empty when nothing changed."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), before_name, after_name, lineterm="")
    return "\n".join(lines)


# --- columns ---------------------------------------------------------------------------------------------------------
_PLAIN = ["team", "number", "parent", "team_name", "framework", "state", "reason"]


def expect_texts(team: str, texts: Mapping[str, str], own: Mapping[str, str]) -> None:
    """Make sure that a version can be made of them."""
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


def pack_json(value: Mapping[str, Any]) -> bytes:
    """``value`` as one column."""
    return pack(json.dumps(to_json_value(dict(value))))


def json_in(row: Mapping[Any, Any], column: str) -> dict[str, Any]:
    """The value of such a column."""
    try:
        found: dict[str, Any] = dict(json.loads(unpack(row[column])))
    except (ValueError, TypeError) as error:
        raise _damaged(row, error) from error
    return found


def version_of(row: Mapping[Any, Any], *, is_pinned: bool, tallies: Mapping[str, PromptTally]) -> PromptVersion:
    """The version in ``row``."""
    content, accepted = json_in(row, "content"), row["accepted_us"]
    try:
        return PromptVersion(
            **{name: row[name] for name in _PLAIN},
            **content,
            evidence=json_in(row, "evidence"),
            is_pinned=is_pinned,
            created_at=from_microseconds(row["created_us"]),
            changed_at=from_microseconds(row["changed_us"]),
            accepted_at=None if accepted is None else from_microseconds(accepted),
            trial=tallies.get(PromptPhase.TRIAL, PromptTally()),
            live=tallies.get(PromptPhase.LIVE, PromptTally()),
        )
    except (ValueError, TypeError, OverflowError) as error:
        raise _damaged(row, error) from error


def outcome_columns(outcome: PromptOutcome) -> dict[str, Any]:
    """``outcome`` as column values."""
    told = outcome.model_dump(mode="json", exclude={"counted_at"})
    return {**told, "counted_us": to_microseconds(outcome.counted_at)}


def outcome_of(row: Mapping[Any, Any]) -> PromptOutcome:
    """The outcome in ``row``."""
    names = ("run_id", "arm", "phase", "passed", "score", "task")
    return PromptOutcome(**{name: row[name] for name in names}, counted_at=from_microseconds(row["counted_us"]))


def event_of(row: Mapping[Any, Any]) -> PromptEvent:
    """The event in ``row``."""
    names = ("team", "number", "what", "reason")
    return PromptEvent(**{name: row[name] for name in names}, at=from_microseconds(row["at_us"]))


def _damaged(row: Mapping[Any, Any], error: Exception) -> StoreError:
    team, number = row["team"], row["number"]
    return StoreError(
        f"version {number} of the prompts of {team!r} is damaged in the store: {error}. "
        f"Run: tracer-hooks prompts rollback {number} --team {team}"
    )
