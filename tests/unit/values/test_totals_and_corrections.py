"""Totals of records, lists and tables, sums in words, and how a correction is written."""

from __future__ import annotations

import pytest

from tracer_hooks.values import calculations_in


def _wrong(text: str) -> list[str]:
    return [one.correction for one in calculations_in(text) if not one.holds]


def _right(text: str) -> int:
    return sum(one.holds for one in calculations_in(text))


@pytest.mark.parametrize(
    ("text", "correction"),
    [
        ("Rent: 500 EUR\nFood: 200 EUR\nTotal: 750 EUR", "500 EUR + 200 EUR is 700 EUR, not 750 EUR"),
        (
            "| item | year | eur |\n|---|---|---|\n| a | 2001 | 3 |\n| b | 2002 | 5 |\n| Total | 4003 | 9 |",
            "3 + 5 is 8, not 9",  # years are not added up
        ),
    ],
)
def test_a_wrong_total_is_corrected(text: str, correction: str) -> None:
    assert _wrong(text) == [correction]


@pytest.mark.parametrize(
    "text",
    [
        "Rent: 500 EUR\nSubtotal: 500 EUR\nFood: 200 EUR\nTotal: 700 EUR",
        "Lamp: 2 × 30 EUR = 60 EUR\nDesk: 100 EUR\nTotal: 160 EUR",
    ],
)
def test_a_right_total_is_confirmed(text: str) -> None:
    assert _right(text)
    assert _wrong(text) == []


@pytest.mark.parametrize(
    "text",
    [
        '{"scores": [10, 20, 30], "total_pages": 70}',
        '{"scores": [10, 20, 30], "total_results": 50}',
        '{"scores": [10, 20, 30], "summary": 50}',
        '{"order_ids": [3, 4, 5], "total": 14}',
        '{"scores": [10, 20, 30], "limit": 3, "total": 70}',
        '{"prices": [5], "total": 7}',
        '{"quantity": 2, "price": 30, "total": 66.4, "tax": 6.4}',
        '{"discount": 10, "hours": 3, "rate": 20, "total": 50}',
        "Lamp: 2 x 30 EUR\nDesk: 100 EUR\nTotal: 160 EUR",
        "Lamp: 2 at 30 EUR\nDesk: 100 EUR\nTotal: 160 EUR",
        "| item | eur |\n|---|---|\n| a | 3 EUR |\n| b | 5 USD |\n| Total | 9 EUR |",
        "| item | eur |\n|---|---|\n| a | 3 |\n| b | |\n| Total | 9 |",
        "| item | eur |\n|---|---|\n| a | 3 |\n| Total | 9 |",
        "Cloth: 3 kg\nDesk: 4 EUR\nTotal: 10 EUR",
    ],
)
def test_what_may_be_no_total_is_let_be(text: str) -> None:
    assert _wrong(text) == []


@pytest.mark.parametrize(
    ("text", "correction"),
    [
        ("30 min + 45 min = 1.5 h", "30 min + 45 min is 75 min, not 1.5 h"),
        ("500 g + 700 g = 1.3 kg", "500 g + 700 g is 1,200 g, not 1.3 kg"),
        ("90 min / 3 = 0.7 h", "90 min / 3 is 30 min, not 0.7 h"),
        ("30 min + 45 min = 80 min", "30 min + 45 min is 75 min, not 80 min"),
        ("2 h + 30 min = 3.5 h", "2 h + 30 min is 2.5 h, not 3.5 h"),
        ("2 h + 25 min = 2 h 45 min", "2 h + 25 min is 2 h 25 min, not 2 h 45 min"),
        ("2(3 + 4) = 15", "2(3 + 4) is 14, not 15"),
        ("1/3 + 1/3 = 1/3", "1/3 + 1/3 is about 0.67, not 1/3"),
        ("1e-9 × 1e-9 = 5", "1e-9 × 1e-9 is about 1.000e-18, not 5"),
        ("three plus four is eight", "three + four is 7, not eight"),
        ("2e3 kg + 1 kg = 2002e0 kg", "2e3 kg + 1 kg is 2,001 kg, not 2002e0 kg"),
        ("1 ft 2 inch + 3 inch = 1 ft 7 inch", "1 ft 2 inch + 3 inch is 17 inch, not 1 ft 7 inch"),
        ("1234 + 1 = 1300", "1234 + 1 is 1235, not 1300"),
        ("1 234 + 1 = 1 300", "1 234 + 1 is 1 235, not 1 300"),
        ("adding 19 EUR to 100 EUR makes 120 EUR", "100 EUR + 19 EUR is 119 EUR, not 120 EUR"),
        ("adding 5 % to 10 % gives 16 %", "10 % + 5 % is 15 %, not 16 %"),
    ],
)
def test_a_correction_names_the_unit_of_its_value(text: str, correction: str) -> None:
    assert _wrong(text) == [correction]


@pytest.mark.parametrize(
    "text",
    [
        "30 min + 45 min = 1.25 h",
        "2 h + 30 min = 150 min",
        "512 MB + 512 MB = 1 GB",
        "1,234,000 + 1,300,000 = 2.5 million",
        "33 / 100 = 1/3",
        "5/2 = 2½",
        "400,000,000 + 600,000,000 = 1 billion",
        "2(3 + 4) = 14",
        "12 EUR × 3 = 36 USD",  # the rate is not ours to judge
    ],
)
def test_a_result_in_another_unit_or_rounded_holds(text: str) -> None:
    assert _right(text) == 1
    assert _wrong(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "3 ft + 6 in = 42 in",
        "3 EUR + 2 USD = 6 EUR",
        "20% of 50 + 3 = 40",
        "2^100 = 5",
        "2^2.5 = 5",
        "(" * 23 + "1 + 1" + ")" * 23 + " = 3",
        "2024-118 is bad",
        "9-17 = 8 hours",
        "Rule 7 = 2 × faster",
        "x = 3 + 4 + y",
        "2 + 2 is less than 5",
        "In 2019 and 2020 together 5000 people came",
        "2 and 3 make 6",
        "5(2) = 11",
    ],
)
def test_what_is_no_calculation_is_not_judged(text: str) -> None:
    assert _wrong(text) == []
