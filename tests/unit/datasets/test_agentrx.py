import json
from pathlib import Path
from typing import Any, Literal

import pytest

from tracer_hooks.datasets import LoadedRecord, load
from tracer_hooks.datasets._conversations import AGENTRX_MODES, read_agentrx
from tracer_hooks.datasets._record import letters
from tracer_hooks.errors import TrajectoryError
from tracer_hooks.schema import AgentFault, ErrorMode, LabelSource, RunOutcome, StepKind

from .._known import known

Format = Literal["auto", "agentrx"]


def part(role: str, content: str, **fields: Any) -> dict[str, Any]:
    return {"sub_index": 1, "role": role, "content": content, **fields}


def step(index: int, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"index": index, "substeps": [*parts]}


STEPS = [
    step(1, part("human", "Find the temperature.")),
    step(2, part("Orchestrator (-> WebSurfer)", "Look it up.")),
    step(3, part("WebSurfer", "58 F."), part("tool", "58 F", name="search")),
    step(4, part("Orchestrator (thought)", "62 F."), part("Orchestrator", "done")),
]
RUN: dict[str, Any] = {"trajectory_id": "t-1", "instruction": "Find the temperature.", "steps": STEPS}


def failure(number: int, at: object, category: str = "Invention of New Information", **fields: Any) -> dict[str, Any]:
    return {
        "failure_id": str(number), "step_number": at, "step_reason": "wrong", "failure_category": category,
        "category_reason": "made up", "failed_agent": "Orchestrator", **fields,
    }  # fmt: skip


NOTE: dict[str, Any] = {
    "trajectory_id": "t-1",
    "failure_summary": "It misread the page.",
    "failures": [
        failure(1, 4),
        failure(2, 3, "Instruction/Plan Adherence Failure", failed_agent="Websurfer"),
        failure(3, 5),
    ],
    "root_cause": {"failure_id": 2, "reason_for_root_cause": "never recovered"},
}


def read(note: dict[str, Any] | None = None, run: dict[str, Any] = RUN) -> LoadedRecord:
    return read_agentrx(run, "s", note)


def test_a_step_for_each_entry_so_that_the_numbers_fit() -> None:
    run = known(read().trajectory)
    assert [(one.agent, one.kind, one.recipient) for one in run.steps] == [
        ("human", StepKind.MESSAGE, None),
        ("Orchestrator", StepKind.HANDOFF, "WebSurfer"),
        ("WebSurfer", StepKind.TOOL_CALL, None),
        ("Orchestrator", StepKind.MESSAGE, None),
    ]
    assert [(call.name, call.result) for call in run.steps[2].tool_calls] == [("search", "58 F")]
    assert run.steps[3].content == "62 F.\nOrchestrator: done"
    assert [seen.step for seen in run.steps[3].inputs] == [2]
    assert (run.run_id, run.task, run.outcome) == ("t-1", "Find the temperature.", RunOutcome.FAILED)
    assert read().labeled is None


def test_the_root_cause_is_decisive_and_every_failure_a_fault() -> None:
    labeled = known(read(NOTE).labeled)
    assert labeled.decisive is not None
    assert (labeled.decisive.agent, labeled.decisive.step) == ("Websurfer", 2)  # 3, counted from 1
    assert labeled.decisive.error_mode is ErrorMode.FM_1_1
    assert labeled.decisive.reason == "Instruction/Plan Adherence Failure: wrong"
    assert labeled.faults == (
        AgentFault(agent="Orchestrator"),
        AgentFault(agent="Websurfer", error_mode=ErrorMode.FM_1_1),
    )
    assert labeled.verification == {"faulty_steps": [2, 3]}  # 5 is outside
    assert (labeled.label_source, labeled.question_id) == (LabelSource.HUMAN, "t-1")


@pytest.mark.parametrize(("number", "step"), [(1, 0), (4, 3), ("2", 1)])
def test_step_numbers_count_from_one_at_both_ends(number: object, step: int) -> None:
    labeled = known(read({"failures": [failure(7, number)], "root_cause_failure_id": "7"}).labeled)
    assert known(labeled.decisive).step == step


