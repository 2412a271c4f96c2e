"""A diagnosis as OpenTelemetry tells it: evaluations of the steps that it judges, as a span and as log events."""

from __future__ import annotations

import importlib
import inspect
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from opentelemetry import _logs, trace
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, TraceFlags, set_span_in_context

from tracer_hooks import semconv
from tracer_hooks._guard import guarded
from tracer_hooks._version import __version__
from tracer_hooks.config import is_disabled
from tracer_hooks.schema import SCHEMA_VERSION, Attribution, Finding, FindingKind, RunOutcome, Trajectory
from tracer_hooks.telemetry._capture import dump_json
from tracer_hooks.telemetry._invocation import is_suppressed
from tracer_hooks.telemetry._records import SpanEvent, SpanLink, SpanRecord, without_none
from tracer_hooks.telemetry._run import SCOPE, Emitter

EVALUATION = "failure_attribution"
"""Name of our evaluations, in every backend."""


class EvaluationLabel(StrEnum):
    """Closed set of what an evaluation says of its span; backends filter by it."""

    DECISIVE = "decisive"
    """The step is named, at ``likely`` or ``clear``."""
    CONTRIBUTING = "contributing"
    """An error of the step's own leads to the rejected answer; it is not the step that is named."""
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

    def evaluated(label: EvaluationLabel, step: int | None, text: str, score: float | None = None) -> StepEvaluation:
        acted = trajectory.steps[step] if step is not None else None
        return StepEvaluation(
            label=label,
            step=step,
            agent=None if acted is None else attribution.agent if step == named else acted.agent,
            trace_id=trajectory.trace_id,
            span_id=acted.span_id if acted is not None else None,
            score=score,
            kinds=_kinds(attribution, step),
            text=" ".join(text.split()),
        )

    named = attribution.step if attribution.certainty in ("clear", "likely") else None
    label = EvaluationLabel.ABSTAINED if named is None else EvaluationLabel.DECISIVE
    score = None if named is None else attribution.confidence
    found = {named: evaluated(label, named, attribution.explain(), score)}
    for finding in attribution.findings:
        if finding.step is not None and finding.step not in found and _contributes(finding):
            found[finding.step] = evaluated(EvaluationLabel.CONTRIBUTING, finding.step, finding.text)
    return tuple(found.values())


_OWN_ERRORS = frozenset(
    {
        (FindingKind.WRONG_CALCULATION, ""),
        (FindingKind.MADE_UP_DATA, "row"),
        (FindingKind.MADE_UP_DATA, "typed_in"),
        (FindingKind.ANNOUNCED_NOT_DONE, ""),
    }
)
"""Kinds and details of findings that were right at all 20 steps that they label in 738 diagnosed runs. The others also
stand at steps that did nothing wrong, which wrote down the answer or passed a value on, or were too rare to tell."""


def _contributes(finding: Finding) -> bool:
    return finding.leads_to_answer and (finding.kind, finding.detail) in _OWN_ERRORS


def _kinds(attribution: Attribution, step: int | None) -> tuple[str, ...]:
    """Kinds of the findings at ``step``; of all where it is None."""
    found = (each.kind.value for each in attribution.findings if step is None or each.step == step)
    return tuple(dict.fromkeys(found))


def diagnosis_record(
    trajectory: Trajectory, attribution: Attribution, *, span_ids: Mapping[int, str], around: str | None
) -> SpanRecord:
    """The span ``diagnose {team}`` before content capture: of kind EVALUATOR, linked with the span of the judged step.

    Args:
        trajectory: The run.
        attribution: Its diagnosis.
        span_ids: Span of each step, by the step's index.
        around: The span that an abstention, which judges no step, stands in.

    Returns:
        The record, which has no id and no times yet.
    """
    evaluation = evaluations_of(trajectory, attribution)[0]
    judged = span_ids.get(evaluation.step) if evaluation.step is not None else None
    trace_id = trajectory.trace_id or ""
    return SpanRecord(
        trace_id=trace_id,
        span_id="",
        parent_id=judged or around,
        name=f"{semconv.OP_DIAGNOSE} {trajectory.team}".rstrip(),
        attributes=without_none(_attributes(trajectory, attribution, evaluation, is_linked=judged is not None)),
        events=(SpanEvent(name=semconv.EVENT_EVALUATION_RESULT, attributes=without_none(_event(evaluation))),),
        links=(SpanLink(trace_id=trace_id, span_id=judged),) if judged is not None else (),
        scope=SCOPE,
        schema_url=semconv.SCHEMA_URL,
    )


