from typing import Any

import pytest

from tracer_hooks.datasets._whowhen import read_aegis
from tracer_hooks.errors import TrajectoryError
from tracer_hooks.schema import ErrorMode, LabelSource, RunOutcome

from .._known import known

TURNS = [
    {"step": 1, "agent_name": "Solver", "content": "4"},
    {"step": 10, "agent_name": "Critic", "content": "no"},
    {"step": 11, "agent_name": "Solver", "content": "5"},
]
FAULTS = [{"agent_name": "solver", "error_type": "FM-2.3"}, {"agent_name": "Ghost", "error_type": "FM-9.9"}]
FLAT: dict[str, Any] = {"id": "a-1", "question": "2+2?", "trajectory": TURNS, "faulty_agents": FAULTS}
NESTED: dict[str, Any] = {
    "id": "a-1",
    "metadata": {"framework": "macnet", "num_agents": 2},
    "input": {"query": "2+2?", "conversation_history": TURNS, "final_output": "5"},
    "output": {"faulty_agents": FAULTS},
    "ground_truth": {"correct_answer": "4", "is_injection_successful": True},
}


@pytest.mark.parametrize("data", [FLAT, NESTED])
def test_both_shapes_give_the_same_steps_and_faults(data: dict[str, Any]) -> None:
    record = read_aegis(data, "s")
    assert record.trajectory is not None
    assert record.labeled is not None
    assert [(step.index, step.agent, step.content) for step in record.trajectory.steps] == [
        (0, "Solver", "4"),
        (1, "Critic", "no"),
        (2, "Solver", "5"),
    ]
    assert [seen.step for seen in record.trajectory.steps[2].inputs] == [1]
    assert [(fault.agent, fault.error_mode) for fault in record.labeled.faults] == [
        ("solver", ErrorMode.FM_2_3),
        ("Ghost", None),
    ]
    assert record.labeled.decisive is None
    assert record.labeled.label_source is LabelSource.INJECTED
    assert (record.trajectory.run_id, record.trajectory.task) == ("a-1", "2+2?")
    assert record.trajectory.outcome is RunOutcome.FAILED
    assert "Ghost" not in record.trajectory.agent_names


def test_the_nested_shape_tells_team_output_and_reference() -> None:
    run = known(read_aegis(NESTED, "s").trajectory)
    assert (run.team, run.final_output, run.reference) == ("macnet", "5", "4")


def test_one_question_is_one_group() -> None:
    flat, nested = read_aegis(FLAT, "s").labeled, read_aegis(NESTED, "s").labeled
    other = known(read_aegis({**FLAT, "question": "3+3?"}, "s").labeled)
    assert known(flat).question_id == known(nested).question_id != other.question_id


@pytest.mark.parametrize("spelling", ["FM-1.1", "1.1", "FM-1.1: Task specification deviation", "fm-1.1"])
def test_modes_are_read_in_every_spelling(spelling: str) -> None:
    labeled = known(read_aegis({**FLAT, "faulty_agents": [{"agent_name": "A", "error_type": spelling}]}, "s").labeled)
    assert labeled.faults[0].error_mode is ErrorMode.FM_1_1


def test_without_labels_it_is_only_a_trajectory() -> None:
    record = read_aegis({"question": "q", "trajectory": TURNS}, "s")
    assert (record.labeled, record.trajectory and len(record.trajectory.steps)) == (None, 3)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"trajectory": "x"}, "must be a list of turns, got str"),
        ({"trajectory": [{"agent_name": ""}]}, "turn 0 names no speaker"),
        ({"faulty_agents": "x"}, "'faulty_agents' must be a list, got str"),
        ({"faulty_agents": [{"error_type": "FM-1.1"}]}, "a faulty agent must be an object with 'agent_name'"),
    ],
)
def test_damage_is_named(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(TrajectoryError, match=reason):
        read_aegis({**FLAT, **fields}, "s")
