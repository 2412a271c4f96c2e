"""Further runs with one mistake each, of all sorts: the step is found, whatever the finding is called."""

from __future__ import annotations

import pytest

from ._teams import Said, departures

RUNS: dict[str, tuple[str, list[Said], int]] = {
    "left out 1": (
        "How much do the four parcels weigh together?",
        [
            "Parcels: A 2.4 kg, B 3.1 kg, C 1.9 kg, D 4.0 kg",
            "Labels printed.",
            "We have A (2.4 kg), C (1.9 kg) and D (4.0 kg) to send.",
            "2.4 + 1.9 + 4.0 = 8.3 kg",
            "8.3 kg",
        ],
        2,
    ),
    "left out 3": (
        "List all allergens of the soup.",
        [
            ("recipe", {"n": 4}, "contains: celery, milk, mustard, wheat"),
            "Allergens: celery, milk, mustard, wheat.",
            "Kitchen is informed.",
            "Celery, milk and wheat.",
            "Allergens: celery, milk, wheat",
        ],
        3,
    ),
    "left out 4": (
        "How many hours did Pia work this week?",
        [
            "Mon 7.5 h, Tue 8 h, Wed 6.25 h, Thu 8 h, Fri 5.5 h",
            "Break times are not included.",
            "7.5 + 8 + 8 + 5.5 = 29 h",
            "Pia worked 29 hours.",
        ],
        2,
    ),
    "left out 6": (
        "Who has to sign the contract?",
        [
            "The two directors, Ms Ilves and Mr Okada, and the notary, Dr Brandl, have to sign.",
            "Sent by mail.",
            "To sign: Ms Ilves, Mr Okada.",
            "Ms Ilves and Mr Okada sign.",
        ],
        2,
    ),
    "left out 7": (
        "What is the average of the five marks?",
        ["Marks: 2, 3, 1, 4, 2", "(2 + 3 + 4 + 2) / 4 = 2.75", "2.75"],
        1,
    ),
    "left out 8": (
        "Which steps are needed to reset the router?",
        [
            "1. Unplug it.\n2. Wait 30 seconds.\n3. Hold the button.\n4. Plug it in.",
            "1. Unplug it.\n2. Hold the button.\n3. Plug it in.",
            "Unplug, hold the button, plug in.",
        ],
        1,
    ),
    "date 1": (
        "The visa is valid for 90 days from 5 January 2026, that day counted. Last day?",
        ["From 5 January 2026, 90 days, first day counted.", "The last day is 5 April 2026.", "5 April 2026"],
        1,
    ),
    "date 2": (
        "Notice has to reach us 3 weeks before 1 October 2025. Latest date?",
        ["3 weeks before 1 October 2025.", "Latest 11 September 2025.", "11 September 2025"],
        1,
    ),
    "date 3": (
        "How many days are there from 10 March to 4 April, not counting the first day?",
        ["10 March to 4 April.", "That's 26 days.", "26 days"],
        1,
    ),
    "date 4": (
        "My library loan of 28 days began on 20 February 2024. When is it due?",
        ["28 days from 20 Feb 2024.", "Due 18 March 2024.", "Due on 18 March 2024."],
        1,
    ),
    "date 6": (
        "The meeting is the day after 30 April 2025. Enter it.",
        [
            "Day after 30 April 2025.",
            ("add", {"title": "meeting", "date": "2025-05-02"}, "event 4"),
            "Meeting on 2 May 2025.",
        ],
        1,
    ),
    "date 7": (
        "The report is due on the last Friday of November 2025.",
        ["Last Friday of November 2025.", "So by 21 November 2025.", "21 November 2025"],
        1,
    ),
    "date 8": (
        "Ten business days after Monday 1 September 2025?",
        [
            "Start Mon 1 September 2025.",
            "10 business days are two weeks.",
            "So it is 14 September 2025.",
            "14 September 2025",
        ],
        2,
    ),
    "misread 1": (
        "What is Ana's phone extension?",
        [
            ("dir", {"q": "Ana"}, "Ana Costa, ext. 4417, room 2.08\nAnna Kosta, ext. 4471, room 3.11"),
            "Ana Costa has extension 4471.",
            "4471",
        ],
        1,
    ),
    "misread 2": (
        "How many bikes are available at the Dock Street station?",
        [
            (
                "stations",
                {},
                '[{"name": "Dock Street", "bikes": 7, "docks": 15}, {"name": "Mill Lane", "bikes": 12, "docks": 6}]',
            ),
            "Reading the list.",
            "At Dock Street there are 15 bikes.",
            "15 bikes",
        ],
        2,
    ),
    "misread 4": (
        "When does the museum close on Sunday?",
        [("hours", {}, "Sat: 10:00-18:00\nSun: 11:00-17:00"), "On Sunday it closes at 18:00.", "18:00"],
        1,
    ),
    "misread 6": (
        "Was the room booked? How many persons?",
        [
            ("booking", {"id": 8}, '{"status": "pending", "persons": 6, "nights": 2}'),
            "The room is booked for 2 persons.",
            "2 persons",
        ],
        1,
    ),
    "copied 1": (
        "What is the serial number?",
        ["Serial number SN-40917-B.", "Registered.", "SN-40971-B is registered.", "SN-40971-B"],
        2,
    ),
    "copied 3": ("How long is the cable?", ["The cable must be 3.2 m long.", "Order 3.2 cm of cable.", "3.2 cm"], 1),
    "swapped 1": ("By how much is A (120) more expensive than B (90)?", ["A 120, B 90.", "90 - 120 = -30", "-30"], 1),
    "swapped 2": (
        "What is the fuel use per 100 km? 45 litres on 600 km.",
        ["45 L, 600 km", "600 / 45 = 13.3", "13.3"],
        1,
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_step_with_the_mistake_comes_first(name: str) -> None:
    task, said, step = RUNS[name]
    found = departures(task, *said)
    assert found
    assert found[0].step == step, found[:3]
