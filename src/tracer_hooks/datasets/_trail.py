"""Records of TRAIL (arXiv 2505.08638): OpenInference traces with nested spans, and errors located at spans.

A trace (``trace_id``, ``spans`` with ``span_attributes`` and ``child_spans``) and its annotation (``errors`` with
``category``, ``location``, ``evidence``, ``description``, ``impact``) stand in two files of the same name, or as two
JSON strings in one record (``trace``, ``labels``). The data may not be passed on; only its shape is known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tracer_hooks._json_text import parse_json
from tracer_hooks.datasets._record import LoadedRecord
from tracer_hooks.datasets._speakers import content_text
from tracer_hooks.datasets._trail_spans import TrailTrace, read_spans
from tracer_hooks.errors import TrajectoryError
from tracer_hooks.schema import (
    AgentFault,
    DecisiveStep,
    ErrorMode,
    LabeledTrajectory,
    LabelSource,
    RunOutcome,
    Trajectory,
    to_text,
)

_IMPACTS = {"high": 2, "medium": 1, "low": 0}
_AT_ITS_END = "resourceabuse"

MODES: Mapping[str, ErrorMode] = {
    "instructionnoncompliance": ErrorMode.FM_1_1,
    "instructionnoncomplience": ErrorMode.FM_1_1,
    "goaldeviation": ErrorMode.FM_2_3,
    "contexthandlingfailure": ErrorMode.FM_1_4,
    "contexthandlingfailures": ErrorMode.FM_1_4,
    _AT_ITS_END: ErrorMode.FM_1_3,
}
"""The categories that say the same as an error mode, by their letters alone: non-compliance with instructions is
FM-1.1, leaving the goal FM-2.3, losing prior context FM-1.4, and resource abuse, which TRAIL defines as calling the
same tool over and over, FM-1.3. Hallucination, retrieval, misread tool output, memory, tool choice, formatting,
orchestration, problem identification and all system errors have no counterpart and stay without a mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Located:
    """One annotated error, at a step when its span belongs to one."""

    step: int | None
    category: str
    reason: str
    impact: int


def is_trail_trace(data: Mapping[str, Any]) -> bool:
    """Whether a record holds a trace of nested spans."""
    spans = data.get("spans")
    first = spans[0] if isinstance(spans, list) and spans else None
    return isinstance(first, Mapping) and ("child_spans" in first or "span_attributes" in first)


def is_trail_row(data: Mapping[str, Any]) -> bool:
    """Whether a record holds trace and labels as JSON strings."""
    return isinstance(data.get("trace"), str) and "labels" in data


def is_trail_annotation(data: Mapping[str, Any]) -> bool:
    """Whether a record holds located errors."""
    errors = data.get("errors")
    return isinstance(errors, list) and all(isinstance(one, Mapping) and "category" in one for one in errors)


def trail_key(data: Mapping[str, Any]) -> str:
    """What a trace and its annotation share, when the annotation says it; else their files share a name."""
    return to_text(data.get("trace_id") or "")


def read_trail(data: Mapping[str, Any], source: str, annotation: Mapping[str, Any] | None = None) -> LoadedRecord:
    """Read one run.

    TRAIL names no root cause: the decisive step is the earliest error among those of the highest impact, which is our
    reading and not TRAIL's. Every located error is a fault of the agent that acted there, and the steps of all errors
    stand in ``verification["faulty_steps"]``. An error at a span outside every step keeps no place.

    Args:
        data: The trace, or a record that holds trace and labels as JSON strings.
        source: Where it was found.
        annotation: Its annotation, when that stands elsewhere.

    Raises:
        TrajectoryError: The spans give no run, or a JSON string is damaged.
    """
    if is_trail_row(data):
        annotation = _decoded(data["labels"], "labels")
        data = _decoded(data["trace"], "trace")
    trace = read_spans(data)
    errors = None if annotation is None else list(_located(annotation, trace))
    trajectory = trace.trajectory.model_copy(update={"outcome": _outcome(errors), "framework": "trail"})
    labeled = None if errors is None else _labeled(errors, trajectory)
    return LoadedRecord(source=source, trajectory=trajectory, labeled=labeled, question_id=trajectory.run_id)


def _decoded(value: object, name: str) -> Mapping[str, Any]:
    try:
        found = parse_json(value) if isinstance(value, str) else value
    except ValueError as error:
        raise TrajectoryError(f"{name!r} is not valid JSON: {error}") from error
    if not isinstance(found, Mapping):
        raise TrajectoryError(f"{name!r} must hold an object, got {type(found).__name__}")
    return found


def _outcome(errors: list[_Located] | None) -> RunOutcome:
    return RunOutcome.FAILED if errors else RunOutcome.UNKNOWN


def _located(annotation: Mapping[str, Any], trace: TrailTrace) -> Iterator[_Located]:
    errors = annotation.get("errors", [])
    if not isinstance(errors, list) or not all(isinstance(error, Mapping) for error in errors):
        raise TrajectoryError("'errors' must be a list of objects")
    for error in errors:
        category = to_text(error.get("category") or "").strip()
        told = content_text(error.get("description") or error.get("evidence"))
        yield _Located(
            step=trace.step_of(to_text(error.get("location") or ""), at_end=letters(category) == _AT_ITS_END),
            category=category,
            reason=f"{category}: {told}" if told else category,
            impact=_IMPACTS.get(to_text(error.get("impact") or "").casefold(), 0),
        )


def _labeled(errors: list[_Located], trajectory: Trajectory) -> LabeledTrajectory:
    placed = [(one.step, one) for one in errors if one.step is not None]
    worst = min(placed, key=lambda item: (-item[1].impact, item[0]), default=None)
    faults = [
        AgentFault(agent=trajectory.steps[step].agent, error_mode=MODES.get(letters(one.category)))
        for step, one in placed
    ]
    return LabeledTrajectory(
        trajectory=trajectory,
        decisive=None
        if worst is None
        else DecisiveStep(
            agent=trajectory.steps[worst[0]].agent,
            step=worst[0],
            error_mode=MODES.get(letters(worst[1].category)),
            reason=worst[1].reason,
        ),
        faults=tuple(dict.fromkeys(faults)),
        label_source=LabelSource.HUMAN,
        question_id=trajectory.run_id,
        verification={"faulty_steps": [*sorted({step for step, _ in placed})]},
    )


def letters(category: str) -> str:
    """A category without case, spaces and signs; the annotations spell some in several ways."""
    return "".join(char for char in category.casefold() if char.isalpha())
