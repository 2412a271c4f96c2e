"""Trajectories out of OpenTelemetry files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tracer_hooks import semconv
from tracer_hooks.datasets._boundary import refused, why
from tracer_hooks.datasets._record import LoadedRecord
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
    runs = list(_runs_of(content.spans))
    if content.spans and not runs:
        yield refused(
            path,
            f"it holds {len(content.spans)} spans, none of an agent, model call or tool: "
            "expected GenAI, OpenInference, OpenLLMetry or MLflow attributes",
        )
    for number, run in enumerate(runs):
        source = str(path) if len(runs) == 1 else f"{path}#{number}"
        yield LoadedRecord(source=source, trajectory=run) if isinstance(run, Trajectory) else refused(source, run)
    for error in content.errors:
        yield refused(path, str(error))


def _runs_of(spans: Sequence[SpanRecord]) -> Iterator[Trajectory | str]:
    """Each run, or why a trace gives none: a value of the wrong kind in one trace must not hide the others."""
    try:
        runs = _assembled(spans)
    except Exception as error:  # any tool may have written the spans
        traces: dict[str, list[SpanRecord]] = {}
        for span in spans:
            traces.setdefault(span.trace_id, []).append(span)
        if len(traces) == 1:
            yield f"trace {spans[0].trace_id}: no trajectory: {why(error)}"
        else:
            for own in traces.values():
                yield from _runs_of(own)
    else:
        yield from runs


def _assembled(found: Sequence[SpanRecord]) -> list[Trajectory]:
    spans = normalise(found)
    # a trace without acts is no run: OpenLLMetry, for one, gives the making of each agent a trace of its own
    acting = {span.trace_id for span in spans if span.operation in _ACTS}
    return assemble([span for span in spans if span.trace_id in acting])
