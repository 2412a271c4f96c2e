"""Diagnoses as evaluations: which step is labelled how, and the span and log events that say it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry import _logs, trace
from opentelemetry.sdk import _logs as sdk_logs
from opentelemetry.sdk.trace import ReadableSpan

import tracer_hooks
from tracer_hooks import semconv
from tracer_hooks.cli.app import run_app
from tracer_hooks.config import CaptureConfig, ContentCapture
from tracer_hooks.datasets import load
from tracer_hooks.schema import Attribution, Finding, FindingKind, RunOutcome, Step, Trajectory, Usage
from tracer_hooks.telemetry import (
    Emitter,
    SpanRecord,
    assemble,
    emit_diagnosis,
    evaluations_of,
    normalise,
    read_otlp,
    suppressed,
    to_spans,
    write_otlp_json,
    write_otlp_protobuf,
)

from ._runs import FIXTURES, FULL, TRACE, Recorded

RUN = Trajectory(
    run_id="r1",
    team="desk",
    task="How much?",
    steps=tuple(Step(index=at, agent=agent, content="41", span_id=f"{at + 1:016x}") for at, agent in enumerate("abc")),
    outcome=RunOutcome.FAILED,
    final_output="It is 41.",
    trace_id=TRACE,
)
WRONG = Finding(
    kind=FindingKind.WRONG_CALCULATION, step=0, agent="a", text="a says 41; it is 42.", leads_to_answer=True
)


def told(confidence: float = 0.8, findings: Sequence[Finding] = (), **known: Any) -> Attribution:
    fields = {"agent": "b", "step": 1, "confidence": confidence, "findings": tuple(findings), "attributor": "test/1"}
    return Attribution(**{"run_id": "r1", **fields, **known})


ABSTAINED = told(0.0, agent=None, step=None, abstained=True, abstained_reason="trace too incomplete")


def labels(attribution: Attribution) -> list[tuple[str, int | None]]:
    return [(each.label.value, each.step) for each in evaluations_of(RUN, attribution)]


@pytest.mark.parametrize(
    ("attribution", "expected"),
    [
        (told(), [("decisive", 1)]),
        (told(0.95, [WRONG.model_copy(update={"step": 1})]), [("decisive", 1)]),
        (told(0.5), [("abstained", None)]),
        (ABSTAINED, [("abstained", None)]),
        (told(findings=[WRONG, WRONG]), [("decisive", 1), ("contributing", 0)]),
        (told(0.5, findings=[WRONG]), [("abstained", None), ("contributing", 0)]),
    ],
)
def test_a_step_is_labelled_only_where_it_is_sure(
    attribution: Attribution, expected: list[tuple[str, int | None]]
) -> None:
    assert labels(attribution) == expected
    first = evaluations_of(RUN, attribution)[0]
    assert (first.score, first.agent) == ((attribution.confidence, "b") if first.step is not None else (None, None))


@pytest.mark.parametrize(
    "innocent",
    [
        {"leads_to_answer": False},
        {"step": None},
        {"kind": FindingKind.MADE_UP_DATA},
        *({"kind": kind} for kind in (FindingKind.ANSWER_ORIGIN, FindingKind.DIFFERENT_FORM, FindingKind.LOOP)),
        {"kind": FindingKind.REASON_MATCHED, "detail": "missing"},
        {"kind": FindingKind.IGNORED_ERROR, "detail": "bad_arguments"},
    ],
)
def test_a_step_that_only_has_or_passes_on_what_is_wrong_is_not_labelled(innocent: dict[str, Any]) -> None:
    assert labels(told(findings=[WRONG.model_copy(update=innocent)])) == [("decisive", 1)]


# --- the span -------------------------------------------------------------------------------------------------------
def exported(attribution: Attribution, capture: CaptureConfig = FULL) -> ReadableSpan:
    recorded = Recorded(capture)
    emit_diagnosis(recorded.emitter, RUN, attribution)
    return recorded.span("diagnose desk")


def test_the_span_has_the_fields_of_every_convention() -> None:
    attribution = told(findings=[WRONG], error_mode="FM-2.6")
    got = dict(exported(attribution).attributes or {})
    assert json.loads(str(got.pop(semconv.OI_EVALUATION_METADATA))) == {
        "agent": "b",
        "step": 1,
        "certainty": "likely",
        "mode": "FM-2.6",
    }
    explanation = " ".join(attribution.explain().split())
    expected = {
        "evaluations.0.evaluation.name": "failure_attribution",
        "evaluations.0.evaluation.label": "decisive",
        "evaluations.0.evaluation.score": 0.8,
        "evaluations.0.evaluation.explanation": explanation,
        "evaluations.0.evaluation.annotator_kind": "CODE",
        "evaluations.0.evaluation.identifier": "tracer-hooks",
        "logfire.feedback.name": "failure_attribution",
        "failure_attribution": "decisive",
        "logfire.feedback.comment": explanation,
        "input.value": "How much?\n\nRejected answer: It is 41.",
        "output.value": attribution.explain(),
        "tracer_hooks.diagnosis.agent": "b",
        "tracer_hooks.diagnosis.step": 1,
    }
    assert {key: got.get(key) for key in expected} == expected


def test_a_diagnosis_by_a_model_says_so() -> None:
    got = dict(exported(told(usage=Usage(input_tokens=9))).attributes or {})
    assert got[semconv.OI_EVALUATION_ANNOTATOR_KIND] == "LLM"


def test_no_text_leaves_where_content_is_not_captured() -> None:
    span = exported(told(findings=[WRONG]), CaptureConfig(export=ContentCapture.OFF))
    (event,) = span.events
    keys = {*(span.attributes or {}), *(event.attributes or {})}
    assert not keys & semconv.CONTENT_KEYS
    assert {"evaluations.0.evaluation.label", "gen_ai.evaluation.score.label", "failure_attribution"} <= keys


@pytest.mark.parametrize("attribution", [told(0.5), ABSTAINED], ids=["weak", "abstained"])
def test_a_span_that_blames_nobody_is_in_the_trace_and_feedback_on_no_step(attribution: Attribution) -> None:
    span = exported(attribution)
    got = dict(span.attributes or {})
    assert span.links == ()
    assert f"{span.get_span_context().trace_id:032x}" == TRACE
    assert got[semconv.OI_EVALUATION_LABEL] == "abstained"
    assert not {semconv.OI_EVALUATION_SCORE, semconv.LOGFIRE_FEEDBACK_NAME, "failure_attribution"} & set(got)
    assert "agent" not in json.loads(str(got[semconv.OI_EVALUATION_METADATA]))


# --- log events -----------------------------------------------------------------------------------------------------
class Events:
    """A logger provider that is its own logger and keeps what it is given."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def get_logger(self, name: str, version: str) -> Events:
        return self

    def emit(self, record: Any = None, *, event_name: str = "", **known: Any) -> None:
        self.seen.append({"event_name": event_name, **known})