def _event(evaluation: StepEvaluation) -> dict[str, object]:
    return {
        semconv.EVALUATION_NAME: EVALUATION,
        semconv.EVALUATION_SCORE: evaluation.score,
        semconv.EVALUATION_LABEL: str(evaluation.label),
        semconv.EVALUATION_EXPLANATION: evaluation.text or None,
    }


def _attributes(
    trajectory: Trajectory, attribution: Attribution, evaluation: StepEvaluation, *, is_linked: bool
) -> dict[str, object]:
    mode = str(attribution.error_mode) if attribution.error_mode is not None else None
    label, explanation = str(evaluation.label), evaluation.text or None
    metadata = {
        "agent": evaluation.agent,
        "step": evaluation.step,
        "kinds": list(evaluation.kinds) or None,
        "certainty": attribution.certainty,
        "mode": mode,
    }
    # Logfire takes a span for feedback on its parent, which is the judged step's only where one is judged.
    feedback = {
        semconv.LOGFIRE_FEEDBACK_NAME: EVALUATION,
        EVALUATION: label,
        semconv.LOGFIRE_FEEDBACK_COMMENT: explanation,
    }
    return {
        semconv.OPERATION_NAME: semconv.OP_DIAGNOSE,
        semconv.OI_SPAN_KIND: semconv.OI_KIND_EVALUATOR,
        semconv.RUN_ID: trajectory.run_id,
        semconv.SCHEMA_VERSION: SCHEMA_VERSION,
        semconv.WORKFLOW_NAME: trajectory.team,
        semconv.DIAGNOSIS_AGENT: attribution.agent,
        semconv.DIAGNOSIS_STEP: attribution.step,
        semconv.DIAGNOSIS_CERTAINTY: attribution.certainty,
        semconv.DIAGNOSIS_FINDINGS: list(_kinds(attribution, None)) or None,
        semconv.DIAGNOSIS_ERROR_MODE: mode,
        semconv.DIAGNOSIS_ATTRIBUTOR: attribution.attributor,
        semconv.DIAGNOSIS_ABSTAINED: attribution.abstained,
        semconv.DIAGNOSIS_ABSTAINED_REASON: attribution.abstained_reason,
        semconv.OI_INPUT_VALUE: _task_and_answer(trajectory),
        semconv.OI_OUTPUT_VALUE: attribution.explain(),
        semconv.OI_EVALUATION_NAME: EVALUATION,
        semconv.OI_EVALUATION_SCORE: evaluation.score,
        semconv.OI_EVALUATION_LABEL: label,
        semconv.OI_EVALUATION_EXPLANATION: explanation,
        semconv.OI_EVALUATION_ANNOTATOR_KIND: (
            semconv.OI_ANNOTATOR_CODE if attribution.usage is None else semconv.OI_ANNOTATOR_LLM
        ),
        semconv.OI_EVALUATION_IDENTIFIER: "tracer-hooks",
        semconv.OI_EVALUATION_METADATA: dump_json(without_none(metadata)),
        **(feedback if is_linked else {}),
    }


def _task_and_answer(trajectory: Trajectory) -> str | None:
    """Task and answer of the run."""
    what = "Rejected answer" if trajectory.outcome is RunOutcome.FAILED else "Answer"
    answer = f"{what}: {trajectory.final_output}" if trajectory.final_output else ""
    return "\n\n".join(filter(None, (trajectory.task, answer))) or None


