"""One run in the store: the records, whole and in short, and the columns that hold them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from pydantic import AwareDatetime, Field, SkipValidation

from tracer_hooks._reading import brief
from tracer_hooks.errors import StoreError
from tracer_hooks.schema import (
    Attribution,
    ErrorMode,
    Json,
    Record,
    RunKind,
    RunOutcome,
    Text,
    Trajectory,
    Usage,
    from_json,
    to_json,
    to_json_value,
)
from tracer_hooks.store._packing import from_microseconds, pack, to_microseconds, unpack
from tracer_hooks.store._prompt_records import PromptArm

SUMMARY_TASK_CHARS = 500
"""Characters of the task that a summary keeps."""

_HEAD = ["run_id", "session_id", "attempt", "kind", "team", "framework", "task", "outcome", "outcome_reason"]
_SUMMARY = ["steps", "agent", "step", "error_mode", "confidence", "abstained", "has_repair", "has_tape"]
_OUTCOMES = {outcome.value: outcome for outcome in RunOutcome}
_LARGEST = 2**63 - 1  # a column's integers have 64 bits; the records inside the JSON keep the whole number


def fingerprint(framework: str, team: str) -> str:
    """A team's name in files and tables: readable, and different for teams whose names differ in signs only."""
    readable = re.sub(r"[^a-z0-9]+", "-", f"{framework}-{team}".casefold()).strip("-")[:60]
    return f"{readable}-{hashlib.sha256(f'{framework}/{team}'.encode()).hexdigest()[:8]}"


class RunPrompts(Record):
    """Prompts of a team that a run was made on, where a version of them is accepted."""

    version: int = Field(ge=1)
    """The version that was current: the run counts for or against it."""
    arm: PromptArm
    """Whether the agents were told its texts, or what was current before it."""
    told: int | None = Field(default=None, ge=1)
    """The version whose texts they were told; None for the team's own prompts."""

    @property
    def words(self) -> str:
        """In words, for people."""
        if self.arm is PromptArm.NEW:
            return f"version {self.version} (accepted)"
        told = "the team's own" if self.told is None else f"version {self.told}"
        return f"{told} (compared with version {self.version})"


class ForkedFrom(Record):
    """The run that another one was made of by going on from a step of it."""

    run_id: Text
    """Its id."""
    step: int = Field(ge=0)
    """The step at which the new run left its record."""
    change: Text = ""
    """What was changed, in words; empty for a control, in which nothing was."""
    kind: Text = "control"
    """What was changed: ``say``, ``result`` or ``prompts``; ``control`` for nothing."""
    group: Text = ""
    """The same for all runs that were made together, with the change and without it."""


class TeamOrigin(Record):
    """Where a run's team stands in code; what cannot be loaded again by its name is empty."""

    built_by: Text = ""
    """What builds the team, or the team: ``module:name`` or ``path/to/file.py:name``."""
    checked_by: Text = ""
    """What says whether a run succeeded, in the same form."""
    places: dict[Text, Text] = Field(default_factory=dict)
    """``file:line`` by ``"agent NAME"``, ``"tool NAME"`` and ``"prompt NAME"``, as far as they are known."""


class _RunHead(Record):
    """The fields that a summary and a whole run share."""

    run_id: Text
    """Identifies the run."""
    team: Text = ""
    """The team's name."""
    framework: Text = "unknown"
    """The framework, as in the trajectory."""
    task: Text = ""
    """What the team was asked to do; cut in a summary."""
    outcome: RunOutcome = RunOutcome.UNKNOWN
    """How the run ended."""
    outcome_reason: Text | None = None
    """Why."""
    started_at: AwareDatetime
    """When the run began (UTC)."""
    ended_at: AwareDatetime | None = None
    """When it ended (UTC)."""
    session_id: Text
    """Groups the attempts of one call."""
    attempt: int = Field(default=1, ge=1)
    """Position among the attempts of the call, from 1."""
    kind: RunKind = RunKind.LIVE
    """Why the run was made."""
    prompts: RunPrompts | None = None
    """Which accepted prompts it was made on; None where there were none, or they were not asked for."""
    tags: dict[Text, Text] = Field(default_factory=dict)
    """What the user says of it, such as a release or a request."""
    parent: ForkedFrom | None = None
    """The run that it was made of, for a fork."""


