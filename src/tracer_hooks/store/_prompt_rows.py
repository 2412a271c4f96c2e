"""Versions of prompts as table rows, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from tracer_hooks.errors import StoreError
from tracer_hooks.schema import Json, Record, Text, to_json_value
from tracer_hooks.store._packing import pack, unpack
from tracer_hooks.store._prompt_records import PromptEvent, PromptOutcome, PromptPhase, PromptTally, PromptVersion
from tracer_hooks.store._rows import from_microseconds, to_microseconds

_PLAIN = ["team", "number", "parent", "team_name", "framework", "state", "reason"]


class PromptContent(Record):
    """What a version says: set when it is proposed, and never changed."""

    texts: dict[Text, Text]
    """The new instructions by agent."""
    own: dict[Text, Text]
    """The team's own instructions of the same agents."""
    provenance: dict[str, Json]
    """Where it comes from."""


def pack_content(content: PromptContent) -> bytes:
    """``content`` as one column."""
    return pack(content.model_dump_json())


def content_of(row: Mapping[Any, Any]) -> PromptContent:
    """What the version in ``row`` says.

    Raises:
        StoreError: The row is damaged.
    """
    try:
        return PromptContent.model_validate_json(unpack(row["content"]))
    except ValueError as error:
        raise _damaged(row, error) from error


def pack_evidence(evidence: Mapping[str, Json]) -> bytes:
    """``evidence`` as one column."""
    return pack(json.dumps(to_json_value(evidence)))


def evidence_of(row: Mapping[Any, Any]) -> dict[str, Json]:
    """The evidence in ``row``.

    Raises:
        StoreError: The row is damaged.
    """
    try:
        found: dict[str, Json] = json.loads(unpack(row["evidence"]))
    except ValueError as error:
        raise _damaged(row, error) from error
    return found


def version_of(row: Mapping[Any, Any], *, is_pinned: bool, tallies: Mapping[str, PromptTally]) -> PromptVersion:
    """The version in ``row``.

    Raises:
        StoreError: The row is damaged.
    """
    content = content_of(row)
    accepted = row["accepted_us"]
    try:
        return PromptVersion(
            **{name: row[name] for name in _PLAIN},
            texts=content.texts,
            own=content.own,
            provenance=content.provenance,
            evidence=evidence_of(row),
            is_pinned=is_pinned,
            created_at=from_microseconds(row["created_us"]),
            changed_at=from_microseconds(row["changed_us"]),
            accepted_at=None if accepted is None else from_microseconds(accepted),
            trial=tallies.get(PromptPhase.TRIAL, PromptTally()),
            live=tallies.get(PromptPhase.LIVE, PromptTally()),
        )
    except (ValidationError, OverflowError) as error:
        raise _damaged(row, error) from error


def outcome_columns(outcome: PromptOutcome) -> dict[str, Any]:
    """``outcome`` as column values."""
    return {
        "run_id": outcome.run_id,
        "arm": outcome.arm.value,
        "phase": outcome.phase.value,
        "passed": outcome.passed,
        "score": outcome.score,
        "counted_us": to_microseconds(outcome.counted_at),
        "task": outcome.task,
    }


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
