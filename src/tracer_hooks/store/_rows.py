"""Records as table rows, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from tracer_hooks._limits import brief
from tracer_hooks.errors import StoreError
from tracer_hooks.schema import Attribution, Json, Trajectory, Usage, from_json, to_json, to_json_value
from tracer_hooks.store._packing import pack, unpack
from tracer_hooks.store._records import RunPrompts, RunSummary, StoredRun

SUMMARY_TASK_CHARS = 500
"""Characters of the task that a summary keeps."""

_HEAD = ["run_id", "session_id", "attempt", "kind", "team", "framework", "task", "outcome", "outcome_reason"]
_SUMMARY = ["steps", "agent", "step", "error_mode", "confidence", "abstained", "has_repair", "has_tape"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LARGEST = 2**63 - 1  # SQLite's integers have 64 bits; the records inside the JSON keep the whole number


def to_microseconds(moment: datetime) -> int:
    """Whole microseconds since 1970; exact, unlike a float of seconds."""
    return (moment - _EPOCH) // _MICROSECOND


def from_microseconds(count: int) -> datetime:
    """The moment that :func:`to_microseconds` was given, in UTC."""
    return _EPOCH + count * _MICROSECOND


def row_of(run: StoredRun) -> dict[str, Any]:
    """``run`` as column values."""
    usage = run.trajectory.usage
    return {
        "run_id": run.run_id,
        "session_id": run.session_id,
        "attempt": min(run.attempt, _LARGEST),
        "kind": run.kind.value,
        "team": run.team,
        "framework": run.framework,
        "task": run.task,
        "outcome": run.outcome.value,
        "outcome_reason": run.outcome_reason,
        "started_us": to_microseconds(run.started_at),
        "ended_us": None if run.ended_at is None else to_microseconds(run.ended_at),
        "steps": len(run.trajectory.steps),
        "input_tokens": min(usage.input_tokens, _LARGEST),
        "output_tokens": min(usage.output_tokens, _LARGEST),
        "trajectory": pack(to_json(run.trajectory)),
        "prompts": None if run.prompts is None else run.prompts.model_dump_json(),
        **attribution_columns(run.attribution),
        **repair_columns(run.repair),
        **tape_columns(run.tape),
    }


def attribution_columns(attribution: Attribution | None) -> dict[str, Any]:
    """The columns that hold a diagnosis; all empty for None."""
    if attribution is None:
        names = ("attribution", "agent", "step", "error_mode", "confidence")
        return {**dict.fromkeys(names), "abstained": False}
    return {
        "attribution": pack(to_json(attribution)),
        "agent": attribution.agent,
        "step": None if attribution.step is None else min(attribution.step, _LARGEST),
        "error_mode": None if attribution.error_mode is None else attribution.error_mode.value,
        "confidence": attribution.confidence,
        "abstained": attribution.abstained,
    }


def repair_columns(repair: Mapping[str, Json] | None) -> dict[str, Any]:
    """The column that holds what was tried."""
    return {"rewrite": None if repair is None else pack(json.dumps(to_json_value(repair)))}


def _repair_of(packed: bytes | None) -> dict[str, Any] | None:
    """What was tried; of a run that was stored before there were repairs, its prompt rewrite in the same shape."""
    if not packed:
        return None
    data: dict[str, Any] = json.loads(unpack(packed))
    if "after" not in data:
        return data
    told = {"target": "instructions", "agent": data.get("agent"), "text": data["after"], "reason": data.get("reason")}
    repair = {"strategy": "instructions", **{key: value for key, value in told.items() if value is not None}}
    trial = {"repair": repair, "outcome": "succeeded" if data.get("kept") else "failed"}
    return {"trials": [trial], "stopped": data.get("decision") or ""}


def tape_columns(tape: Mapping[str, Json] | None) -> dict[str, Any]:
    """The column that holds a tape."""
    return {"tape": None if tape is None else pack(json.dumps(tape))}


def run_of(row: Mapping[Any, Any]) -> StoredRun:
    """The run in ``row``.

    Raises:
        StoreError: What the row holds is damaged.
    """
    try:
        return StoredRun(
            **_head_of(row),
            trajectory=from_json(unpack(row["trajectory"]), Trajectory),
            attribution=from_json(unpack(row["attribution"]), Attribution) if row["attribution"] else None,
            repair=_repair_of(row["rewrite"]),
            tape=json.loads(unpack(row["tape"])) if row["tape"] else None,
        )
    except Exception as error:  # whatever a damaged row holds
        raise _damaged(row, error) from error


def summary_of(row: Mapping[Any, Any]) -> RunSummary:
    """The summary in ``row``.

    Raises:
        StoreError: What the row holds is damaged.
    """
    try:
        return RunSummary(
            **_head_of(row),
            **{name: row[name] for name in _SUMMARY},
            usage=Usage(input_tokens=row["input_tokens"], output_tokens=row["output_tokens"]),
        )
    except Exception as error:
        raise _damaged(row, error) from error


def _head_of(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {
        **{name: row[name] for name in _HEAD},
        "prompts": RunPrompts.model_validate_json(row["prompts"]) if row["prompts"] else None,
        "started_at": from_microseconds(row["started_us"]),
        "ended_at": None if row["ended_us"] is None else from_microseconds(row["ended_us"]),
    }


def _damaged(row: Mapping[Any, Any], error: Exception) -> StoreError:
    name, why = row["run_id"], brief(" ".join(str(error).split()))
    return StoreError(f"run {name!r} in the run store is damaged: {why}. Next: RunStore().delete({name!r})")
