"""A step that says another value than the tool returned under that name."""

from __future__ import annotations

import pytest

from tracer_hooks.diagnosis._provenance import DepartureKind

from ._teams import Said, departures, strong

_NEAR = "Fine, nothing to add."

MISREAD: dict[str, tuple[str, list[Said], int]] = {
    "another key of a record": (
        "What does the annual ticket cost?",
        [
            ("fares", {"zone": 2}, '{"monthly": 61.5, "annual": 690.0, "deposit": 25.0}'),
            "The annual ticket costs 615.00 euros.",
            "615 euros",
        ],
        1,
    ),
    "the column beside": (
        "How many seats are free in hall B?",
        [
            ("halls", {}, "hall;seats;sold;free\nA;120;100;20\nB;90;64;26\nD;80;80;0"),
            _NEAR,
            "Hall B has 64 seats free.",
            "64 seats are free.",
        ],
        2,
    ),
    "the row above": (
        "What is the population of Lund?",
        [
            ("towns", {}, "| town | people | area |\n|---|---|---|\n| Malmo | 351749 | 77 |\n| Lund | 94393 | 26 |"),
            "Lund has a population of 351,749 people.",
            "351,749",
        ],
        1,
    ),
    "the row of another name in JSON": (
        "What does the blue chair cost?",
        [
            ("shop", {}, '[{"item": "red chair", "price": 84.0}, {"item": "blue chair", "price": 79.5}]'),
            "The blue chair is 84.00 in the shop.",
            "84.00",
        ],
        1,
    ),
    "digits exchanged": (
        "How many visitors came in May?",
        [("count", {"month": "May"}, "visitors: 4,817"), "We had 4,871 visitors in May.", "4871 visitors"],
        1,
    ),
    "a value from nowhere": (
        "How large is the plot?",
        [("land", {"id": "P-77"}, '{"plot_m2": 640, "floors": 2}'), "The plot has 460 m².", "460 m²"],
        1,
    ),
    "a percent written as a share": (
        "Which share answered?",
        [("survey", {}, '{"sent": 4000, "answer_rate": 0.035}'), "The answer rate was 35 %.", "35 %"],
        1,
    ),
}

RIGHT: dict[str, tuple[str, list[Said]]] = {
    "the right key": (
        *MISREAD["another key of a record"][:1],
        [
            ("fares", {"zone": 2}, '{"monthly": 61.5, "annual": 690.0}'),
            "The annual ticket costs 690 euros.",
            "690 euros",
        ],
    ),
    "the right row": (
        "How many seats are free in hall B?",
        [
            ("halls", {}, "hall;seats;sold;free\nA;120;100;20\nB;90;64;26"),
            "Hall B: 26 of 90 seats are free, 64 sold.",
            "26",
        ],
    ),
    "worked out from the result": (
        "What is the price after 10 % off?",
        [("shop", {}, '{"price": 80.0, "stock": 4}'), "The price after the discount is 80 * 0.9 = 72.00.", "72.00"],
    ),
    "rounded": (
        "How long is the trail?",
        [("trail", {}, '{"length_km": 12.38, "height_m": 410}'), "The trail has a length of about 12.4 km.", "12.4 km"],
    ),
    "a year beside a count": (
        "How many members does the club have?",
        [
            ("club", {}, '{"members": 212, "rooms": 3}'),
            "The club has 212 members; in 2019 members met in the barn.",
            "212",
        ],
    ),
    "another unit": (
        "How heavy is the crate?",
        [("scale", {}, '{"weight_kg": 1.25}'), "The crate weighs 1,250 g.", "1,250 g"],
    ),
}


@pytest.mark.parametrize("name", MISREAD)
def test_a_value_that_the_result_gives_to_something_else_is_found_at_its_step(name: str) -> None:
    task, said, step = MISREAD[name]
    found = departures(task, *said)
    assert found
    assert found[0].step == step, found[:3]
    assert found[0].kind in (DepartureKind.MISREAD, DepartureKind.MISCOPIED)


@pytest.mark.parametrize("name", RIGHT)
def test_a_value_that_is_read_rightly_is_no_departure(name: str) -> None:
    task, said = RIGHT[name]
    assert strong(task, *said) == []


def test_the_sentence_names_the_tool_and_both_values() -> None:
    task, said, _ = MISREAD["digits exchanged"]
    why = departures(task, *said)[0].why
    assert "'a1'" in why
    assert "4,871" in why
    assert "4,817" in why
    assert "'count'" in why
    assert "None" not in why
