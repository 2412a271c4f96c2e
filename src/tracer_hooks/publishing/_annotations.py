"""A diagnosis as entries at spans and traces, and the requests by which Phoenix, MLflow and Langfuse take each once.

``failure_attribution`` stands at the spans that are judged, or at the trace where no step is named. Phoenix' list of
traces shows what stands at the trace alone, and all three group by label: there ``failed_agent`` names the agent.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tracer_hooks import semconv
from tracer_hooks.publishing._destinations import Destination, send_request
from tracer_hooks.schema import Attribution, Trajectory
from tracer_hooks.telemetry import EVALUATION, StepEvaluation, evaluations_of

if TYPE_CHECKING:
    from tracer_hooks.telemetry import Capture

IDENTIFIER = "tracer-hooks"
"""Marks entries as ours, so that they are updated and not written a second time."""
FAILED_AGENT = "failed_agent"
"""Name of the entry at the trace that names the agent."""
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "tracer-hooks")
_METADATA = ("agent", "step", "kinds", "certainty", "error_mode", "attributor", "run_id")
_ASSESSMENTS = "/api/3.0/mlflow/traces/tr-{}"


@dataclass(frozen=True, kw_only=True)
class Annotation:
    """What is said of one span, or of the trace as a whole."""

    name: str
    """What is judged."""
    label: str
    """The judgement: of a closed set for ``failure_attribution``, the agent's name for ``failed_agent``."""
    trace_id: str
    """32 hex digits."""
    span_id: str | None = None
    """16 hex digits; None for the trace."""
    score: float | None = None
    """Confidence, 0 to 1."""
    explanation: str | None = None
    """What is found; None where content is not exported."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Agent, step and what the diagnosis is otherwise; names and numbers, no content."""
    is_by_model: bool = False
    """Whether a language model judged."""


def annotations_of(trajectory: Trajectory, attribution: Attribution, capture: Capture) -> tuple[Annotation, ...]:
    """Entries that say what ``attribution`` says, as far as ``capture`` lets content leave; none without a trace."""
    found: dict[tuple[str, str | None], Annotation] = {}
    if trajectory.trace_id:
        for each in _annotations(trajectory.trace_id, trajectory, attribution, capture):
            found.setdefault((each.name, each.span_id), each)  # two steps of one span: the more important is first
    return tuple(found.values())


def _annotations(
    trace_id: str, trajectory: Trajectory, attribution: Attribution, capture: Capture
) -> Iterator[Annotation]:
    head, *others = evaluations_of(trajectory, attribution)
    for evaluation in (head, *(other for other in others if other.span_id)):
        said = _exported(evaluation, trajectory, attribution, capture)
        annotation = Annotation(
            name=EVALUATION,
            label=evaluation.label.value,
            trace_id=trace_id,
            span_id=evaluation.span_id,
            score=evaluation.score,
            explanation=said.get(semconv.EVALUATION_EXPLANATION),
            metadata={key: said[key] for key in _METADATA if key in said},
            is_by_model=attribution.usage is not None,
        )
        yield annotation
        if evaluation is head and (agent := said.get("agent")):
            yield Annotation(**{**vars(annotation), "name": FAILED_AGENT, "label": agent, "span_id": None})


def _exported(
    evaluation: StepEvaluation, trajectory: Trajectory, attribution: Attribution, capture: Capture
) -> dict[str, Any]:
    """Metadata, and the text where it may leave: as on spans, by the key of its attribute."""
    return capture.exported(
        {
            "agent": evaluation.agent,
            "step": evaluation.step,
            "kinds": evaluation.kinds,
            "certainty": attribution.certainty,
            "error_mode": str(attribution.error_mode) if attribution.error_mode is not None else None,
            "attributor": attribution.attributor,
            "run_id": trajectory.run_id,
            semconv.EVALUATION_EXPLANATION: evaluation.text or None,
        }
    )


def write_annotations(destination: Destination, annotations: Sequence[Annotation]) -> None:
    """Write the entries of one trace; what is there already of ours is brought up to date.

    Raises:
        BackendError: They cannot be written; of the kind ``missing`` where the trace is not there, or not yet.
    """
    writer = {"phoenix": _write_to_phoenix, "mlflow": _write_to_mlflow, "langfuse": _write_to_langfuse}
    writer[destination.kind](destination, annotations)


