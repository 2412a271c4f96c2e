"""A wrong calculation that one agent asks for and another works out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tracer_hooks.diagnosis import get_attributor
from tracer_hooks.diagnosis._provenance import DepartureKind
from tracer_hooks.schema import Attribution, RunOutcome, Step, StepKind, ToolCall, Trajectory

from ._teams import departures

CpuSeconds = Callable[[Callable[[int], object]], float]
SAVINGS = "Hugo saves money for 4 weeks, 6 EUR every week. Then 3 EUR are spent. How many EUR are there in the end?"
TICKETS = "Bruno buys 5 tickets that cost 5 EUR each. A voucher takes 5 EUR off the bill. How many EUR is the bill?"


def team(task: str, *said: str, answer: str | None = None) -> Trajectory:
    """A planner, a solver and a checker whose answer a check rejects; further steps are those of helpers."""
    names = ("planner", "solver", "checker")
    steps = tuple(
        Step(index=index, agent=names[index] if index < len(names) else f"helper {index}", content=text)
        for index, text in enumerate(said)
    )
    final = said[-1] if answer is None else answer
    return Trajectory(
        run_id="planned",
        team="planner_solver_checker",
        framework="python",
        task=task,
        steps=steps,
        outcome=RunOutcome.FAILED,
        outcome_reason=f"check: {final!r} is not the expected answer",
        final_output=final,
    )


def diagnosis(*args: str) -> Attribution:
    return get_attributor("structural").attribute(team(*args))


PLANNED = {
    "brackets": (SAVINGS, "(4 * 6) + (3)", "24 + 3 = 27", "27"),
    "in a sentence": (TICKETS, "Bruno's total bill is 5 * 5 + 5 * 5 - 5", "25 + 25 - 5 = 45", "45"),
    "in steps": (SAVINGS, "4 * 6 + 3", "4 * 6 = 24\n24 + 3 = 27", "27"),
    "signs in words": (SAVINGS, "Take 4 times 6 plus 3.", "4 * 6 = 24, 24 + 3 = 27", "27"),
    "worked out in the head": (SAVINGS, "4 * 6 + 3", "27", "27"),
    "worked out by halves": (SAVINGS, "(4 * 6) + (3)", "24 + 3", "27"),
    "with a unit": (SAVINGS, "4 * 6 EUR + 3 EUR", "24 EUR + 3 EUR = 27 EUR", "27 EUR"),
    "a small number": ("How many are left?", "There are 2 * 3 - 1", "6 - 1 = 5", "5"),
    "a small number from the head": ("How many are left?", "There are 2 * 3 - 1", "5", "5"),
    "with an open sign of equality": (SAVINGS, "4 * 6 + 3 = ?", "24 + 3 = 27", "27"),
}


@pytest.mark.parametrize("case", PLANNED)
def test_who_asks_for_a_wrong_calculation_is_named(case: str) -> None:
    assert diagnosis(*PLANNED[case]).step == 0


def test_the_evidence_says_what_was_asked_for_and_that_it_was_worked_out_rightly() -> None:
    evidence = diagnosis(*PLANNED["brackets"]).evidence[0]
    assert evidence.step == 0
    assert evidence.quote == "(4 * 6) + (3)"
    assert evidence.why.startswith(
        "'planner' asks for '(4 * 6) + (3)', and that gives the rejected answer, 27; "
        "'solver' works it out without an error in step 1."
    )
    assert "first" not in evidence.why


def test_a_value_that_nobody_wrote_a_calculation_for_is_not_said_to_be_worked_out() -> None:
    why = diagnosis(*PLANNED["worked out in the head"]).evidence[0].why
    assert "gives the rejected answer, 27." in why
    assert "works it out" not in why


NOT_PLANNED = {
    "a slip of the solver": (SAVINGS, "4 * 6 - 3", "4 * 6 - 3 = 24", "24"),
    "a slip in the head": (SAVINGS, "4 * 6 - 3", "24 - 3 = 27", "27"),
    "a slip that comes to the planned value": (SAVINGS, "4 * 6 + 3", "4 * 6 = 27", "27"),
    "the same value of other numbers": (SAVINGS, "4 * 6 + 3", "20 + 7 = 27", "27"),
    "a plan in words only": (SAVINGS, "Multiply weeks and money, then add what was spent.", "24 + 3 = 27", "27"),
    "the planner's own result": (SAVINGS, "4 * 6 - 3 = 21", "24 + 3 = 27", "27"),
    "the task's calculation": ("What is 3 * 5 + 2?", "Work out 3 * 5 + 2", "15 + 2 = 17", "17"),
    "the task's, written another way": ("What is 3 * 5 + 2?", "2 + 5 * 3", "15 + 2 = 17", "17"),
    "a program": (SAVINGS, "```python\nprint(4 * 6 + 3)\n```", "24 + 3 = 27", "27"),
    "a program without a fence": (SAVINGS, "def total():\n    return 4 * 6 + 3", "24 + 3 = 27", "27"),
    "a plan beside a program": (SAVINGS, "4 * 6 + 3", "```python\nprint(24 + 3)\n```\n24 + 3 = 27", "27"),
    "a warning": (SAVINGS, "It is not 4 * 6 + 3", "24 + 3 = 27", "27"),
    "a small number that comes up later": ("How many?", "There are 2 * 3 - 1", "Good.", "5", "5"),
    "a date": (SAVINGS, "By 2024-12-31", "24 + 3 = 27", "27"),
    "with an unknown": (SAVINGS, "x + 24 + 3", "24 + 3 = 27", "27"),
}


@pytest.mark.parametrize("case", NOT_PLANNED)
def test_nobody_is_blamed_for_a_plan_that_he_did_not_write(case: str) -> None:
    task, *said = NOT_PLANNED[case]
    assert all(one.kind is not DepartureKind.PLANNED for one in departures(task, *said))


@pytest.mark.parametrize(
    "case", ["a slip of the solver", "a slip in the head", "the same value of other numbers", "a plan in words only"]
)
def test_who_does_not_do_what_was_asked_for_is_named(case: str) -> None:
    assert diagnosis(*NOT_PLANNED[case]).step == 1


def test_who_works_out_other_numbers_than_the_plans_is_where_to_start() -> None:
    assert diagnosis(SAVINGS, "3 * 6 + 3", "30 + 3 = 33", "33").step == 1


def test_a_planned_value_that_the_answer_rests_on_is_the_planners() -> None:
    found = departures(SAVINGS, "First 14 * 6", "84", "84 + 3 = 87", "87")
    planned = next(one for one in found if one.kind is DepartureKind.PLANNED)
    assert planned.step == 0
    assert planned.why == "'a0' asks for '14 * 6', and that gives 84, which the rejected answer rests on"


def test_the_earliest_who_asks_for_it_is_named() -> None:
    assert diagnosis(SAVINGS, "4 * 6 + 3", "Please do 4 * 6 + 3", "24 + 3 = 27", "27").step == 0


def test_a_number_of_the_plan_that_is_misread_comes_before_the_plan() -> None:
    lookup = ("price", {"item": "chair"}, '{"item": "chair", "price_eur": 149}')
    found = departures("What do 12 chairs cost?", lookup, "A chair is 194 EUR.", "12 * 194", "12 * 194 = 2328", "2328")
    assert found[0].step == 1


def test_a_tool_that_works_the_plan_out_is_not_its_callers_fault() -> None:
    run = team(SAVINGS, "4 * 6 + 3", "", "27")
    call = ToolCall(name="calculator", arguments={"a": 24, "b": 3}, result="27")
    used = run.steps[1].model_copy(update={"kind": StepKind.TOOL_CALL, "tool_calls": (call,)})
    run = run.model_copy(update={"steps": (run.steps[0], used, run.steps[2])})
    assert get_attributor("structural").attribute(run).step == 0


def test_the_expressions_of_a_long_run_cost_time_by_its_length(cpu_seconds: CpuSeconds) -> None:
    def seconds(steps: int) -> float:
        def diagnosed(fresh: int) -> None:
            first = 10 + 1_000 * fresh
            said = [f"Next: {index} * 7 + {index + 3} - (2 * {index})" for index in range(first, first + steps - 2)]
            diagnosis(SAVINGS, *said, "4 * 6 + 3", "24 + 3 = 27")

        return cpu_seconds(diagnosed)

    seconds(20)
    assert seconds(130) < 12 * max(seconds(32), 0.05)  # linear is 4, a square 16
