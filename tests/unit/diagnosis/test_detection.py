"""Runs of unknown outcome: what looks failed, and what passes."""

from __future__ import annotations

import pytest

from tracer_hooks.diagnosis import diagnose_trajectory
from tracer_hooks.schema import Step, Trajectory

TASK = "How many rows does the export of the spring orders have, and is that more than the winter export had?"
CODE = "Let me count them.\n```python\nprint(len(read('spring.csv')))\n```"


def run(*turns: tuple[str, str] | Step, task: str = TASK) -> Trajectory:
    steps = []
    for index, turn in enumerate(turns):
        if isinstance(turn, Step):
            steps.append(turn.model_copy(update={"index": index}))
        else:
            steps.append(Step(index=index, agent=turn[0], content=turn[1]))
    return Trajectory(run_id="r", task=task, steps=tuple(steps))


def looks_failed(trajectory: Trajectory) -> bool:
    answer = diagnose_trajectory(trajectory)
    assert answer.abstained_reason in (None, "no sign of failure", "trace too incomplete")
    return not answer.abstained


GOOD = run(
    ("coder", CODE),
    ("computer_terminal", "exitcode: 0 (execution succeeded)\nCode output: 412"),
    ("coder", "The spring export has 412 rows, more than the 300 of winter. TERMINATE"),
)
BAD = run(
    ("coder", CODE),
    ("computer_terminal", "exitcode: 1 (execution failed)\nCode output: FileNotFoundError: spring.csv"),
    ("coder", "The file cannot be read, so let's assume 400 rows. I was unable to find the real number."),
    ("checker", "That is incorrect: the number is made up, which contradicts the task."),
)


@pytest.mark.parametrize(
    "failed",
    [
        BAD,
        run(*GOOD.steps[:2], ("coder", CODE)),
        run(*GOOD.steps[:2]),
        run(("coder", "Both exports together: 412 + 300 = 812 rows.")),
        GOOD.model_copy(update={"outcome_reason": "Maximum number of turns 10 reached."}),
    ],
    ids=["made-up data", "code that nobody ran", "a report that nobody took up", "a wrong sum", "a limit"],
)
def test_a_run_with_a_finding_looks_failed(failed: Trajectory) -> None:
    assert looks_failed(failed)


@pytest.mark.parametrize(
    "harmless",
    [
        run(),
        GOOD,
        run(*BAD.steps[:2], *GOOD.steps),
        run(
            ("user", "How many rows?"),
            ("helper", "Which export?"),
            ("user", "Spring."),
            ("helper", "412 rows."),
            ("user", "Thanks!"),
        ),
        run(("left", "The answer is 400."), ("right", "The answer is 412."), ("left", "Right: the answer is 412.")),
        run(
            ("coder", "Assuming 400 rows, as asked, it is more."),
            task="Assume that the export has 400 rows. More than 300?",
        ),
    ],
    ids=[
        "no steps",
        "a good run",
        "an error that was overcome",
        "a person closes",
        "agreement in the end",
        "the task asks to assume",
    ],
)
def test_harmless_forms_are_not_blamed(harmless: Trajectory) -> None:
    assert not looks_failed(harmless)
