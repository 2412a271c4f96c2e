"""Lessons as table rows, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from tracer_hooks.errors import StoreError
from tracer_hooks.schema import Json, Record, Text, to_json_value
from tracer_hooks.store._lesson_records import Lesson, LessonDraft, LessonOutcome
from tracer_hooks.store._packing import from_microseconds, pack, to_microseconds, unpack

_PLAIN = ["team", "number", "team_name", "framework", "agent", "state", "reason", "period"]
_SUMS = ["with_runs", "with_passes", "without_runs", "without_passes"]


class _Content(Record):
    """What a lesson says: set when it is learnt, and never changed."""

    text: Text
    kind: dict[Text, float]
    provenance: dict[str, Json]


def pack_draft(draft: LessonDraft) -> bytes:
    """What a lesson says, as one column."""
    facts: Any = to_json_value({"failures": len(draft.runs), **draft.provenance, "runs": list(draft.runs)})
    return pack(_Content(text=draft.text, kind=draft.kind, provenance=facts).model_dump_json())


def pack_evidence(evidence: Mapping[str, Json]) -> bytes:
    """``evidence`` as one column."""
    return pack(json.dumps(to_json_value(dict(evidence))))


def lesson_of(row: Mapping[Any, Any]) -> Lesson:
    """The lesson in ``row``.

    Raises:
        StoreError: The row is damaged.
    """
    try:
        content = _Content.model_validate_json(unpack(row["content"]))
        return Lesson(
            **{name: row[name] for name in [*_PLAIN, *_SUMS]},
            text=content.text,
            kind=content.kind,
            provenance=content.provenance,
            evidence=json.loads(unpack(row["evidence"])),
            created_at=from_microseconds(row["created_us"]),
            changed_at=from_microseconds(row["changed_us"]),
        )
    except (ValidationError, ValueError, OverflowError) as error:
        team, number = row["team"], row["number"]
        raise StoreError(
            f"lesson {number} of {team!r} is damaged in the store: {error}. "
            f"Run: tracer-hooks lessons retire {number} --team {team}"
        ) from error


def outcome_columns(outcome: LessonOutcome) -> dict[str, Any]:
    """``outcome`` as column values."""
    names = ("run_id", "period", "given", "passed", "share")
    return {**{name: getattr(outcome, name) for name in names}, "counted_us": to_microseconds(outcome.counted_at)}


def outcome_of(row: Mapping[Any, Any]) -> LessonOutcome:
    """The outcome in ``row``."""
    names = ("run_id", "period", "given", "passed", "share")
    return LessonOutcome(**{name: row[name] for name in names}, counted_at=from_microseconds(row["counted_us"]))
