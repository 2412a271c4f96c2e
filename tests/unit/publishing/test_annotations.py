"""What is written to each backend, once, and what of it leaves where content does not."""

from __future__ import annotations

from typing import Any

import pytest

from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.errors import BackendError
from tracer_hooks.publishing import annotations_of, destinations_of, publish_now
from tracer_hooks.schema import Attribution
from tracer_hooks.telemetry import Capture

from ._backend import OTHER, SPAN, TEXT, TRACE, ScriptedBackend, blamed, failed_run, serving

FULL = Capture(CaptureConfig(export=ContentCapture.FULL))
OFF = Capture(CaptureConfig())
METADATA = {
    "agent": "clerk",
    "step": 1,
    "kinds": "wrong_calculation",
    "certainty": "clear",
    "confidence": 0.95,
    "attributor": "structural/1",
    "run_id": "r1",
}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk")
    monkeypatch.setenv("LANGFUSE_SECRET_KEY", "sk")


def published(kind: str, backend: ScriptedBackend, attribution: Attribution, capture: Capture = FULL) -> None:
    (destination,) = destinations_of(backend.url(kind))
    publish_now(destination, failed_run(), attribution, capture)


def test_phoenix_gets_an_annotation_of_the_span_and_one_of_the_trace() -> None:
    with serving(ScriptedBackend()) as backend:
        published("phoenix", backend, blamed())
    (first, second) = [(method, path, body["data"]) for method, path, body, _ in backend.requests]
    assert first[:2] == ("POST", "/v1/span_annotations?sync=true")
    result = first[2][0].pop("result")
    assert (result["label"], TEXT in result["explanation"]) == ("decisive", True)
    assert "score" not in result, "Phoenix shows a score in the place of the label"
    assert first[2] == [
        {
            "span_id": SPAN,
            "name": "failure_attribution",
            "annotator_kind": "CODE",
            "metadata": METADATA,
            "identifier": "tracer-hooks",
        }
    ]
    assert second[:2] == ("POST", "/v1/trace_annotations?sync=true")
    assert [(each["trace_id"], each["name"], each["result"]["label"]) for each in second[2]] == [
        (TRACE, "failed_agent", "clerk")
    ]


def test_mlflow_gets_assessments_with_text_alone_in_their_metadata() -> None:
    with serving(ScriptedBackend()) as backend:
        published("mlflow", backend, blamed())
    assert [request[:2] for request in backend.requests] == [
        ("GET", f"/api/3.0/mlflow/traces/tr-{TRACE}"),
        ("POST", f"/api/3.0/mlflow/traces/tr-{TRACE}/assessments"),
        ("POST", f"/api/3.0/mlflow/traces/tr-{TRACE}/assessments"),
    ]
    step, trace = [request[2]["assessment"] for request in backend.requests[1:]]
    assert (step["assessment_name"], step["span_id"], step["feedback"]) == (
        "failure_attribution",
        SPAN,
        {"value": "decisive"},
    )
    assert step["source"] == {"source_type": "CODE", "source_id": "tracer-hooks"}
    assert TEXT in step["rationale"]
    assert step["metadata"] == {key: str(value) for key, value in METADATA.items()}
    assert (trace["assessment_name"], trace["feedback"], "span_id" in trace) == (
        "failed_agent",
        {"value": "clerk"},
        False,
    )


def test_langfuse_gets_scores_of_categories() -> None:
    with serving(ScriptedBackend()) as backend:
        published("langfuse", backend, blamed())
    step, trace = [request[2] for request in backend.requests]
    assert {request[:2] for request in backend.requests} == {("POST", "/api/public/scores")}
    assert (step["traceId"], step["observationId"], step["name"]) == (TRACE, SPAN, "failure_attribution")
    assert (step["value"], step["dataType"], TEXT in step["comment"]) == ("decisive", "CATEGORICAL", True)
    assert step["metadata"] == METADATA
    assert (trace["value"], "observationId" in trace) == ("clerk", False)


