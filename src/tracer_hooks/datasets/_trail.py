"""Records of TRAIL (arXiv 2505.08638): nested OpenInference spans as trajectories, errors by step."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracer_hooks import semconv
from tracer_hooks._reading import MAX_SPAN_DEPTH, parse_json
from tracer_hooks.datasets._record import LoadedRecord, content_text, letters
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
from tracer_hooks.telemetry import SpanRecord, SpanStatus, assemble, decode_time, normalise

_DURATION = re.compile(r"P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d*)?)S)?", re.IGNORECASE)
_ANY = ""
"""Stands for every agent; no span has an empty id."""
_STATUS = {"error": SpanStatus.ERROR, "ok": SpanStatus.OK}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailTrace:
    """A run with the places of its spans."""

    trajectory: Trajectory
    parents: Mapping[str, str | None]
    """The span around each span."""
    agents: Mapping[str, str | None]
    """The innermost agent span around each span, or itself."""
    order: Mapping[str, int]
    """Position of each span in the tree, from the outside in and from the first to the last."""
    steps: Mapping[str, int]
    """The step that each model call or agent span is."""
    inside: Mapping[tuple[str, str | None], Sequence[tuple[int, int]]]
    """Position and index of the steps inside each span, in order: those of each agent, and under ``_ANY`` all."""

    def step_of(self, span: str, *, at_end: bool) -> int | None:
        """The step that an error at ``span`` belongs to.

        A span that is a step is that step. One around steps is the first of them, or the last ``at_end``. Any other,
        a tool call for one, belongs to the step before it under the same span, of the same agent if there is one; to
        the first one there when none was before it.
        """
        if span not in self.parents:
            return None
        if span in self.steps:
            return self.steps[span]
        if inside := self.inside.get((span, _ANY)):
            return inside[-1][1] if at_end else inside[0][1]
        above = self.parents[span]
        while above is not None:
            around = self.inside.get((above, self.agents[span])) or self.inside.get((above, _ANY))
            if around:
                before = bisect_left(around, (self.order[span],))
                return around[max(0, before - 1)][1]
            above = self.parents.get(above)
        return None


def read_spans(data: Mapping[str, Any]) -> TrailTrace:
    """The run of a trace."""
    trace_id = to_text(data.get("trace_id") or "")
    try:
        records = list(_records(data.get("spans"), trace_id, None, 0))
    except ValueError as error:
        raise TrajectoryError(f"a span's times cannot be read: {error}") from error
    if not records:
        raise TrajectoryError("the trace has no spans")
    runs = assemble(normalise(records))
    trajectory = max(runs, key=lambda run: len(run.steps), default=None)
    if trajectory is None or not trajectory.steps:
        raise TrajectoryError(f"the {len(records)} spans hold no act of an agent, model or tool")
    # A damaged file may give several spans one id. The first counts: it stands before everything inside it, so that
    # nobody walks in a circle.
    parents = {record.span_id: record.parent_id for record in reversed(records)}
    order = {record.span_id: position for position, record in reversed(list(enumerate(records)))}
    agents = _agents(records)
    steps = {step.span_id: step.index for step in trajectory.steps if step.span_id}
    return TrailTrace(
        trajectory=trajectory.model_copy(update={"run_id": trace_id or trajectory.run_id}),
        parents=parents,
        agents=agents,
        order=order,
        steps=steps,
        inside=_inside(steps, parents, agents, order),
    )


def _inside(
    steps: Mapping[str, int],
    parents: Mapping[str, str | None],
    agents: Mapping[str, str | None],
    order: Mapping[str, int],
) -> dict[tuple[str, str | None], list[tuple[int, int]]]:
    found: dict[tuple[str, str | None], list[tuple[int, int]]] = {}
    for span, step in sorted(steps.items(), key=lambda item: order[item[0]]):
        around: str | None = span
        while around is not None:
            for agent in (_ANY, agents[span]):
                found.setdefault((around, agent), []).append((order[span], step))
            around = parents.get(around)
    return found


def _agents(records: list[SpanRecord]) -> dict[str, str | None]:
    """Parents come before their children."""
    found: dict[str, str | None] = {}
    for record in records:
        if record.span_id in found:
            continue
        is_agent = record.attributes.get(semconv.OI_SPAN_KIND) == semconv.OI_KIND_AGENT
        found[record.span_id] = record.span_id if is_agent else found.get(record.parent_id or "")
    return found


def _records(spans: object, trace_id: str, parent: str | None, depth: int) -> Iterator[SpanRecord]:
    if not isinstance(spans, list):
        return
    if spans and depth >= MAX_SPAN_DEPTH:
        raise TrajectoryError(f"spans stand inside each other on more than {MAX_SPAN_DEPTH} levels")
    for span in spans:
        if not isinstance(span, Mapping) or not span.get("span_id"):
            raise TrajectoryError("a span must be an object with 'span_id'")
        span_id = to_text(span["span_id"])
        start = decode_time(span.get("timestamp"))
        attributes = span.get("span_attributes")
        yield SpanRecord(
            trace_id=to_text(span.get("trace_id") or trace_id),
            span_id=span_id,
            parent_id=parent,
            name=to_text(span.get("span_name") or ""),
            start_ns=start,
            end_ns=start + _nanoseconds(span.get("duration")),
            attributes=dict(attributes) if isinstance(attributes, Mapping) else {},
            status=_STATUS.get(to_text(span.get("status_code") or "").casefold(), SpanStatus.UNSET),
            status_message=to_text(span.get("status_message") or ""),
            scope=to_text(span.get("scope_name") or ""),
        )
        yield from _records(span.get("child_spans"), trace_id, span_id, depth + 1)


def _nanoseconds(duration: object) -> int:
    """An ISO 8601 duration, ``PT24.6S``, in nanoseconds; 0 for anything else."""
    match = _DURATION.fullmatch(duration) if isinstance(duration, str) else None
    if match is None:
        return 0
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    nanoseconds = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1e9
    return round(nanoseconds) if math.isfinite(nanoseconds) else 0


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


def is_trail_trace(data: Mapping[str, Any]) -> bool:
    """Tell whether a record holds a trace of nested spans."""
    spans = data.get("spans")
    first = spans[0] if isinstance(spans, list) and spans else None
    return isinstance(first, Mapping) and ("child_spans" in first or "span_attributes" in first)


def is_trail_row(data: Mapping[str, Any]) -> bool:
    """Tell whether a record holds trace and labels as JSON strings."""
    return isinstance(data.get("trace"), str) and "labels" in data


def is_trail_annotation(data: Mapping[str, Any]) -> bool:
    """Tell whether a record holds located errors."""
    errors = data.get("errors")
    return isinstance(errors, list) and all(isinstance(error, Mapping) and "category" in error for error in errors)


def trail_key(data: Mapping[str, Any]) -> str:
    """Return what a trace and its annotation share, when the annotation says it; else their files share a name."""
    return to_text(data.get("trace_id") or "")


def read_trail(data: Mapping[str, Any], source: str, annotation: Mapping[str, Any] | None = None) -> LoadedRecord:
    """Read one run.

    TRAIL names no root cause: the decisive step is the earliest error among those of the highest impact, which is our
    reading and not TRAIL's. Every located error is a fault of the agent that acted there, and the steps of all errors
    stand in ``verification["faulty_steps"]``. An error at a span outside every step keeps no place.
    """
    if is_trail_row(data):
        annotation = _decoded(data["labels"], "labels")
        data = _decoded(data["trace"], "trace")
    trace = read_spans(data)
    errors = None if annotation is None else list(_located(annotation, trace))
    outcome = RunOutcome.FAILED if errors else RunOutcome.UNKNOWN
    trajectory = trace.trajectory.model_copy(update={"outcome": outcome, "framework": "trail"})
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


def _located(annotation: Mapping[str, Any], trace: TrailTrace) -> Iterator[tuple[int, DecisiveStep | None]]:
    """The impact of each annotated error, and its place if its span belongs to a step."""
    errors = annotation.get("errors", [])
    if not isinstance(errors, list) or not all(isinstance(error, Mapping) for error in errors):
        raise TrajectoryError("'errors' must be a list of objects")
    for error in errors:
        category = to_text(error.get("category") or "").strip()
        description = content_text(error.get("description") or error.get("evidence"))
        step = trace.step_of(to_text(error.get("location") or ""), at_end=letters(category) == _AT_ITS_END)
        place = None
        if step is not None:
            mode, reason = MODES.get(letters(category)), f"{category}: {description}" if description else category
            place = DecisiveStep(agent=trace.trajectory.steps[step].agent, step=step, error_mode=mode, reason=reason)
        yield _IMPACTS.get(to_text(error.get("impact") or "").casefold(), 0), place


def _labeled(errors: Sequence[tuple[int, DecisiveStep | None]], trajectory: Trajectory) -> LabeledTrajectory:
    placed = [(impact, place) for impact, place in errors if place is not None]
    worst = min(placed, key=lambda error: (-error[0], error[1].step), default=None)
    faults = dict.fromkeys(AgentFault(agent=place.agent, error_mode=place.error_mode) for _, place in placed)
    return LabeledTrajectory(
        trajectory=trajectory,
        decisive=None if worst is None else worst[1],
        faults=tuple(faults),
        label_source=LabelSource.HUMAN,
        question_id=trajectory.run_id,
        verification={"faulty_steps": [*sorted({place.step for _, place in placed})]},
    )