class OldEvents(Events):
    """The same, as it was before OpenTelemetry 1.38."""

    def emit(self, record: Any) -> None:  # type: ignore[override]
        self.seen.append(vars(record))


@pytest.fixture(params=[Events, OldEvents])
def events(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Events:
    provider: Events = request.param()
    monkeypatch.setattr(_logs, "get_logger_provider", lambda: provider)
    monkeypatch.setattr(sdk_logs, "LogRecord", SimpleNamespace, raising=False)
    return provider


def placed(event: dict[str, Any]) -> tuple[int, int]:
    if "context" not in event:
        return event["trace_id"], event["span_id"]
    context = trace.get_current_span(event["context"]).get_span_context()
    return context.trace_id, context.span_id


def test_each_evaluation_is_a_log_event_of_the_span_that_it_judges(events: Events) -> None:
    recorded = Recorded()
    emit_diagnosis(recorded.emitter, RUN, told(findings=[WRONG]))
    emit_diagnosis(recorded.emitter, RUN, told(0.5))
    assert [each["attributes"][semconv.EVALUATION_LABEL] for each in events.seen] == [
        "decisive",
        "contributing",
        "abstained",
    ]
    of_run = recorded.spans[-1].get_span_context()
    assert of_run is not None
    assert [placed(each) for each in events.seen] == [(int(TRACE, 16), at) for at in (2, 1, of_run.span_id)]
    names = {each.get("event_name") or each["attributes"]["event.name"] for each in events.seen}
    assert names == {"gen_ai.evaluation.result"}
    assert all(each["timestamp"] for each in events.seen)
    assert events.seen[0]["attributes"][semconv.EVALUATION_SCORE] == 0.8
    assert events.seen[1]["attributes"][semconv.EVALUATION_EXPLANATION] == WRONG.text


def test_a_log_event_has_no_text_where_content_is_not_captured(events: Events) -> None:
    emit_diagnosis(Emitter(capture=CaptureConfig(export=ContentCapture.OFF)), RUN, told())
    (event,) = events.seen
    assert semconv.EVALUATION_EXPLANATION not in event["attributes"]


# --- diagnoses that are made later ----------------------------------------------------------------------------------
@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Recorded:
    recorded = Recorded()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: recorded.provider)
    return recorded


