"""Statements about dates that the calendar refutes, in any step of a run, and those that it does not."""

from __future__ import annotations

import pytest

from ._teams import Said, departures, strong

_TASK = "When does the notice for the flat in Ulm end?"


def test_a_term_that_the_calendar_refutes_is_quoted() -> None:
    said: list[Said] = [
        "The letter came on 24 February 2024.",
        "Note that 10 days after 24 February 2024 is 6 March 2024.",
        "The notice ends on 6 March 2024.",
    ]
    found = strong(_TASK, *said)[0]
    assert (found.step, found.quote) == (1, "Note that 10 days after 24 February 2024 is 6 March 2024.")
    assert found.why == "10 days after 24 February 2024 is 5 March 2024, not 6 March 2024"


def test_a_wrong_weekday_is_the_fault_of_who_named_it_first() -> None:
    said: list[Said] = [
        "The meeting is on a Monday.",
        "So the room is needed on Monday, 15 March 2024.",
        "Booked for 15 March 2024.",
    ]
    found = next(one for one in departures("Book a room for the meeting of 15 March 2024.", *said) if one.sources)
    assert (found.step, found.quote, found.sources) == (0, "The meeting is on a Monday.", (1,))
    assert "15 March 2024 is a Friday, not a Monday" in found.why


def test_a_wrong_weekday_of_the_task_is_not_the_fault_of_an_agent_before() -> None:
    said: list[Said] = ["A Monday it is.", "Booked for Monday, 15 March 2024."]
    found = departures("Book a room for Monday, 15 March 2024.", *said)
    assert {one.step for one in found if "Friday" in one.why} == {1}


@pytest.mark.parametrize(
    "statement",
    [
        "10 days after 24 February 2024 is 5 March 2024.",
        "30 days after 15 December is 14 January 2024.",
        "The day is Monday, 05/06/2024.",
        "05/06/2024 + 10 days = 05/16/2024",
        "9000 days after 1 May 9990 is 2 May 2024.",
    ],
)
def test_a_statement_that_may_be_right_is_no_miscalculation(statement: str) -> None:
    found = departures(_TASK, "Let us see.", statement, "Thank you.")
    assert [one for one in found if one.kind.value == "miscalculated"] == []