class StoredRun(_RunHead):
    """One run as the store keeps it."""

    trajectory: Trajectory
    """What happened."""
    attribution: Attribution | None = None
    """The diagnosis, when one was made."""
    repair: dict[str, Json] | None = None
    """What was tried to recover the call, as :class:`~tracer_hooks.repair.RepairLog` writes it; with the last attempt
    of a call alone."""
    tape: SkipValidation[dict[str, Json] | None] = None
    """Every model and tool reply as plain data, for replays; ``tracer_hooks.replay.Tape.model_validate`` reads it. None
    when the run was recorded without full content."""
    source: TeamOrigin | None = None
    """Where its team stands in code; None where that is not known."""

    @classmethod
    def of(cls, trajectory: Trajectory, **more: Any) -> StoredRun:
        """A run of which the trajectory says what happened, and ``more`` the rest; one without times ran just now."""
        starts = [step.started_at for step in trajectory.steps if step.started_at is not None]
        ends = [step.ended_at for step in trajectory.steps if step.ended_at is not None]
        now = datetime.now(UTC)
        told = {
            **{name: getattr(trajectory, name) for name in ("run_id", "team", "framework", "task", "outcome")},
            "outcome_reason": trajectory.outcome_reason,
            "started_at": min(starts, default=now),
            "ended_at": max(ends, default=None if more.get("kind") is RunKind.IMPORTED else now),
            "trajectory": trajectory,
        }
        return cls(**{**told, **more})

    @property
    def judged_trajectory(self) -> Trajectory:
        """The trajectory with the outcome that users see: one that was said later stands in the store's own columns."""
        return self.trajectory.model_copy(update={"outcome": self.outcome, "outcome_reason": self.outcome_reason})


class RunSummary(_RunHead):
    """One line about a run, read without its trajectory."""

    steps: int = Field(default=0, ge=0)
    """How many steps the trajectory has."""
    usage: Usage = Usage()
    """Tokens of the run; counts above 2**63 - 1 are shown as that number."""
    agent: Text | None = None
    """The agent that the diagnosis names."""
    step: int | None = Field(default=None, ge=0)
    """The step that the diagnosis names."""
    error_mode: ErrorMode | None = None
    """How the agent went wrong."""
    confidence: float | None = Field(default=None, ge=0, le=1)
    """The diagnosis' confidence; None when there is no diagnosis."""
    abstained: bool = False
    """Whether the diagnosis names no agent."""
    has_repair: bool = False
    """Whether something was tried to recover the call; said with its last attempt."""
    has_tape: bool = False
    """Whether the run can be replayed."""


class RunCount(NamedTuple):
    """Runs of a team that ended so on one day; a plain tuple, since there are thousands at once."""

    team: str
    """The team's name."""
    outcome: RunOutcome
    """How they ended."""
    day: date | None
    """The day that they count for (UTC); None for no day."""
    runs: int
    """How many there are."""
    input_tokens: int
    """Tokens that they read."""
    output_tokens: int
    """Tokens that they wrote."""


# --- columns ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class PackedRun:
    """A run as the store's file holds it: small, and without any object of the user's."""

    values: Mapping[str, Any]
    """Column values."""

    @classmethod
    def of(cls, run: StoredRun) -> PackedRun:
        """``run``, packed."""
        return cls(_row_of(run))

    @property
    def size(self) -> int:
        """Size of its texts and records in bytes, nearly."""
        return sum(len(value) for value in self.values.values() if isinstance(value, (str, bytes)))


