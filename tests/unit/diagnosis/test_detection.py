"""The failure detector: what it blames a run for and what it lets pass."""

from __future__ import annotations

import pytest

from tracer_hooks.diagnosis.ranking._detector import SIGNS, THRESHOLD, amounts_of, failure_probability
from tracer_hooks.diagnosis.ranking._view import View
from tracer_hooks.schema import RunOutcome, Step, StepKind, ToolCall, Trajectory

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


def seen(trajectory: Trajectory) -> set[str]:
    return {name for name, amount in amounts_of(View(trajectory)).items() if amount > 0}


def probability(trajectory: Trajectory) -> float:
    return failure_probability(View(trajectory))


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

CASES = {
    "ends on code that nobody ran": run(*GOOD.steps[:2], ("coder", CODE)),
    "ends on the words of a machine": run(*GOOD.steps[:2]),
    "ends on an announcement": run(("coder", "There are two files. Next, I will open the spring export.")),
    "ends with doubt in its answer": run(("coder", "It has 400 rows; this is an estimate. Please verify it.")),
    "ends with work left to do": run(("coder", "There are 412 rows; the winter export still needs to be counted.")),
    "ends off the task": run(("coder", "Of roses, tulips and lilies: " + " ".join(chr(97 + n) * 5 for n in range(26)))),
    "an error that was not overcome": run(*BAD.steps[:2], ("coder", "There are 412 rows.")),
    "empty-handed": run(("coder", "No results found."), ("coder", "There are 412 rows.")),
    "made-up data": run(("coder", "The file is not there, so let's assume it has 400 rows.")),
    "claims with nothing to show": run(("coder", "I have checked the file: 412 rows.")),
    "the last answers differ": run(("left", "The answer is 412."), ("right", "The answer is 300.")),
    "objections": run(
        ("left", "There are 412."), ("right", "That is wrong."), ("left", "413 then."), ("right", "Yes.")
    ),
    "leaves something out": run(("coder", "For simplicity I skip the winter export: 412 rows.")),
    "answers change": run(("left", "The answer is 412."), ("right", "Hm."), ("left", "The answer is 300.")),
    "an objection left open": run(("left", "There are 412 rows."), ("right", "That is incorrect, and a mistake.")),
    "no progress, says who leads": run(
        ("coder", "I looked."),
        ("orchestrator", "The team is stuck in a loop, so here is a new plan."),
        ("coder", "412."),
    ),
    "rules: errors and tools": run(
        Step(
            index=0,
            agent="coder",
            kind=StepKind.TOOL_CALL,
            content="Counting.",
            tool_calls=(ToolCall(name="count", arguments={"file": "spring.csv"}, error="KeyError: no such file"),),
        ),
        ("coder", "There are 412 rows."),
    ),
    "rules: sums and contradictions": run(("coder", "Both exports together: 412 + 300 = 812 rows.")),
}


@pytest.mark.parametrize("name", CASES)
def test_a_sign_is_seen_where_it_is(name: str) -> None:
    assert name in seen(CASES[name])
    assert all(0.0 <= amount <= 1.0 for amount in amounts_of(View(CASES[name])).values())


def test_every_sign_but_the_stop_for_length_has_a_case() -> None:
    assert set(SIGNS) - set(CASES) == {"was stopped for its length"}


def test_a_run_that_was_stopped_for_its_length() -> None:
    stopped = GOOD.model_copy(update={"outcome_reason": "Maximum number of turns 10 reached."})
    assert "was stopped for its length" in seen(stopped)


def test_a_run_that_went_well_shows_nothing() -> None:
    assert seen(GOOD) == set()


@pytest.mark.parametrize(
    "harmless",
    [
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
        run(
            *[("operator", "The export is still running, as was to be expected.")] * 3,
            ("operator", "It has 412 rows now."),
        ),
    ],
    ids=["an error that was overcome", "a person closes", "agreement in the end", "the task asks to assume", "waiting"],
)
def test_harmless_forms_are_not_blamed(harmless: Trajectory) -> None:
    assert probability(harmless) < THRESHOLD


def test_the_detector_tells_a_bad_run_from_a_good_one() -> None:
    assert probability(GOOD) < THRESHOLD <= probability(BAD)


@pytest.mark.parametrize("outcome", list(RunOutcome))
def test_the_outcome_and_the_reference_are_not_looked_at(outcome: RunOutcome) -> None:
    told = BAD.model_copy(update={"outcome": outcome})
    assert probability(told) == failure_probability(View(told, "400")) == probability(BAD)


def test_a_run_without_steps_shows_nothing() -> None:
    assert probability(run()) < THRESHOLD


def test_no_sign_clears_a_run() -> None:
    assert all(sign.weight > 0 for sign in SIGNS.values())
