"""Values set beside each other that no record of the tools has together."""

from __future__ import annotations

import json

import pytest

from tracer_hooks.diagnosis._provenance import DepartureKind, provenance_of
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.schema import RunOutcome, Step, StepKind, ToolCall, Trajectory

FLIGHTS = [
    {"flight_number": "HAT156", "date": "2024-05-17", "price": 208},
    {"flight_number": "HAT021", "date": "2024-05-26", "price": 131},
]


def run(*said: str, result: object = None) -> Trajectory:
    """A search that returns the flights, and what the agent says after it."""
    call = ToolCall(name="search", arguments={"from": "JFK"}, result=json.dumps(FLIGHTS if result is None else result))
    steps = [
        Step(index=0, agent="user", content="I want to fly to Boston."),
        Step(index=1, agent="clerk", kind=StepKind.TOOL_CALL, tool_calls=(call,)),
        *(Step(index=2 + place, agent="clerk", content=text) for place, text in enumerate(said)),
    ]
    return Trajectory(
        run_id="r", task="A customer calls.", steps=tuple(steps), outcome=RunOutcome.FAILED, final_output="Good bye."
    )


def beside(trajectory: Trajectory) -> list[tuple[int, str]]:
    """The steps that put a value beside the wrong one."""
    found = provenance_of(RunReading(trajectory)).departures
    return [(one.step, one.why) for one in found if one.kind is DepartureKind.MISCOPIED and " beside " in one.why]


def test_a_date_of_another_flight_is_seen_where_it_is_first_put() -> None:
    said = ("There are two flights.", "HAT156 leaves on May 26.", "Then HAT156 on May 26 it is.")
    ((step, why),) = beside(run(*said))[:1]
    assert step == 3
    assert why == "'clerk' puts 'May 26' beside 'HAT156', but the tools returned that one with '2024-05-17' as 'date'"


@pytest.mark.parametrize(
    "said",
    [
        "HAT156 leaves on May 17.",
        "HAT156 leaves on May 17, and HAT021 on May 26.",  # two of one field in a line speak of two things
        "You fly with HAT156 and HAT021.",
        "HAT156 leaves on May 17 and costs $208.",
        "On May 26 I have a day off.",
        "HAT999 leaves on May 26.",  # of a flight that no tool returned nothing is known
    ],
)
def test_what_the_records_bear_out_or_do_not_know_is_let_be(said: str) -> None:
    assert beside(run(said)) == []


def test_a_flight_that_flies_on_several_days_may_stand_with_each() -> None:
    every_day = [{"flight_number": "HAT156", "date": f"2024-05-{day}"} for day in (17, 26)]
    assert beside(run("HAT156 leaves on May 26.", result=every_day)) == []


@pytest.mark.parametrize("result", ["[" * 3_000, [1, "x", None], {"a": {"b": {}}}, [[[]]], {"x": True}])
def test_odd_results_hold_no_records(result) -> None:
    assert beside(run("HAT156 leaves on May 26.", result=result)) == []


def test_arguments_of_a_call_are_read_object_by_object() -> None:
    booked = {"flights": [{"flight_number": "HAT156", "date": "2024-05-26"}]}
    trajectory = run("Shall I book it?")
    call = ToolCall(name="book", arguments=booked, result="done")  # type: ignore[arg-type]
    step = Step(index=3, agent="clerk", kind=StepKind.TOOL_CALL, tool_calls=(call,))
    trajectory = trajectory.model_copy(update={"steps": (*trajectory.steps, step)})
    assert [step for step, _ in beside(trajectory)] == [3]
