"""Nested spans of a TRAIL trace as a trajectory, and the step that each span belongs to."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracer_hooks import semconv
from tracer_hooks._limits import MAX_SPAN_DEPTH
from tracer_hooks.errors import TrajectoryError
from tracer_hooks.schema import Trajectory, to_text
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

        Returns:
            The step's index; None when the trace has no such span or no step around it.
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
    """The run of a trace.

    Raises:
        TrajectoryError: There are no spans, or none of an agent, a model call or a tool.
    """
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
        own = to_text(span["span_id"])
        start = decode_time(span.get("timestamp"))
        attributes = span.get("span_attributes")
        yield SpanRecord(
            trace_id=to_text(span.get("trace_id") or trace_id),
            span_id=own,
            parent_id=parent,
            name=to_text(span.get("span_name") or ""),
            start_ns=start,
            end_ns=start + _nanoseconds(span.get("duration")),
            attributes=dict(attributes) if isinstance(attributes, Mapping) else {},
            status=_STATUS.get(to_text(span.get("status_code") or "").casefold(), SpanStatus.UNSET),
            status_message=to_text(span.get("status_message") or ""),
            scope=to_text(span.get("scope_name") or ""),
        )
        yield from _records(span.get("child_spans"), trace_id, own, depth + 1)


def _nanoseconds(duration: object) -> int:
    """An ISO 8601 duration, ``PT24.6S``, in nanoseconds; 0 for anything else."""
    match = _DURATION.fullmatch(duration) if isinstance(duration, str) else None
    if match is None:
        return 0
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    nanoseconds = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1e9
    return round(nanoseconds) if math.isfinite(nanoseconds) else 0