class Told:
    name = "told"

    def attribute(self, trajectory: Trajectory, *, reference: str | None = None) -> Attribution:
        return told(run_id=trajectory.run_id)


def test_a_diagnosis_that_is_made_later_is_exported_into_the_runs_trace(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracer_hooks.diagnose(RUN, attributor=Told())
    write_otlp_json(tmp_path / "run.json", to_spans(RUN))
    tracer_hooks.diagnose(tmp_path / "run.json", attributor=Told())
    monkeypatch.setattr("tracer_hooks.batch._diagnosed.attributor_of", lambda *_: Told())
    monkeypatch.setattr("sys.argv", ["tracer-hooks", "diagnose", str(tmp_path)])
    assert run_app() == 0
    assert [span.name for span in recorded.spans] == ["diagnose desk"] * 3
    for span in recorded.spans:
        (link,) = span.links
        assert (link.context.trace_id, link.context.span_id) == (int(TRACE, 16), 2)
        assert span.parent is not None
        assert (span.parent.trace_id, span.parent.span_id) == (int(TRACE, 16), 2)


@pytest.mark.parametrize("trace_id", [None, "conversation 7", "0" * 32])
def test_a_run_without_a_trace_gets_no_span(recorded: Recorded, trace_id: str | None) -> None:
    tracer_hooks.diagnose(RUN.model_copy(update={"trace_id": trace_id}), attributor=Told())
    assert recorded.spans == ()


def test_nothing_is_exported_where_that_is_switched_off(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    with suppressed():
        tracer_hooks.diagnose(RUN, attributor=Told())
    monkeypatch.setenv("TRACER_HOOKS_DISABLED", "1")
    tracer_hooks.diagnose(RUN, attributor=Told())
    assert recorded.spans == ()


# --- files ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("attribution", [told(findings=[WRONG]), told(0.5), ABSTAINED], ids=["named", "weak", "none"])
@pytest.mark.parametrize("write", [write_otlp_json, write_otlp_protobuf])
def test_a_file_with_the_diagnosis_holds_the_same_run(write: Any, attribution: Attribution, tmp_path: Path) -> None:
    bare, whole = tmp_path / "bare.json", tmp_path / "whole.json"
    write(bare, to_spans(RUN))
    write(whole, to_spans(RUN, attribution))
    assert [each.trajectory for each in load(whole)] == [each.trajectory for each in load(bare)]
    *others, diagnosis = read_otlp(whole)
    live = exported(attribution)
    assert dict(diagnosis.attributes) == {
        key: list(value) if isinstance(value, tuple) else value for key, value in (live.attributes or {}).items()
    }
    assert [dict(event.attributes) for event in diagnosis.events] == [
        dict(each.attributes or {}) for each in live.events
    ]
    assert diagnosis.parent_id in {each.span_id for each in others}
    assert [link.span_id for link in diagnosis.links] == [f"{link.context.span_id:016x}" for link in live.links]


def test_a_trace_of_others_with_our_diagnosis_holds_the_same_run() -> None:
    records: list[SpanRecord] = list(read_otlp(FIXTURES / "openinference_openai_agents_wrong.pb.xz"))
    (run,) = assemble(normalise(records))
    named = told(run_id=run.run_id, agent=run.steps[0].agent, step=0)
    diagnosis = to_spans(run, named)[-1]
    assert diagnosis.trace_id == run.trace_id
    assert assemble(normalise([*records, diagnosis])) == [run]