@pytest.mark.parametrize(
    "note",
    [
        {"failures": [failure(1, 0)], "root_cause": {"failure_id": "1"}},
        {"failures": [failure(1, 5)], "root_cause": {"failure_id": "1"}},
        {"failures": [failure(1, "three")], "root_cause": {"failure_id": "1"}},
        {"failures": [failure(1, 2)], "root_cause": {"failure_id": "9"}},
        {"failures": [failure(1, 2)]},
    ],
)
def test_no_decisive_step_without_a_root_cause_inside_the_run(note: dict[str, Any]) -> None:
    labeled = known(read(note).labeled)
    assert labeled.decisive is None
    assert labeled.faults == (AgentFault(agent="Orchestrator"),)


@pytest.mark.parametrize(
    ("category", "mode"),
    [
        ("Instruction/Plan Adherence Failure", ErrorMode.FM_1_1),
        ("instruction adherence failure", ErrorMode.FM_1_1),
        ("Intent-Plan Misalignment", ErrorMode.FM_2_3),
        ("Underspecified User Intent", ErrorMode.FM_2_2),
        ("Misinterpretation of Tool Output", None),
        ("System Failure", None),
        ("", None),
    ],
)
def test_categories_with_a_counterpart(category: str, mode: ErrorMode | None) -> None:
    assert AGENTRX_MODES.get(letters(category)) is mode


@pytest.mark.parametrize(
    ("run", "note", "reason"),
    [
        ({}, None, r"steps|speaker"),
        ({"steps": []}, None, r"steps|speaker"),
        ({"steps": [1]}, None, r"steps|speaker"),
        ({"steps": [{"substeps": []}]}, None, r"steps|speaker"),
        ({"steps": [{"substeps": [{"content": "x"}]}]}, None, r"steps|speaker"),
        (RUN, {"failures": ["x"]}, "list of objects"),
    ],
)
def test_what_is_no_trajectory_and_no_note(run: dict[str, Any], note: dict[str, Any] | None, reason: str) -> None:
    with pytest.raises(TrajectoryError, match=reason):
        read(note, run)


@pytest.mark.parametrize("format", ["auto", "agentrx"])
def test_whole_records_and_flat_messages_are_seen_for_what_they_are(tmp_path: Path, format: Format) -> None:
    snippet = [{"content": "a", "role": "human", "index": 1}, {"content": "b", "role": "Assistant", "index": 2}]
    rows = {"task_instruction": "x", "trajectory_id": "t-9", "trajectory_snippet": snippet}
    told = {"failures": [failure(1, 2)], "root_cause": {"failure_id": 1}}
    write(tmp_path / "x.jsonl", {**RUN, **NOTE}, {**rows, **told}, rows)
    whole, flat, bare = load(tmp_path / "x.jsonl", format=format)
    assert known(whole.trajectory).framework == "agentrx"
    assert whole.labeled is not None
    assert [step.agent for step in known(flat.trajectory).steps] == ["human", "Assistant"]
    assert known(known(flat.labeled).decisive).step == 1
    assert (known(bare.trajectory).steps, bare.labeled) == (known(flat.trajectory).steps, None)


# --- files ---
def write(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_runs_and_annotations_of_different_files_come_together(tmp_path: Path) -> None:
    tau = {**RUN, "trajectory_id": "tau_retail_7"}
    write(tmp_path / "a_notes.jsonl", NOTE, {**NOTE, "trajectory_id": 7}, {**NOTE, "trajectory_id": "lost"})
    write(tmp_path / "runs" / "magentic.jsonl", RUN, tau, {**RUN, "trajectory_id": "t-2"}, {"what": 1})
    found = list(load(tmp_path, format="agentrx"))
    names = [(record.trajectory.run_id if record.trajectory else None, record.labeled is not None) for record in found]
    assert names == [("t-1", True), ("7", True), ("t-2", False), (None, False), (None, False)]
    errors = [str(record.error) for record in found if record.error is not None]
    assert "expected a run or an annotation of format 'agentrx'" in errors[0]
    assert "there is no run 'lost'" in errors[1]
    assert found[0].source == f"{tmp_path / 'runs' / 'magentic.jsonl'}:1"


def test_a_list_and_a_damaged_file(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [NOTE, RUN])
    (tmp_path / "b.json").write_text("{", encoding="utf-8")
    found = list(load(tmp_path, format="agentrx"))
    assert [record.error is None for record in found] == [True, False]
    assert found[0].labeled is not None
    assert found[0].source == f"{tmp_path / 'a.json'}#1"