def _row_of(run: StoredRun) -> dict[str, Any]:
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
        "tags": tags_column(run.tags),
        "parent": None if run.parent is None else run.parent.model_dump_json(),
        "parent_id": None if run.parent is None else run.parent.run_id,
        "source": None if run.source is None else run.source.model_dump_json(exclude_defaults=True),
        **attribution_columns(run.attribution),
        "rewrite": None if run.repair is None else pack(json.dumps(to_json_value(run.repair))),
        "tape": None if run.tape is None else pack(json.dumps(run.tape)),
    }


def tags_column(tags: Mapping[str, str]) -> str | None:
    """The column that holds tags; inside of its brackets stands what is looked for in it."""
    return json.dumps(tags) if tags else None


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


def _repair_of(packed: bytes | None) -> dict[str, Any] | None:
    """Return what was tried; of a run stored before there were repairs, its prompt rewrite in the same shape."""
    if not packed:
        return None
    data: dict[str, Any] = json.loads(unpack(packed))
    if "after" not in data:
        return data
    instructions = {
        "target": "instructions",
        "agent": data.get("agent"),
        "text": data["after"],
        "reason": data.get("reason"),
    }
    repair = {"strategy": "instructions", **{key: value for key, value in instructions.items() if value is not None}}
    trial = {"repair": repair, "outcome": "succeeded" if data.get("kept") else "failed"}
    return {"trials": [trial], "stopped": data.get("decision") or ""}


def run_of(row: Mapping[Any, Any]) -> StoredRun:
    """The run in ``row``."""
    try:
        return StoredRun(
            **_head_of(row),
            trajectory=from_json(unpack(row["trajectory"]), Trajectory),
            attribution=from_json(unpack(row["attribution"]), Attribution) if row["attribution"] else None,
            repair=_repair_of(row["rewrite"]),
            tape=json.loads(unpack(row["tape"])) if row["tape"] else None,
            source=TeamOrigin.model_validate_json(row["source"]) if row["source"] else None,
        )
    except Exception as error:  # whatever a damaged row holds
        raise _damaged(row, error) from error


def attribution_of(row: Mapping[Any, Any]) -> Attribution:
    """The diagnosis in ``row``."""
    try:
        return from_json(unpack(row["attribution"]), Attribution)
    except Exception as error:  # whatever a damaged row holds
        raise _damaged(row, error) from error


def summary_of(row: Mapping[Any, Any]) -> RunSummary:
    """The summary in ``row``."""
    try:
        return RunSummary(
            **_head_of(row),
            **{name: row[name] for name in _SUMMARY},
            usage=Usage(input_tokens=row["input_tokens"], output_tokens=row["output_tokens"]),
        )
    except Exception as error:
        raise _damaged(row, error) from error


def count_of(row: Sequence[Any], day: date | None) -> RunCount:
    """The count of a day in ``row``: team, outcome, runs, tokens read and written."""
    team, outcome, count, tokens_in, tokens_out = row
    known = _OUTCOMES.get(outcome, RunOutcome.UNKNOWN)  # a damaged row still is a run
    return RunCount(team, known, day, count, int(tokens_in), int(tokens_out))


def _head_of(row: Mapping[Any, Any]) -> dict[str, Any]:
    return {
        **{name: row[name] for name in _HEAD},
        "prompts": RunPrompts.model_validate_json(row["prompts"]) if row["prompts"] else None,
        "tags": json.loads(row["tags"]) if row["tags"] else {},
        "parent": ForkedFrom.model_validate_json(row["parent"]) if row["parent"] else None,
        "started_at": from_microseconds(row["started_us"]),
        "ended_at": None if row["ended_us"] is None else from_microseconds(row["ended_us"]),
    }


def _damaged(row: Mapping[Any, Any], error: Exception) -> StoreError:
    name, why = row["run_id"], brief(" ".join(str(error).split()))
    return StoreError(f"run {name!r} in the run store is damaged: {why}. Next: RunStore().delete({name!r})")
