from typing import Any

import pytest

from tracer_hooks.datasets._whowhen import read_whowhen
from tracer_hooks.schema import LabelSource, RunOutcome, StepKind, Trajectory

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
