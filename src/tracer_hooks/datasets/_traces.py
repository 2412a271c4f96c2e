"""Trajectories out of OpenTelemetry files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tracer_hooks import semconv
from tracer_hooks.datasets._record import LoadedRecord
from tracer_hooks.errors import TrajectoryError
from tracer_hooks.schema import Trajectory
from tracer_hooks.telemetry import SpanRecord, assemble, is_otlp, normalise, scan_otlp

_ACTS = frozenset(
    {
        semconv.OP_INVOKE_WORKFLOW,
        semconv.OP_INVOKE_AGENT,
        semconv.OP_CHAT,
        semconv.OP_GENERATE_CONTENT,
        semconv.OP_TEXT_COMPLETION,
        semconv.OP_EXECUTE_TOOL,
    }
)


def is_trace(value: object) -> bool:
    """Whether a JSON value holds spans."""
    return is_otlp(value[0]) if isinstance(value, list) and value else is_otlp(value)


def read_traces(path: Path) -> Iterator[LoadedRecord]:
    """The runs in an OTLP file; then an error for each of its parts that could not be read.

    Raises:
        TrajectoryError: The file cannot be opened.
    """
    content = scan_otlp(path)
    runs = list(_runs_of(path, normalise(content.spans)))
    for number, run in enumerate(runs):
        source = str(path) if len(runs) == 1 else f"{path}#{number}"
        if isinstance(run, TrajectoryError):
            yield LoadedRecord(source=source, error=run)
        else:
            yield LoadedRecord(source=source, trajectory=run)
    for error in content.errors:
        yield LoadedRecord(source=str(path), error=error)


def _runs_of(path: Path, spans: Sequence[SpanRecord]) -> Iterator[Trajectory | TrajectoryError]:
    # a trace without acts is no run: OpenLLMetry, for one, gives the making of each agent a trace of its own
    acting = {span.trace_id for span in spans if span.attributes.get(semconv.OPERATION_NAME) in _ACTS}
    if spans and not acting:
        yield TrajectoryError(
            f"{str(path)!r} holds {len(spans)} spans, none of an agent, model call or tool: "
            "expected GenAI, OpenInference, OpenLLMetry or MLflow attributes"
        )
    else:
        yield from _assembled(path, [span for span in spans if span.trace_id in acting])


def _assembled(path: Path, spans: Sequence[SpanRecord]) -> Iterator[Trajectory | TrajectoryError]:
    try:
        yield from assemble(spans)
    except (ValueError, TypeError, AttributeError, KeyError, OverflowError) as error:
        # Any tool may have written the spans: a value of the wrong kind in one trace must not hide the others.
        traces = {span.trace_id for span in spans}
        if len(traces) == 1:
            yield TrajectoryError(f"{str(path)!r}, trace {spans[0].trace_id}: no trajectory: {error}")
            return
        for trace in dict.fromkeys(span.trace_id for span in spans):
            yield from _assembled(path, [span for span in spans if span.trace_id == trace])
