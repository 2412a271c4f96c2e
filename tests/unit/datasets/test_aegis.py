from typing import Any

import pytest

from tracer_hooks.datasets._whowhen import read_aegis
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


@pytest.mark.parametrize(("data", "told"), [(FLAT, ("", None, None)), (NESTED, ("macnet", "5", "4"))])
def test_both_shapes_give_the_same_steps_and_faults(data: dict[str, Any], told: tuple[object, ...]) -> None:
    record = read_aegis(data, "s")
    run, labeled = known(record.trajectory), known(record.labeled)
    assert [(step.index, step.agent, step.content) for step in run.steps] == [
        (0, "Solver", "4"),
        (1, "Critic", "no"),
        (2, "Solver", "5"),
    ]
    assert [seen.step for seen in run.steps[2].inputs] == [1]
    assert (run.run_id, run.task, run.outcome) == ("a-1", "2+2?", RunOutcome.FAILED)
    assert (run.team, run.final_output, run.reference) == told
    assert "Ghost" not in run.agent_names
    assert [(fault.agent, fault.error_mode) for fault in labeled.faults] == [
        ("solver", ErrorMode.FM_2_3),
        ("Ghost", None),
    ]
    assert (labeled.decisive, labeled.label_source) == (None, LabelSource.INJECTED)


def test_one_question_is_one_group() -> None:
    read = [read_aegis(data, "s").labeled for data in (FLAT, NESTED, {**FLAT, "question": "3+3?"})]
    flat, nested, other = (known(labeled).question_id for labeled in read)
    assert flat == nested != other


@pytest.mark.parametrize("spelling", ["FM-1.1", "1.1", "FM-1.1: Task specification deviation", "fm-1.1"])
def test_modes_are_read_in_every_spelling(spelling: str) -> None:
    labeled = known(read_aegis({**FLAT, "faulty_agents": [{"agent_name": "A", "error_type": spelling}]}, "s").labeled)
    assert labeled.faults[0].error_mode is ErrorMode.FM_1_1
