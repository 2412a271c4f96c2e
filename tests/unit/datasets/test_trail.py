import json
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.datasets import LoadedRecord, load
from tracer_hooks.datasets._trail import read_spans, read_trail
from tracer_hooks.errors import TrajectoryError
from tracer_hooks.schema import ErrorMode, RunOutcome, StepKind

from .._known import known

TRACE_ID = "ab" * 16


def span(
    number: int, name: str, kind: str = "", *inside: dict[str, Any], at: int = 0, **attributes: Any
) -> dict[str, Any]:
    own = {key.replace("_", "."): value for key, value in attributes.items()}
    return {
        "timestamp": f"2025-03-19T16:40:{at:02d}.500000Z",
        "span_id": ident(number),
        "span_name": name,
        "span_kind": "Internal",
        "span_attributes": {**({"openinference.span.kind": kind} if kind else {}), **own},
        "duration": "PT0.5S",
        "status_code": "Unset",
        "child_spans": [*inside],
    }


def ident(number: int) -> str:
    return f"{number:016x}"


TRACE: dict[str, Any] = {
    "trace_id": TRACE_ID,
    "spans": [
        span(0, "main", "",
            span(1, "CodeAgent.run", "AGENT",
                span(2, "LiteLLMModel.__call__", "LLM", at=3, output_value="Plan: search."),
                span(3, "Step 1", "CHAIN",
                    span(4, "LiteLLMModel.__call__", "LLM", at=6, output_value="Let me search."),
                    span(5, "SearchTool", "TOOL", at=8, tool_name="search", output_value="Paris"),
                    at=5),
                span(6, "Step 2", "CHAIN",
                    span(10, "LiteLLMModel.__call__", "LLM", at=10, output_value="Ask and answer."),
                    span(7, "ToolCallingAgent.run", "AGENT",
                        span(8, "LiteLLMModel.__call__", "LLM", at=12, output_value="It is Paris."),
                        at=11),
                    span(9, "FinalAnswerTool", "TOOL", at=14, tool_name="final", output_value="Paris"),
                    at=10),
                span(11, "postprocess", "CHAIN", at=16),
                at=2, input_value='{"task": "Find the capital."}'),
            at=1),
        span(20, "cleanup", "", at=30),
    ],
}  # fmt: skip


def error(at: int | str, category: str = "Goal Deviation", impact: str = "MEDIUM") -> dict[str, Any]:
    where = at if isinstance(at, str) else ident(at)
    return {"category": category, "location": where, "evidence": "e", "description": "d", "impact": impact}


def read(*errors: dict[str, Any]) -> LoadedRecord:
    return read_trail(TRACE, "s", {"errors": [*errors], "scores": [{"overall": 3}]})


def decisive(*errors: dict[str, Any]) -> tuple[str, int, ErrorMode | None] | None:
    labeled = known(read(*errors).labeled)
    found = labeled.decisive
    return None if found is None else (found.agent, found.step, found.error_mode)


def test_model_calls_with_their_tools_are_the_steps() -> None:
    run = known(read_trail(TRACE, "s").trajectory)
    assert [(one.agent, one.kind, one.content) for one in run.steps] == [
        ("CodeAgent", StepKind.MESSAGE, "Plan: search."),
        ("CodeAgent", StepKind.TOOL_CALL, "Let me search."),
        ("CodeAgent", StepKind.TOOL_CALL, "Ask and answer."),
        ("ToolCallingAgent", StepKind.MESSAGE, "It is Paris."),
    ]
    assert [call.name for call in run.steps[1].tool_calls] == ["search"]
    assert [call.name for call in run.steps[2].tool_calls] == ["final"]
    assert (run.run_id, run.task, run.framework) == (TRACE_ID, "Find the capital.", "trail")
    assert read_trail(TRACE, "s").labeled is None
    outcomes = [known(record.trajectory).outcome for record in (read_trail(TRACE, "s"), read(), read(error("x")))]
    assert outcomes == [RunOutcome.UNKNOWN, RunOutcome.UNKNOWN, RunOutcome.FAILED]


@pytest.mark.parametrize(
    ("number", "first", "last"),
    [
        (2, 0, 0),  # a model call is its own step
        (4, 1, 1),
        (8, 3, 3),
        (5, 1, 1),  # a tool call belongs to the call before it
        (9, 2, 2),  # of the same agent, not of the one that was asked in between
        (11, 2, 2),  # to the last of several
        (3, 1, 1),  # a frame is its first step, or its last
        (6, 2, 3),
        (7, 3, 3),
        (1, 0, 3),
        (0, 0, 3),
    ],
)
def test_the_step_of_a_span(number: int, first: int, last: int) -> None:
    trace = read_spans(TRACE)
    assert trace.step_of(ident(number), at_end=False) == first
    assert trace.step_of(ident(number), at_end=True) == last


