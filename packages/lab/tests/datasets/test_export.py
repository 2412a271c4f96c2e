"""Exports are read back by our own readers with the same labels."""

import json
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.datasets import LoadedRecord, load
from tracer_hooks.datasets._labeled import LabeledSet
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks.schema import AgentFault, DecisiveStep, ErrorMode, LabeledTrajectory, RunOutcome, Trajectory
from tracer_hooks_lab.datasets._export import export

from ._labelled_sets import labelled_set


def labels(record: LoadedRecord) -> LabeledTrajectory:
    assert record.error is None
    assert record.labeled is not None
    return record.labeled


def first_labelled(**update: object) -> LabeledTrajectory:
    return labelled_set(1).labeled[0].model_copy(update=update)


def test_whowhen_keeps_agent_step_and_question(tmp_path: Path) -> None:
    dataset = labelled_set(6)
    report = export(dataset, tmp_path / "out", "whowhen")
    assert report.written == 12
    assert {(one.run_id, one.reason) for one in report.skipped} == {
        (item.trajectory.run_id, "a passing run: Who&When holds failed runs only") for item in dataset.clean
    }
    found = [labels(record) for record in load(tmp_path / "out")]
    assert len(found) == 12
    for item, back in zip(dataset.labeled, found, strict=True):
        assert (back.decisive.agent, back.decisive.step) == (item.decisive.agent, item.decisive.step)
        assert (back.question_id, back.trajectory.run_id) == (item.question_id, item.trajectory.run_id)
        assert [step.agent for step in back.trajectory.steps] == [step.agent for step in item.trajectory.steps]
        assert (back.trajectory.task, back.trajectory.reference) == (item.trajectory.task, "42")
        assert back.trajectory.outcome is RunOutcome.FAILED
        assert back.trajectory.agents[0].instructions == "You are the Planner."


def test_whowhen_files_have_the_fields_of_the_original(tmp_path: Path) -> None:
    dataset = labelled_set(1)
    export(dataset, tmp_path / "out", "whowhen")
    data = json.loads((tmp_path / "out" / "1.json").read_text())
    assert data.keys() - {"id"} == {
        "is_correct", "question", "question_ID", "level", "ground_truth", "history", "mistake_agent", "mistake_step",
        "mistake_reason", "system_prompt",
    }  # fmt: skip
    decisive, step = dataset.labeled[0].decisive, dataset.labeled[0].trajectory.steps[1]
    assert data["mistake_step"] == str(decisive.step)
    assert data["mistake_reason"].startswith("FM-1.1 disobey task specification: The agent departs")
    assert data["history"][1]["name"] == step.agent
    assert step.tool_calls[0].result is not None
    assert data["history"][1]["content"].startswith(step.content)
    assert step.tool_calls[0].result in data["history"][1]["content"]


@pytest.mark.parametrize(
    ("form", "update", "reason"),
    [
        ("whowhen", {"decisive": None, "faults": (AgentFault(agent="Solver"),)}, "no decisive step"),
        ("whowhen", {"decisive": DecisiveStep(agent="Solver", step=99)}, "outside"),
        ("whowhen", {"decisive": DecisiveStep(agent="", step=0)}, "an agent without a name"),
        ("aegis", {"faults": (AgentFault(agent=""),), "decisive": None}, "an agent without a name"),
        ("aegis", {"trajectory": Trajectory(run_id="empty", outcome=RunOutcome.FAILED)}, "no steps"),
    ],
)
def test_what_a_format_cannot_hold_is_reported(form: Any, update: dict[str, object], reason: str, tmp_path) -> None:
    held, other = labelled_set(1).labeled
    left = other.model_copy(update=update)
    report = export(LabeledSet(labeled=(held, left)), tmp_path / "new", form)
    assert report.written == 1
    assert [one.run_id for one in report.skipped] == [left.trajectory.run_id]
    assert reason in report.skipped[0].reason


@pytest.mark.parametrize("step", [0, -1])
def test_first_and_last_step_keep_their_place(step: int, tmp_path: Path) -> None:
    run = labelled_set(1).labeled[0].trajectory
    at = step % len(run.steps)
    item = first_labelled(decisive=DecisiveStep(agent=run.steps[at].agent, step=at, reason="it is wrong"))
    export(LabeledSet(labeled=(item,)), tmp_path, "whowhen")
    (record,) = load(tmp_path)
    back = labels(record).decisive
    assert (back.step, back.reason) == (at, "it is wrong")


def test_aegis_keeps_the_sets_of_agents_and_modes(tmp_path: Path) -> None:
    dataset = labelled_set(6)
    several = first_labelled(
        decisive=None, faults=(AgentFault(agent="Solver", error_mode=ErrorMode.FM_2_3), AgentFault(agent="Writer"))
    )
    dataset = LabeledSet(labeled=(several, *dataset.labeled[1:]), clean=dataset.clean)
    report = export(dataset, tmp_path / "set.jsonl", "aegis")
    assert (report.written, report.skipped) == (24, ())
    data = json.loads((tmp_path / "set.jsonl").read_text().splitlines()[0])
    assert [turn["step"] for turn in data["trajectory"]] == list(range(1, len(data["trajectory"]) + 1)), "from one"
    found = [labels(record) for record in load(tmp_path / "set.jsonl")]
    assert all(item.trajectory.framework == "aegis" for item in found), "the format is told by itself"
    pairs = [{(fault.agent, fault.error_mode) for fault in item.faults} for item in found]
    assert pairs[0] == {("Solver", ErrorMode.FM_2_3), ("Writer", None)}
    assert pairs[1:12] == [
        {(item.decisive.agent, item.decisive.error_mode)} for item in dataset.labeled[1:] if item.decisive is not None
    ]
    assert pairs[12:] == [set()] * 12
    assert [item.trajectory.run_id for item in found[12:]] == [item.trajectory.run_id for item in dataset.clean]
    assert [step.agent for step in found[1].trajectory.steps] == [
        step.agent for step in dataset.labeled[1].trajectory.steps
    ]


@pytest.mark.parametrize(
    ("form", "dataset", "message"),
    [
        ("whowhen", labelled_set(1), "expected a new or empty folder"),
        ("aegis", labelled_set(1), r"expected the name of a \.jsonl file"),
        ("csv", labelled_set(1), "format is 'csv', expected one of whowhen, aegis"),
        ("whowhen", LabeledSet(clean=labelled_set(1).clean), "can be written as 'whowhen'; the first: 'run-0000a'"),
    ],
)
def test_what_cannot_be_exported_is_an_error(form: Any, dataset: LabeledSet, message: str, tmp_path: Path) -> None:
    if dataset.labeled:
        (tmp_path / "1.json").write_text("{}")  # an export never mixes with other files
    with pytest.raises((ConfigError, DatasetError), match=message):
        export(dataset, tmp_path, form)
