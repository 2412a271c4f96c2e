"""Runs to evaluate on: how files are read, and which names are one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracer_hooks.errors import ConfigError, TrajectoryError
from tracer_hooks.evaluation import DATASETS, read_data
from tracer_hooks.evaluation._cases import fold_name, is_person, is_terminal, resolve_name, speakers_of
from tracer_hooks.schema import RunOutcome, save_jsonl

from ._runs import M11, labeled, run


def whowhen(agent: str = "A", step: str = "1", **fields: Any) -> dict[str, Any]:
    history = [{"name": name, "role": "user", "content": "x"} for name in "AB"]
    return {
        "question": "q", "question_ID": "id", "ground_truth": "42", "history": history, "is_correct": False,
        "mistake_agent": agent, "mistake_step": step, **fields,
    }  # fmt: skip


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_each_sub_folder_is_a_group_and_the_answer_is_taken_out(tmp_path: Path) -> None:
    write(tmp_path / "AG" / "1.json", whowhen())
    write(tmp_path / "HC" / "1.json", whowhen(agent="B"))
    data = read_data("whowhen", tmp_path)
    assert [(one.group, one.gold_agent, one.gold_step, one.question) for one in data.cases] == [
        ("AG", "A", 1, "id"),
        ("HC", "B", 1, "id"),
    ]
    assert [(one.trajectory.reference, one.reference) for one in data.cases] == [(None, "42")] * 2
    assert all(one.labeled is not None and one.labeled.trajectory.reference is None for one in data.cases)
    assert all(one.outcome is RunOutcome.FAILED for one in data.cases)
    assert data.problems == ()
    assert read_data("whowhen", tmp_path / "HC").cases[0].group == "HC"
    assert read_data("whowhen", tmp_path / "HC" / "1.json").cases[0].group == "1"


def test_damaged_logs_are_set_apart(tmp_path: Path) -> None:
    write(tmp_path / "HC" / "1.json", whowhen())
    write(tmp_path / "HC" / "2.json", {"history": []})
    write(tmp_path / "HC" / "3.json", whowhen(agent=""))
    data = read_data("whowhen", tmp_path)
    assert [Path(problem.source).name for problem in data.problems] == ["2.json", "3.json"]
    assert "no label" in data.problems[1].reason
    write(tmp_path / "outside" / "1.json", whowhen(step="9"))
    data = read_data("whowhen", tmp_path / "outside")
    assert (data.cases[0].gold_agent, data.cases[0].gold_step) == ("A", None), "a label outside stays with its agent"
    assert any("1 labelled steps lie outside" in note for note in data.notes)


def test_aegis_keeps_runs_without_faults(tmp_path: Path) -> None:
    turns = [{"step": 1, "agent_name": "Node0", "content": "x"}]
    fault = {"agent_name": "Node0", "error_type": "FM-1.1"}
    rows = [
        {"id": "1", "question": "q", "trajectory": turns, "faulty_agents": [fault]},
        {"id": "2", "question": "q", "trajectory": turns, "faulty_agents": []},
        {"id": "3", "question": "q", "trajectory": turns},
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    data = read_data("aegis", path)
    assert [(one.group, len(one.faults or ())) for one in data.cases] == [("x", 1), ("x", 0)]
    assert data.cases[0].gold_agent is None
    assert [problem.source for problem in data.problems] == [f"{path}:3"]


def test_graded_runs_are_grouped_by_task(tmp_path: Path) -> None:
    history = [{"name": "agent", "role": "assistant", "content": "x"}]
    rows = [{"history": history, "is_correct": k < 2, "domain": "air", "task_id": str(k % 2)} for k in range(3)]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    data = read_data("graded", path)
    assert [one.question for one in data.cases] == ["air/0", "air/1", "air/0"]
    assert [one.outcome.value for one in data.cases] == ["succeeded", "succeeded", "failed"]
    assert all(one.gold_agent is None and one.faults is None for one in data.cases)


def test_own_trajectories_with_steps_faults_and_without_a_fault(tmp_path: Path) -> None:
    graded, bare = run("A", outcome=RunOutcome.SUCCEEDED), run("A", outcome=RunOutcome.UNKNOWN)
    step, fault = labeled(run("A", "B"), "B", 1, mode=M11), labeled(run("A", "B"), faults=[("A", M11)])
    save_jsonl(tmp_path / "labeled.jsonl", [step, fault, labeled(graded)])
    cases = read_data("trajectory", tmp_path / "labeled.jsonl").cases
    assert [(one.gold_step, one.gold_mode, one.faults is None) for one in cases] == [
        (1, M11, True),
        (None, None, False),
        (None, None, True),
    ]
    save_jsonl(tmp_path / "bare.jsonl", [graded, bare])
    cases = read_data("trajectory", tmp_path / "bare.jsonl").cases
    assert [one.outcome for one in cases] == [RunOutcome.SUCCEEDED], "one without label or verdict is set apart"
    assert len(read_data("graded", tmp_path / "bare.jsonl").problems) == 1


def test_a_limit_draws_with_the_seed_and_keeps_the_order(tmp_path: Path) -> None:
    save_jsonl(tmp_path / "x.jsonl", [labeled(run("A", run_id=str(k)), "A", 0) for k in range(50)])
    ids = [
        [int(one.trajectory.run_id) for one in read_data("trajectory", tmp_path, limit=10, seed=s).cases]
        for s in (1, 1, 2)
    ]
    assert len(ids[0]) == 10
    assert ids[0] == ids[1] == sorted(ids[0]) != ids[2]
    assert any("10 of 50 runs" in note for note in read_data("trajectory", tmp_path, limit=10).notes)


def test_what_cannot_be_evaluated(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"'csv', expected one of {', '.join(DATASETS)}"):
        read_data("csv", tmp_path)
    with pytest.raises(TrajectoryError, match="holds no run that can be evaluated"):
        read_data("whowhen", tmp_path / "none")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("WebSurfer", "Websurfer", True),
        ("Web Surfer", "web_surfer", True),
        ("Orchestrator", "Orchestrator (thought)", True),
        ("Orchestrator (-> WebSurfer)", "orchestrator", True),
        ("Orchestrator (termination condition)", "Orchestrator", True),
        ("Blu-Ray_Expert", "bluray expert", True),
        ("Ärztin", "ärztin", True),
        ("Solver1", "Solver2", False),
        ("Agent (1)", "Agent (2)", False),
        ("Planner", "Plan", False),
        ("***", "---", False),
    ],
)
def test_spellings_of_one_name(one: str, other: str, same: bool) -> None:
    assert (fold_name(one) == fold_name(other)) is same


def test_a_running_number_is_dropped_only_when_that_gives_a_speaker() -> None:
    assert resolve_name("psychologist4", ["psychologist", "assistant1"]) == "psychologist"
    assert resolve_name("Assistant1", ["assistant", "assistant1"]) == "assistant1"
    assert resolve_name("ranker5", ["assistant1"]) == "ranker5"


def test_people_and_terminals() -> None:
    assert is_person("Human")
    assert is_person("user_proxy")
    assert not is_person("UserExperienceExpert")
    assert is_terminal("Computer_terminal")
    assert speakers_of(run("User", "B", "a", "b", "System")) == ("b", "a")