@guarded("export the diagnosis", None)
def emit_diagnosis(emitter: Emitter, trajectory: Trajectory, attribution: Attribution) -> None:
    """Export ``diagnose {team}`` in the run's trace, and each evaluation as a log event of the span that it judges."""
    logs = _logs.get_logger_provider()
    if not (_is_set_up(emitter.provider or trace.get_tracer_provider()) or _is_set_up(logs)):
        return
    span_ids = {step.index: step.span_id for step in trajectory.steps if step.span_id}
    # A span of the run, so that an abstention stands in the run's trace as well.
    record = diagnosis_record(trajectory, attribution, span_ids=span_ids, around=next(iter(span_ids.values()), None))
    within = _span_context(record.trace_id, record.parent_id)
    parent = set_span_in_context(NonRecordingSpan(within)) if within is not None else None
    judged = [_span_context(link.trace_id, link.span_id) for link in record.links]
    span = emitter.tracer().start_span(
        emitter.capture.export_policy.name(record.name),
        parent,
        kind=SpanKind.INTERNAL,
        attributes={semconv.OPERATION_NAME: semconv.OP_DIAGNOSE, semconv.OI_SPAN_KIND: semconv.OI_KIND_EVALUATOR},
        links=[Link(context) for context in judged if context is not None],
    )
    if span.is_recording():
        span.set_attributes(emitter.capture.exported(record.attributes))
        span.add_event(semconv.EVENT_EVALUATION_RESULT, emitter.capture.exported(record.events[0].attributes))
    span.end()
    if _is_set_up(logs):
        logger = logs.get_logger(SCOPE, __version__)
        for evaluation in evaluations_of(trajectory, attribution):
            context = _span_context(evaluation.trace_id, evaluation.span_id) or span.get_span_context()
            _log(logger, context, emitter.capture.exported(_event(evaluation)))


class LateEmitter:
    """Exports diagnoses that are made after the run, to the global tracer provider, where one is set up."""

    def __init__(self) -> None:
        wanted = _is_set_up(trace.get_tracer_provider()) and not is_suppressed() and not is_disabled()
        self._emitter = Emitter() if wanted else None

    def emit(self, trajectory: Trajectory, attribution: Attribution) -> None:
        """Export one, where the run has a trace that it can stand in."""
        if self._emitter is not None and any(_span_context(trajectory.trace_id, s.span_id) for s in trajectory.steps):
            emit_diagnosis(self._emitter, trajectory, attribution)


def _is_set_up(provider: object) -> bool:
    """Tell whether somebody set the provider up; those of OpenTelemetry's API alone write nothing."""
    return not type(provider).__module__.startswith(("opentelemetry.trace", "opentelemetry._logs"))


def _log(logger: _logs.Logger, context: SpanContext, attributes: Mapping[str, Any]) -> None:
    now = time.time_ns()
    sdk: Any = importlib.import_module("opentelemetry.sdk._logs")
    if "event_name" in inspect.signature(logger.emit).parameters or not hasattr(sdk, "LogRecord"):
        logger.emit(
            timestamp=now,
            context=set_span_in_context(NonRecordingSpan(context)),
            event_name=semconv.EVENT_EVALUATION_RESULT,
            attributes=attributes,
        )
        return
    # Before OpenTelemetry 1.38 a logger of the SDK takes a record of the SDK alone, which has the event's name as an
    # attribute; the class is gone since 1.39.
    logger.emit(
        sdk.LogRecord(
            timestamp=now,
            trace_id=context.trace_id,
            span_id=context.span_id,
            trace_flags=context.trace_flags,
            attributes={"event.name": semconv.EVENT_EVALUATION_RESULT, **attributes},
            resource=getattr(logger, "resource", None),
        )
    )


def _span_context(trace_id: str | None, span_id: str | None) -> SpanContext | None:
    try:
        ids = int(trace_id or "", 16), int(span_id or "", 16)
    except ValueError:  # a run without a trace, or with identifiers of another kind
        return None
    context = SpanContext(*ids, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    return context if context.is_valid else None
