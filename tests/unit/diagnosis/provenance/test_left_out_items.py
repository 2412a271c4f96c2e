"""A step that hands a list on without one of its items."""

from __future__ import annotations

import pytest

from tracer_hooks.diagnosis._provenance import DepartureKind

from ._teams import Said, departures, strong

DROPPED: dict[str, tuple[str, list[Said], int]] = {
    "bullets to a sum": (
        "Add up the four invoices.",
        [
            "- March: 310.40\n- April: 287.15\n- May: 401.90\n- June: 120.00",
            "Four invoices, all approved.",
            "310.40 + 287.15 + 120.00 = 717.55",
            "717.55",
        ],
        2,
    ),
    "bullets to bullets, the total later": (
        "What do the four invoices come to in total?",
        [
            "- March: 310.40\n- April: 287.15\n- May: 401.90\n- June: 120.00",
            "* March 310.40\n* April 287.15\n* June 120.00",
            "310.40 + 287.15 + 120.00 = 717.55",
            "717.55",
        ],
        1,
    ),
    "a sentence to a sentence": (
        "Who comes along on the tour?",
        [
            "Signed up: Mira, Jost, Anouk and Tarik.",
            "Two cars are enough.",
            "Coming along: Mira, Jost and Tarik.",
            "Mira, Jost and Tarik come along.",
        ],
        2,
    ),
    "a total in prose": (
        "How many copies were sold altogether?",
        [
            ("sales", {}, '{"north": 412, "south": 385, "east": 267, "west": 198}'),
            "Sales are in.",
            "Altogether 995 copies were sold.",
            "995 copies",
        ],
        2,
    ),
    "a mean of too few": (
        "What was the average temperature of the four days?",
        ["Mon 14.5, Tue 17.5, Wed 21.0, Thu 19.0", "(14.5 + 17.5 + 19.0) / 3 = 17.0", "17.0"],
        1,
    ),
    "JSON names": (
        "Which guests need a room?",
        [
            '["Okoro", "Bianchi", "Svoboda", "Laurent"]',
            "Rooms are free.",
            '["Okoro", "Bianchi", "Laurent"]',
            "Okoro, Bianchi and Laurent need a room.",
        ],
        2,
    ),
    "an argument of a call": (
        "What do the five sacks weigh in all?",
        [
            "Sacks: 25 kg, 40 kg, 18 kg, 33 kg and 21 kg.",
            ("add", {"values": [25, 40, 33, 21]}, "119"),
            "119 kg in all.",
            "119 kg",
        ],
        1,
    ),
}

KEPT: dict[str, tuple[str, list[Said]]] = {
    "all are there": (
        "Add up the four invoices.",
        [
            "- March: 310.40\n- April: 287.15\n- May: 401.90\n- June: 120.00",
            "310.40 + 287.15 + 401.90 + 120.00 = 1119.45",
            "1119.45",
        ],
    ),
    "left out for a reason": (
        "What do the trips cost in total?",
        [
            "Trips: Graz 120 EUR, Linz 90 EUR, Wels 75 EUR, Enns 60 EUR. The trip to Wels was cancelled.",
            "120 + 90 + 60 = 270",
            "270 EUR",
        ],
    ),
    "excluded by the task": (
        "Sum up the deductible costs: books 330, fees 450, desk 1,000. The gym (600) is not deductible.",
        ["Deductible: books, fees, desk.", "330 + 450 + 1,000 = 1,780", "1,780"],
    ),
    "filtered": (
        "Which of the offers is the cheapest?",
        [
            "Offers: Alpha 410 EUR, Bravo 395 EUR, Celta 430 EUR.",
            "Alpha and Bravo are close: 410 EUR, 395 EUR.",
            "Bravo, 395 EUR.",
        ],
    ),
    "facts about one thing": (
        "What is the invoice number?",
        ["Invoice INV-20871, due 3 Feb 2025, 18,250 NOK.", "Number: INV-20871, amount 18,250 NOK.", "INV-20871"],
    ),
    "a subtotal on the way": (
        "How many pages altogether?",
        ["Parts: 52, 41, 63, 28, 78 pages.", "52 + 41 = 93, + 63 = 156, + 28 = 184, + 78 = 262.", "262 pages"],
    ),
}


@pytest.mark.parametrize("name", DROPPED)
def test_the_first_step_without_the_item_is_found(name: str) -> None:
    task, said, step = DROPPED[name]
    found = departures(task, *said)
    assert found
    assert found[0].step == step, found[:3]
    assert found[0].kind is DepartureKind.DROPPED


@pytest.mark.parametrize("name", KEPT)
def test_nothing_is_missed_where_all_is_there_or_left_out_for_a_reason(name: str) -> None:
    task, said = KEPT[name]
    assert [one for one in strong(task, *said) if one.kind is DepartureKind.DROPPED] == []


def test_the_sentence_names_what_is_missing_and_who_left_it_out() -> None:
    task, said, _ = DROPPED["a sentence to a sentence"]
    found = departures(task, *said)[0]
    assert "'a2'" in found.why
    assert "Anouk" in found.why
    assert found.sources == (0,)