def test_a_span_that_is_not_there_or_stands_alone_has_no_step() -> None:
    trace = read_spans(TRACE)
    assert trace.step_of("ffff", at_end=False) is None
    assert trace.step_of(ident(20), at_end=False) is None


def test_the_earliest_error_of_the_highest_impact_is_decisive() -> None:
    assert decisive(error(2, impact="LOW"), error(8, impact="HIGH"), error(4, impact="high")) == (
        "CodeAgent", 1, ErrorMode.FM_2_3,
    )  # fmt: skip
    assert decisive(error(8), error(2, "Formatting Errors")) == ("CodeAgent", 0, None)
    assert decisive(error("dangling")) is None
    assert decisive() is None
    assert decisive(error(1, "Goal deviation")) == ("CodeAgent", 0, ErrorMode.FM_2_3)
    assert decisive(error(1, "Resource Abuse")) == ("ToolCallingAgent", 3, ErrorMode.FM_1_3), "at the end of its span"


def test_every_error_is_a_fault_of_whoever_acted() -> None:
    labeled = known(
        read(error(5), error(8, "Instruction Non-compliance"), error(8, "Timeout Issues"), error("x")).labeled
    )
    assert [(one.agent, one.error_mode) for one in labeled.faults] == [
        ("CodeAgent", ErrorMode.FM_2_3),
        ("ToolCallingAgent", ErrorMode.FM_1_1),
        ("ToolCallingAgent", None),
    ]
    assert labeled.verification == {"faulty_steps": [1, 3]}


@pytest.mark.parametrize(
    "trace",
    [
        {"trace_id": TRACE_ID, "spans": []},
        {"trace_id": TRACE_ID, "spans": [{"span_name": "x", "child_spans": []}]},
        {"trace_id": TRACE_ID, "spans": [{**span(1, "x"), "timestamp": "yesterday"}]},
        {"trace_id": TRACE_ID, "spans": [span(1, "x")]},
        {"trace": "{", "labels": "{}"},
        {"trace": "[]", "labels": "{}"},
    ],
)
def test_what_gives_no_run(trace: dict[str, Any]) -> None:
    with pytest.raises(TrajectoryError):
        read_trail(trace, "s")


# --- files ---
def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_traces_and_annotations_of_the_same_name_come_together(tmp_path: Path) -> None:
    other = {"trace_id": "cd" * 16, "spans": TRACE["spans"]}
    write(tmp_path / "data" / "GAIA" / "one.json", TRACE)
    write(tmp_path / "data" / "GAIA" / "two.json", other)
    write(tmp_path / "processed_annotations_gaia" / "one.json", {"errors": [error(4)]})
    write(tmp_path / "processed_annotations_gaia" / "by_id.json", {"trace_id": "cd" * 16, "errors": [error(8)]})
    write(tmp_path / "processed_annotations_gaia" / "lost.json", {"errors": []})
    found = list(load(tmp_path, format="trail"))
    labels = [record.labeled and record.labeled.decisive and record.labeled.decisive.step for record in found]
    assert labels == [1, 3, None]
    assert "there is no run 'lost'" in str(found[2].error)


def test_rows_of_two_strings_and_traces_without_labels_are_seen_for_what_they_are(tmp_path: Path) -> None:
    row = {"trace": json.dumps(TRACE), "labels": json.dumps({"errors": [error(4)]})}
    write(tmp_path / "a.json", row)
    write(tmp_path / "b.json", TRACE)
    for format in ("auto", "trail"):
        found = list(load(tmp_path, format=format))
        assert [record.labeled is not None for record in found] == [True, False]
        assert all(record.trajectory is not None and record.trajectory.framework == "trail" for record in found)


def test_a_span_in_a_frame_without_steps_belongs_to_the_step_before_the_frame() -> None:
    frame = span(32, "retry", "CHAIN", span(33, "SearchTool", "TOOL", at=5), at=4)
    bare = {key: value for key, value in span(31, "LiteLLMModel.__call__", "LLM", at=3).items() if key != "child_spans"}
    trace = read_spans({"trace_id": TRACE_ID, "spans": [span(30, "CodeAgent.run", "AGENT", bare, frame, at=2)]})
    assert trace.step_of(ident(33), at_end=False) == 0