@pytest.mark.parametrize("kind", ["phoenix", "mlflow", "langfuse"])
def test_a_diagnosis_is_written_once_however_often_it_is_published(kind: str) -> None:
    with serving(ScriptedBackend()) as backend:
        for _ in range(3):
            published(kind, backend, blamed(contributing=0))
        assert len(backend.entries) == 3
        writes = [request for request in backend.requests if request[0] != "GET"]
        assert len(writes) == (3 if kind == "mlflow" else 6 if kind == "phoenix" else 9)


def test_mlflow_updates_what_changed_and_takes_back_what_no_longer_holds() -> None:
    human: dict[str, Any] = {
        "assessment_id": "a-1",
        "assessment_name": "failure_attribution",
        "source": {"source_type": "HUMAN", "source_id": "me"},
    }
    ours = {"source_type": "CODE", "source_id": "tracer-hooks"}
    of_another_run = {**human, "assessment_id": "a-2", "source": ours, "metadata": {"run_id": "r2"}}
    with serving(ScriptedBackend()) as backend:
        backend.entries |= {"a-1": human, "a-2": of_another_run}
        published("mlflow", backend, blamed(1))
        published("mlflow", backend, blamed(0))
    assert [backend.entries.pop(name) for name in ("a-1", "a-2")] == [human, of_another_run]
    kept = {entry["assessment_name"]: (entry.get("span_id"), entry["feedback"]) for entry in backend.entries.values()}
    assert kept == {
        "failure_attribution": (OTHER, {"value": "decisive"}),
        "failed_agent": (None, {"value": "lookup"}),
    }


def test_an_abstention_stands_at_the_trace_and_names_nobody() -> None:
    nothing = Attribution(run_id="r1", abstained=True, abstained_reason="nothing is proved", attributor="x/1")
    (found,) = annotations_of(failed_run(), nothing, FULL)
    assert (found.name, found.label, found.span_id) == ("failure_attribution", "abstained", None)


def test_two_steps_of_one_span_give_one_entry_and_a_run_without_a_trace_none() -> None:
    run = failed_run()
    shared = run.model_copy(update={"steps": tuple(step.model_copy(update={"span_id": SPAN}) for step in run.steps)})
    labels = [(found.name, found.label) for found in annotations_of(shared, blamed(contributing=0), FULL)]
    assert labels == [("failure_attribution", "decisive"), ("failed_agent", "clerk")]
    assert annotations_of(failed_run(trace_id=None), blamed(), FULL) == ()


@pytest.mark.parametrize("kind", ["phoenix", "mlflow", "langfuse"])
def test_no_text_leaves_where_content_is_not_exported(kind: str) -> None:
    with serving(ScriptedBackend()) as backend:
        published(kind, backend, blamed(contributing=0), OFF)
    sent = str([request[2] for request in backend.requests])
    assert "stock" not in sent
    assert all(name in sent for name in ("clerk", "wrong_calculation", "decisive", "contributing"))


def test_a_secret_in_what_is_found_is_blanked_where_export_is_redacted() -> None:
    key = "sk-proj-Zq8vN3xT7wLk2mRb9cYd4fHj"
    text = f"says api_key={key} where stock returned 17"
    findings = tuple(finding.model_copy(update={"text": text}) for finding in blamed().findings)
    redacted = Capture(CaptureConfig(export=ContentCapture.REDACTED))
    found, _ = annotations_of(failed_run(), blamed().model_copy(update={"findings": findings}), redacted)
    assert key not in str(found.explanation)
    assert "where stock" in str(found.explanation)


@pytest.mark.parametrize(("kind", "body"), [("mlflow", "[]"), ("phoenix", '{"ok": true}'), ("langfuse", "null")])
def test_an_answer_of_another_form_is_no_success(kind: str, body: str) -> None:
    with serving(ScriptedBackend()) as backend:
        backend.failure = (200, body)
        with pytest.raises(BackendError) as caught:
            published(kind, backend, blamed())
    assert caught.value.kind == "odd"
