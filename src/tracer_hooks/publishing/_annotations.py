"""A diagnosis as entries at spans and traces, and the requests by which Phoenix, MLflow and Langfuse take each once.

``failure_attribution`` stands at the spans that are judged, or at the trace where no step is named. Phoenix' list of
traces shows what stands at the trace alone, and all three group by label: there ``failed_agent`` names the agent.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tracer_hooks import semconv
from tracer_hooks.publishing._destinations import Destination, send_request
from tracer_hooks.schema import Attribution, Trajectory
from tracer_hooks.telemetry import EVALUATION, evaluations_of

if TYPE_CHECKING:
    from tracer_hooks.telemetry import Capture

IDENTIFIER = "tracer-hooks"
"""Marks entries as ours, so that they are updated and not written a second time."""
FAILED_AGENT = "failed_agent"
"""Name of the entry at the trace that names the agent."""
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, IDENTIFIER)


@dataclass(frozen=True, kw_only=True)
class Annotation:
    """What is said of one span, or of the trace as a whole."""

    name: str
    """What is judged."""
    label: str
    """The judgement: of a closed set for ``failure_attribution``, the agent's name for ``failed_agent``."""
    trace_id: str
    """32 hex digits."""
    span_id: str | None
    """16 hex digits; None for the trace."""
    score: float | None
    """Confidence, 0 to 1."""
    explanation: str | None
    """What is found; None where content is not exported."""
    metadata: Mapping[str, Any]
    """Agent, step and what the diagnosis is otherwise; names and numbers, no content."""
    is_by_model: bool
    """Whether a language model judged."""

    @property
    def key(self) -> str:
        """An id that is the same whenever this is said of the same span or trace."""
        return str(uuid.uuid5(_NAMESPACE, f"{self.trace_id}/{self.span_id or ''}/{self.name}"))


def annotations_of(trajectory: Trajectory, attribution: Attribution, capture: Capture) -> tuple[Annotation, ...]:
    """Entries that say what ``attribution`` says, as far as ``capture`` lets content leave; none without a trace."""
    found: dict[str | None, Annotation] = {}
    if not trajectory.trace_id:
        return ()
    for evaluation in evaluations_of(trajectory, attribution):
        if evaluation.span_id in found or (evaluation.span_id is None and found):
            continue  # another step of the span, or one without a span, that is less important
        metadata = {
            "agent": evaluation.agent,
            "step": evaluation.step,
            "kinds": ", ".join(evaluation.kinds) or None,
            "certainty": attribution.certainty,
            "confidence": evaluation.score,
            "error_mode": str(attribution.error_mode) if attribution.error_mode is not None else None,
            "attributor": attribution.attributor,
            "run_id": trajectory.run_id,
        }
        text = capture.exported({semconv.EVALUATION_EXPLANATION: evaluation.text or None})
        found[evaluation.span_id] = Annotation(
            name=EVALUATION,
            label=evaluation.label.value,
            trace_id=trajectory.trace_id,
            span_id=evaluation.span_id,
            score=evaluation.score,
            explanation=str(text[semconv.EVALUATION_EXPLANATION]) if text else None,
            metadata=capture.exported(metadata),
            is_by_model=attribution.usage is not None,
        )
    first = next(iter(found.values()))
    agent = first.metadata.get("agent")
    named = (replace(first, name=FAILED_AGENT, label=agent, span_id=None),) if agent else ()
    return (*found.values(), *named)


def write_annotations(destination: Destination, annotations: Sequence[Annotation]) -> None:
    """Write the entries of one trace; what is there already of ours is brought up to date.

    Raises:
        BackendError: They cannot be written; of the kind ``missing`` where the trace is not there, or not yet.
    """
    write = {"phoenix": _write_to_phoenix, "mlflow": _write_to_mlflow, "langfuse": _write_to_langfuse}
    try:
        write[destination.kind](destination, annotations)
    except (KeyError, TypeError, AttributeError):  # of what was answered
        raise destination.failure("odd", "answered in another form than expected") from None


def _write_to_phoenix(destination: Destination, annotations: Sequence[Annotation]) -> None:
    # With `sync` it says at once that a trace is not there; without, what waits for one is lost with Phoenix' process.
    for place in ("span", "trace"):
        data = [
            {
                f"{place}_id": annotation.span_id or annotation.trace_id,
                "name": annotation.name,
                "annotator_kind": "LLM" if annotation.is_by_model else "CODE",
                "result": {"label": annotation.label, "score": annotation.score, "explanation": annotation.explanation},
                "metadata": annotation.metadata,
                "identifier": IDENTIFIER,
            }
            for annotation in annotations
            if (annotation.span_id is None) is (place == "trace")
        ]
        if data:
            send_request(destination, "POST", f"/v1/{place}_annotations?sync=true", {"data": data})["data"]


def _write_to_mlflow(destination: Destination, annotations: Sequence[Annotation]) -> None:
    """Look at what is there first: MLflow keeps a second assessment of the same name and span beside the first."""
    path = f"/api/3.0/mlflow/traces/tr-{annotations[0].trace_id}"
    info = send_request(destination, "GET", path)["trace"]["trace_info"]
    there = {
        each["assessment_id"]: each
        for each in info.get("assessments", ())
        if each["source"]["source_id"] == IDENTIFIER and each["assessment_name"] in (EVALUATION, FAILED_AGENT)
    }
    for annotation in annotations:
        wanted = {
            "assessment_id": f"a-{annotation.key}",
            "assessment_name": annotation.name,
            "trace_id": f"tr-{annotation.trace_id}",
            **({"span_id": annotation.span_id} if annotation.span_id else {}),
            "source": {"source_type": "LLM_JUDGE" if annotation.is_by_model else "CODE", "source_id": IDENTIFIER},
            "feedback": {"value": annotation.label},
            "rationale": annotation.explanation or "",
            "metadata": {key: str(value) for key, value in annotation.metadata.items()},
        }
        known = there.pop(wanted["assessment_id"], None)
        if known is None:
            send_request(destination, "POST", f"{path}/assessments", {"assessment": wanted})
        elif any(known.get(key) != wanted[key] for key in ("feedback", "rationale", "metadata")):
            update = {"assessment": wanted, "update_mask": "feedback,rationale,metadata"}
            send_request(destination, "PATCH", f"{path}/assessments/{wanted['assessment_id']}", update)
    for stale in there:  # of an earlier diagnosis, which named another step
        send_request(destination, "DELETE", f"{path}/assessments/{stale}")


def _write_to_langfuse(destination: Destination, annotations: Sequence[Annotation]) -> None:
    """Langfuse takes a score before its trace has arrived, and one with a known id in the place of the first."""
    for annotation in annotations:
        score = {
            "id": annotation.key,
            "traceId": annotation.trace_id,
            **({"observationId": annotation.span_id} if annotation.span_id else {}),
            "name": annotation.name,
            "value": annotation.label,
            "dataType": "CATEGORICAL",
            "comment": annotation.explanation,
            "metadata": annotation.metadata,
        }
        send_request(destination, "POST", "/api/public/scores", score)["id"]