def _write_to_phoenix(destination: Destination, annotations: Sequence[Annotation]) -> None:
    # With `sync`, which says at once when the trace is not there: without it, what waits is lost with Phoenix' process.
    spans = [_for_phoenix(each, span_id=each.span_id) for each in annotations if each.span_id]
    traces = [_for_phoenix(each, trace_id=each.trace_id) for each in annotations if not each.span_id]
    for path, data in (("/v1/span_annotations", spans), ("/v1/trace_annotations", traces)):
        if data:
            send_request(destination, "POST", f"{path}?sync=true", {"data": data})


def _for_phoenix(annotation: Annotation, **place: str) -> dict[str, Any]:
    result = {"label": annotation.label, "score": annotation.score, "explanation": annotation.explanation}
    return {
        **place,
        "name": annotation.name,
        "annotator_kind": "LLM" if annotation.is_by_model else "CODE",
        "result": {key: value for key, value in result.items() if value is not None},
        "metadata": dict(annotation.metadata),
        "identifier": IDENTIFIER,
    }


def _write_to_mlflow(destination: Destination, annotations: Sequence[Annotation]) -> None:
    """Look at what is there first: MLflow keeps a second assessment of the same name and span beside the first."""
    path = _ASSESSMENTS.format(annotations[0].trace_id)
    there = _ours_in_mlflow(destination, path)
    for annotation in annotations:
        wanted = _for_mlflow(annotation)
        known = there.pop((annotation.name, annotation.span_id), None)
        if known is None:
            send_request(destination, "POST", f"{path}/assessments", {"assessment": wanted})
        elif any(known.get(key) != wanted[key] for key in ("feedback", "rationale", "metadata")):
            changed = {"assessment": wanted, "update_mask": "feedback,rationale,metadata"}
            send_request(destination, "PATCH", f"{path}/assessments/{known['assessment_id']}", changed)
    for known in there.values():  # of an earlier diagnosis, which named another step
        send_request(destination, "DELETE", f"{path}/assessments/{known['assessment_id']}")


def _ours_in_mlflow(destination: Destination, path: str) -> dict[tuple[str, str | None], dict[str, Any]]:
    answer = send_request(destination, "GET", path)
    try:
        assessments: Iterable[dict[str, Any]] = answer["trace"]["trace_info"].get("assessments", ())
        return {
            (each["assessment_name"], each.get("span_id") or None): each
            for each in assessments
            if each["source"]["source_id"] == IDENTIFIER and each["assessment_name"] in (EVALUATION, FAILED_AGENT)
        }
    except (KeyError, TypeError, AttributeError):
        raise destination.failure("odd", "describes a trace in another form than expected") from None


def _for_mlflow(annotation: Annotation) -> dict[str, Any]:
    score = {} if annotation.score is None else {"confidence": f"{annotation.score:.3f}"}
    return {
        "assessment_name": annotation.name,
        "trace_id": f"tr-{annotation.trace_id}",
        **({"span_id": annotation.span_id} if annotation.span_id else {}),
        "source": {"source_type": "LLM_JUDGE" if annotation.is_by_model else "CODE", "source_id": IDENTIFIER},
        "feedback": {"value": annotation.label},
        "rationale": annotation.explanation or "",
        "metadata": {key: _as_text(value) for key, value in {**annotation.metadata, **score}.items()},
    }


def _as_text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _write_to_langfuse(destination: Destination, annotations: Sequence[Annotation]) -> None:
    """Langfuse takes a score before its trace has arrived, and one with a known id in the place of the first."""
    for annotation in annotations:
        place = (annotation.trace_id, annotation.span_id or "", annotation.name)
        score = {} if annotation.score is None else {"confidence": annotation.score}
        body = {
            "id": str(uuid.uuid5(_NAMESPACE, "/".join(place))),
            "traceId": annotation.trace_id,
            **({"observationId": annotation.span_id} if annotation.span_id else {}),
            "name": annotation.name,
            "value": annotation.label,
            "dataType": "CATEGORICAL",
            **({"comment": annotation.explanation} if annotation.explanation else {}),
            "metadata": {**annotation.metadata, **score},
        }
        answer = send_request(destination, "POST", "/api/public/scores", body)
        if not isinstance(answer, dict) or "id" not in answer:
            raise destination.failure("odd", "answered with something else than a score")
