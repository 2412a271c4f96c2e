"""Runs of Who&When and of AEGIS, and their labels."""

from typing import Any

import pytest

from tracer_hooks.datasets._conversations import read_aegis, read_whowhen
from tracer_hooks.schema import ErrorMode, LabelSource, RunOutcome, StepKind, Trajectory

from .._known import known

HAND_CRAFTED: dict[str, Any] = {
    "question": "Where?",
    "question_ID": "q-1",
    "ground_truth": "Here",
    "is_corrected": False,
    "history": [
        {"role": "human", "content": "Where?"},
        {"role": "Orchestrator (thought)", "content": "plan"},
        {"role": "Orchestrator (-> WebSurfer)", "content": "search"},
        {"role": "WebSurfer", "content": "found"},
        {"role": "Orchestrator (termination condition)", "content": "stop"},
    ],
    "mistake_agent": "Websurfer",
    "mistake_step": "3",
    "mistake_reason": "wrong page",
}
GENERATED: dict[str, Any] = {
    "question": "How many?",
    "is_correct": False,
    "system_prompt": {"Expert": "You count.", "Checker": "You check."},
    "history": [
        {"name": "Expert", "role": "assistant", "content": "4"},
        {"name": "Computer_terminal", "role": "user", "content": "exitcode: 0"},
        {"name": "Checker (senior)", "role": "user", "content": "TERMINATE"},
    ],
    "mistake_agent": "Expert",
    "mistake_step": "0",
}


def trajectory(data: dict[str, Any]) -> Trajectory:
    found = known(read_whowhen(data, "s").trajectory)
    return found


def test_hand_crafted_speakers_stand_in_the_role() -> None:
    run = trajectory(HAND_CRAFTED)
    assert [(step.agent, step.kind, step.recipient) for step in run.steps] == [
        ("human", StepKind.MESSAGE, None),
        ("Orchestrator", StepKind.MESSAGE, None),
        ("Orchestrator", StepKind.HANDOFF, "WebSurfer"),
        ("WebSurfer", StepKind.MESSAGE, None),
        ("Orchestrator", StepKind.MESSAGE, None),
    ]
    assert (run.task, run.reference, run.outcome, run.framework) == ("Where?", "Here", RunOutcome.FAILED, "whowhen")


def test_generated_speakers_stand_in_the_name() -> None:
    run = trajectory(GENERATED)
    assert [step.agent for step in run.steps] == ["Expert", "Computer_terminal", "Checker (senior)"]
    assert [(spec.name, spec.instructions) for spec in run.agents] == [
        ("Expert", "You count."),
        ("Checker", "You check."),
    ]


@pytest.mark.parametrize("step", ["3", 3])
def test_the_label_stays_out_of_the_trajectory(step: object) -> None:
    record = read_whowhen({**HAND_CRAFTED, "mistake_step": step}, "s")
    labeled = known(record.labeled)
    decisive = known(labeled.decisive)
    assert (decisive.agent, decisive.step, decisive.reason) == ("Websurfer", 3, "wrong page")
    assert (labeled.label_source, labeled.question_id) == (LabelSource.HUMAN, "q-1")
    unlabeled = {k: v for k, v in HAND_CRAFTED.items() if not k.startswith("mistake")}
    assert read_whowhen(unlabeled, "s").trajectory == record.trajectory
    assert read_whowhen(unlabeled, "s").labeled is None


@pytest.mark.parametrize("step", ["5", "-1", "third", None, "9" * 50])
def test_a_step_outside_the_history_leaves_the_agent(step: object) -> None:
    record = read_whowhen({**HAND_CRAFTED, "mistake_step": step}, "s")
    assert record.labeled is not None
    assert record.labeled.decisive is None
    assert [fault.agent for fault in record.labeled.faults] == ["Websurfer"]


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"is_correct": True}, RunOutcome.SUCCEEDED),
        ({"is_corrected": True}, RunOutcome.SUCCEEDED),
        ({"is_correct": False}, RunOutcome.FAILED),
        ({"mistake_agent": "Expert", "mistake_step": "0"}, RunOutcome.FAILED),
        ({"ground_truth": "4"}, RunOutcome.UNKNOWN),
        ({}, RunOutcome.UNKNOWN),
    ],
)
def test_outcome(fields: dict[str, Any], outcome: RunOutcome) -> None:
    assert trajectory({"history": GENERATED["history"], **fields}).outcome is outcome


def test_inputs_are_all_turns_since_ones_own_last() -> None:
    steps = trajectory(HAND_CRAFTED).steps
    assert [(seen.source, seen.step, seen.text) for seen in steps[4].inputs] == [("WebSurfer", 3, None)]
    assert [seen.step for seen in steps[3].inputs] == [0, 1, 2]
    assert steps[0].inputs == ()


def test_a_log_of_another_team_reads_the_same() -> None:
    run = trajectory(
        {
            "history": [
                {"name": "agent", "role": "assistant", "content": "Hi"},
                {"name": "user", "role": "user", "content": "Cancel it"},
                {"name": "environment", "role": "tool", "content": {"ok": True}},
            ]
        }
    )
    assert [step.agent for step in run.steps] == ["agent", "user", "environment"]
    assert run.steps[2].content == '{"ok": true}'
    assert (run.task, run.framework) == ("Cancel it", "unknown")


def test_the_same_record_has_the_same_run_id_and_another_has_another() -> None:
    assert trajectory(HAND_CRAFTED).run_id == trajectory(dict(HAND_CRAFTED)).run_id
    assert trajectory(HAND_CRAFTED).run_id != trajectory(GENERATED).run_id


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
