"""Values written down wrongly, and ends that stand the wrong way round."""

from __future__ import annotations

import pytest

from tracer_hooks.diagnosis._provenance import DepartureKind

from ._teams import Said, departures, strong

COPIED: dict[str, tuple[str, list[Said], int]] = {
    "digits exchanged": (
        "What does it cost?",
        ["7 x 213 EUR = 1,491 EUR", "Good.", "The bill: 1,419 EUR", "1,419 EUR"],
        2,
    ),
    "another unit": ("How much flour?", ["We need 850 g of flour.", "Flour: 850 kg", "850 kg of flour"], 1),
    "an id": (
        "Which order?",
        ["Order ORD-55812 is late.", ("track", {"order": "ORD-55821"}, "in transit"), "ORD-55821 is in transit."],
        1,
    ),
    "a number with another noun": (
        "How far is it?",
        [
            "The way is 13.7 miles, or 22.05 kilometres.",
            "For the poster: 13.7 miles.",
            "Only 13.7 kilometres from here!",
            "13.7 kilometres",
        ],
        2,
    ),
    "an added zero": ("What is the fee?", ["The fee is 1,250 EUR.", "The fee is 12,500 EUR.", "12,500 EUR"], 1),
}

SWAPPED: dict[str, tuple[str, list[Said], int]] = {
    "from and to of the task": (
        "Convert 40 miles to km.",
        ["40 miles to km.", ("convert", {"value": 40, "from": "km", "to": "miles"}, "24.85"), "24.85 km"],
        1,
    )
}

CLEAN: dict[str, tuple[str, list[Said]]] = {
    "a copy": ("What does it cost?", ["7 x 213 EUR = 1,491 EUR", "The bill: 1,491 EUR", "1,491.00 EUR"]),
    "the top of a ranking": ("Which is the purest?", ["K2 > M4 > K9 in purity.", "The highest purity has K2.", "K2"]),
    "the runner-up": ("Who is second?", ["K2 > M4 > K9", "The second best is M4.", "M4"]),
    "a range": ("Set it.", ["2 to 7", ("set_range", {"min": 2, "max": 7}, "ok"), "Lower limit 2."]),
    "the same sides": (
        "Enter the result.",
        [
            ("game", {"no": 12}, '{"winner": "Adler", "loser": "Falken"}'),
            ("enter", {"winner": "Adler", "loser": "Falken"}, "stored"),
            "Adler won.",
        ],
    ),
    "the way back": (
        "Find a flight to Rome and back.",
        [
            (
                "find",
                {"origin": "BER", "destination": "FCO"},
                '{"origin": "BER", "destination": "FCO", "flight": "AZ 12"}',
            ),
            (
                "find",
                {"origin": "FCO", "destination": "BER"},
                '{"origin": "FCO", "destination": "BER", "flight": "AZ 13"}',
            ),
            "AZ 12 and AZ 13",
        ],
    ),
}


@pytest.mark.parametrize("name", COPIED)
def test_a_value_written_down_wrongly_is_found_at_its_step(name: str) -> None:
    task, said, step = COPIED[name]
    found = departures(task, *said)
    assert found
    assert found[0].step == step, found[:3]
    assert found[0].kind in (DepartureKind.MISCOPIED, DepartureKind.MISREAD)


@pytest.mark.parametrize("name", SWAPPED)
def test_ends_the_wrong_way_round_are_found_at_their_call(name: str) -> None:
    task, said, step = SWAPPED[name]
    found = departures(task, *said)
    assert found
    assert found[0].step == step, found[:3]
    assert found[0].kind is DepartureKind.SWAPPED, found[:3]
    assert found[0].strength >= 0.55


@pytest.mark.parametrize("name", CLEAN)
def test_what_is_right_is_no_departure(name: str) -> None:
    task, said = CLEAN[name]
    assert strong(task, *said) == []


def test_a_tool_without_a_name_is_never_called_none() -> None:
    for task, said, _ in (*COPIED.values(), *SWAPPED.values()):
        assert not any("None" in one.why for one in departures(task, *said))
