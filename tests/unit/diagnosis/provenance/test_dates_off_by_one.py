"""Dates and nights beside the dates and terms that the run gives."""

from __future__ import annotations

import pytest

from ._teams import Said, departures, strong

OFF: dict[str, tuple[str, list[Said], int]] = {
    "a call with the day before": (
        "Book the room for the seminar on 18 September 2025.",
        [
            "Seminar: 18 September 2025, 20 persons.",
            ("book", {"date": "2025-09-17", "room": "R2"}, "booked"),
            "Booked for 17 September 2025.",
        ],
        1,
    ),
}

ON: dict[str, tuple[str, list[Said]]] = {
    "days after": (
        "Due 30 days after 12 March 2025. When?",
        ["12 March 2025, 30 days.", "That is 11 April 2025.", "11 April 2025"],
    ),
    "working days": (
        "Delivery takes five working days from Thursday 5 June 2025 (not counted). When?",
        ["Five working days.", "It comes on 12 June 2025.", "12 June 2025"],
    ),
    "inclusive": (
        "The fair has five days of play from 28 July 2026. When is the last?",
        ["Five days from 28 July 2026.", "The last day is 1 August 2026.", "1 August 2026"],
    ),
    "a year's contract": (
        "The contract starts on 1 March 2025 and runs for one year. Last day?",
        ["Start 1 March 2025.", "It ends on 28 February 2026.", "28 February 2026"],
    ),
    "past midnight": (
        "The night train leaves on 14 October 2025 at 22:40 and runs for 9 h. When does it arrive?",
        [
            "22:40 plus 9 hours is 07:40 the next morning.",
            "It arrives on 15 October 2025 at 07:40.",
            "15 October 2025, 07:40",
        ],
    ),
    "a rate a day": (
        "Parking costs 15 CHF a day. We come on 2 June and leave on 5 June. How many nights?",
        ["15 CHF a day.", "3 nights.", "3 nights"],
    ),
}


@pytest.mark.parametrize("name", OFF)
def test_a_date_one_off_is_found_at_its_step(name: str) -> None:
    task, said, step = OFF[name]
    found = departures(task, *said)
    assert found
    assert found[0].step == step, found[:3]
    assert found[0].strength >= 0.55, found[:3]


@pytest.mark.parametrize("name", ON)
def test_the_right_date_is_no_departure(name: str) -> None:
    task, said = ON[name]
    assert strong(task, *said) == []


@pytest.mark.parametrize("date", ["31 February 2025", "9999-12-31", "0001-01-01", "29 February 2023", "2025-13-45"])
def test_dates_outside_the_calendar_do_no_harm(date: str) -> None:
    departures(f"Starts on {date} and takes 40 days. When?", f"{date}, 40 days.", "It ends on 1 March.", "1 March")
