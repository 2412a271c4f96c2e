"""A diagnosis as a span of its own."""

from __future__ import annotations

from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    TraceFlags,
    set_span_in_context,
)

from tracer_hooks import semconv
from tracer_hooks._guard import guarded
from tracer_hooks.schema import SCHEMA_VERSION, Attribution, Trajectory
from tracer_hooks.telemetry._emitter import Emitter

EVALUATION = "failure_attribution"


@guarded("export the diagnosis", None)
def emit_diagnosis(emitter: Emitter, trajectory: Trajectory, attribution: Attribution) -> None:
    """Export ``diagnose {team}``: of kind EVALUATOR, in the run's trace, with one link to the blamed step's span."""
    step = trajectory.steps[attribution.step] if attribution.step is not None else None
    judged = _span_context(trajectory.trace_id, step.span_id if step is not None else None)
    links = [Link(judged)] if judged is not None else []
    within = judged or _any_span(trajectory)
    parent = set_span_in_context(NonRecordingSpan(within)) if within is not None else None
    span = emitter.tracer().start_span(
        f"{semconv.OP_DIAGNOSE} {trajectory.team}".rstrip(),
        parent,
        kind=SpanKind.INTERNAL,
        attributes={semconv.OPERATION_NAME: semconv.OP_DIAGNOSE, semconv.OI_SPAN_KIND: semconv.OI_KIND_EVALUATOR},
        links=links,
    )
    if span.is_recording():
        evaluation = emitter.capture.exported(_evaluation(attribution))
        span.set_attributes(emitter.capture.exported(_attributes(trajectory, attribution)))
        span.add_event(semconv.EVENT_EVALUATION_RESULT, evaluation)
    span.end()


def _any_span(trajectory: Trajectory) -> SpanContext | None:
    """A span of the run, so that an abstention, which blames no step, stands in the run's trace as well."""
    return next(
        (found for step in trajectory.steps if (found := _span_context(trajectory.trace_id, step.span_id))), None
    )


def _span_context(trace_id: str | None, span_id: str | None) -> SpanContext | None:
    if not trace_id or not span_id:
        return None
    context = SpanContext(
        int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)
    )
    return context if context.is_valid else None


def _label(attribution: Attribution) -> str:
    if attribution.abstained:
        return attribution.abstained_reason or "abstained"
    return f"{attribution.agent}@{attribution.step}"


def _explanation(attribution: Attribution) -> str:
    """The headline, then each finding with its passage."""
    found = (item.why + (f" {item.quote!r}" if item.quote else "") for item in attribution.evidence)
    return " ".join([attribution.headline, *found])


def _evaluation(attribution: Attribution) -> dict[str, object]:
    return {
        semconv.EVALUATION_NAME: EVALUATION,
        semconv.EVALUATION_SCORE: attribution.confidence,
        semconv.EVALUATION_LABEL: _label(attribution),
        semconv.EVALUATION_EXPLANATION: _explanation(attribution) or None,
    }


def _attributes(trajectory: Trajectory, attribution: Attribution) -> dict[str, object]:
    return {
        semconv.RUN_ID: trajectory.run_id,
        semconv.SCHEMA_VERSION: SCHEMA_VERSION,
        semconv.WORKFLOW_NAME: trajectory.team,
        semconv.DIAGNOSIS_AGENT: attribution.agent,
        semconv.DIAGNOSIS_STEP: attribution.step,
        semconv.DIAGNOSIS_CERTAINTY: attribution.certainty,
        semconv.DIAGNOSIS_ERROR_MODE: str(attribution.error_mode) if attribution.error_mode is not None else None,
        semconv.DIAGNOSIS_ATTRIBUTOR: attribution.attributor,
        semconv.DIAGNOSIS_ABSTAINED: attribution.abstained,
        semconv.OI_EVALUATION_NAME: EVALUATION,
        semconv.OI_EVALUATION_SCORE: attribution.confidence,
        semconv.OI_EVALUATION_LABEL: _label(attribution),
        semconv.OI_EVALUATION_EXPLANATION: _explanation(attribution) or None,
    }
