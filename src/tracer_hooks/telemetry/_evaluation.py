"""A diagnosis as OpenTelemetry tells it: evaluations of the steps that it judges, and the span ``diagnose {team}``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, TraceFlags, set_span_in_context

from tracer_hooks import semconv
from tracer_hooks._guard import guarded
from tracer_hooks.schema import SCHEMA_VERSION, Attribution, FindingKind, Trajectory
from tracer_hooks.telemetry._run import Emitter

EVALUATION = "failure_attribution"
"""Name of our evaluations, in every backend."""


class EvaluationLabel(StrEnum):
    """Closed set of what an evaluation says of its span; backends filter by it."""

    DECISIVE = "decisive"
    """The step is named, at ``likely`` or ``clear``."""
    CONTRIBUTING = "contributing"
    """A finding at the step leads to the rejected answer; it is not the one that is named."""
    ABSTAINED = "abstained"
    """No step of the run is named; said of the run as a whole."""


@dataclass(frozen=True, kw_only=True)
class StepEvaluation:
    """What a diagnosis says of one step, or, where ``step`` is None, of the run as a whole."""

    label: EvaluationLabel
    step: int | None
    """Index of the step; None for the run."""
    agent: str | None
    trace_id: str | None
    """32 hex digits; None where the run was not traced."""
    span_id: str | None
    """16 hex digits; None for the run, and where the step has no span."""
    score: float | None
    """Confidence that the step is the decisive one, 0 to 1; None where nothing is named."""
    kinds: tuple[str, ...]
    """Kinds of the findings at the step, of the run's where it is about the run."""
    text: str
    """What is found, on one line; content, which may not leave as it is where content is not captured."""


def evaluations_of(trajectory: Trajectory, attribution: Attribution) -> tuple[StepEvaluation, ...]:
    """What ``attribution`` says of single steps: the one that is named first, then those that contributed.

    Where no step is named at ``likely`` or ``clear``, the run as a whole comes first, as ``abstained``.
    """
    return tuple(_evaluations(trajectory, attribution))


def _evaluations(trajectory: Trajectory, attribution: Attribution) -> Iterator[StepEvaluation]:
    is_named = attribution.certainty in ("clear", "likely") and attribution.step is not None
    named = attribution.step if is_named else None
    step = trajectory.steps[named] if named is not None else None
    yield StepEvaluation(
        label=EvaluationLabel.DECISIVE if is_named else EvaluationLabel.ABSTAINED,
        step=named,
        agent=attribution.agent if is_named else None,
        trace_id=trajectory.trace_id,
        span_id=step.span_id if step is not None else None,
        score=attribution.confidence if is_named else None,
        kinds=_kinds(attribution, named),
        text=_explanation(attribution),
    )
    seen = {named, None}
    for finding in attribution.findings:
        leads = finding.leads_to_answer and finding.kind is not FindingKind.ANSWER_ORIGIN
        if not leads or finding.step in seen or finding.step is None:
            continue
        seen.add(finding.step)
        yield StepEvaluation(
            label=EvaluationLabel.CONTRIBUTING,
            step=finding.step,
            agent=trajectory.steps[finding.step].agent,
            trace_id=trajectory.trace_id,
            span_id=trajectory.steps[finding.step].span_id,
            score=None,
            kinds=_kinds(attribution, finding.step),
            text=" ".join(finding.text.split()),
        )


def _kinds(attribution: Attribution, step: int | None) -> tuple[str, ...]:
    """Kinds of the findings at ``step``; of all where it is None."""
    found = (each.kind.value for each in attribution.findings if step is None or each.step == step)
    return tuple(dict.fromkeys(found))


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
    """The diagnosis on one line."""
    return " ".join(attribution.explain().split())


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
        semconv.DIAGNOSIS_FINDINGS: list(dict.fromkeys(each.kind.value for each in attribution.findings)) or None,
        semconv.DIAGNOSIS_ERROR_MODE: str(attribution.error_mode) if attribution.error_mode is not None else None,
        semconv.DIAGNOSIS_ATTRIBUTOR: attribution.attributor,
        semconv.DIAGNOSIS_ABSTAINED: attribution.abstained,
        semconv.OI_EVALUATION_NAME: EVALUATION,
        semconv.OI_EVALUATION_SCORE: attribution.confidence,
        semconv.OI_EVALUATION_LABEL: _label(attribution),
        semconv.OI_EVALUATION_EXPLANATION: _explanation(attribution) or None,
    }
