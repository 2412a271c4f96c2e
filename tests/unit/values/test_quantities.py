"""Quantities are read by value, whatever they are written like; what is no amount is left alone."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tracer_hooks.values import Quantity, quantities_in, same_quantity


def _values(text: str) -> list[tuple[Fraction, str | None]]:
    return [(quantity.value, quantity.unit) for quantity in quantities_in(text) if not quantity.is_label]


def _one(text: str) -> Quantity:
    (quantity,) = quantities_in(text)
    return quantity


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("The answer is 4.5", "4.5", None),
        ("1,000", "1000", None),
        ("1 000", "1000", None),
        ("1'000", "1000", None),
        ("1,234.50", "1234.5", None),
        ("1.234.567,5", "1234567.5", None),
        ("1.234,00 EUR", "1234", "EUR"),
        ("12,34,567", "1234567", None),
        ("17,5", "17.5", None),
        ("1.234", "1.234", None),
        ("0,123", "0.123", None),
        ("€1.250", "1250", "EUR"),
        ("1.250 €", "1250", "EUR"),
        ("x = -5", "-5", None),
        ("x=−5", "-5", None),
        ("(-5)", "-5", None),
        ("minus 5", "-5", None),
        ("-$5", "-5", "USD"),
        ("7/8", "7/8", None),
        ("1 1/2 cups", "3/2", None),
        ("½", "1/2", None),
        ("2½", "5/2", None),
        (r"\frac{1}{2}", "1/2", None),
        ("1.2e3", "1200", None),
        ("1.2 × 10^3", "1200", None),
        ("1.2 x 10^-3", "0.0012", None),
        ("1.2·10⁻³", "0.0012", None),
        ("2.5 million", "2500000", None),
        ("1.5k", "1500", None),
        ("$3bn", "3000000000", "USD"),
        ("$1.2B", "1200000000", "USD"),
        ("12%", "12", "%"),
        ("12.5 percent.", "12.5", "%"),
        ("€470", "470", "EUR"),
        ("470 €", "470", "EUR"),
        ("EUR 470", "470", "EUR"),
        ("EUR470", "470", "EUR"),
        ("US$ 470", "470", "USD"),
        ("1200 dollars", "1200", "USD"),
        ("50 cents", "50", "cent"),
        ("5km", "5", "km"),
        ("5 kilometres", "5", "km"),
        ("100 km/h", "100", "km/h"),
        ("5 m²", "5", "m²"),
        ("20 °C", "20", "°C"),
        ("20 degrees Celsius", "20", "°C"),
        ("2 hours and 30 minutes", "150", "min"),
        ("2h 30min", "150", "min"),
        ("3 EUR 50 cents", "350", "cent"),
        ("twelve", "12", None),
        ("Twenty-one of them", "21", None),
        ("three hundred and fifty EUR", "350", "EUR"),
        ("two thousand five hundred", "2500", None),
        ("**18**", "18", None),
        (r"\boxed{18}", "18", None),
        ("$18$", "18", None),
        ("#### 18", "18", None),
        ("on 2024-05-01 there were 3", "3", None),
        ("May 1, 2024 at 14:30: 3", "3", None),
    ],
)
def test_a_quantity_is_read(text: str, value: str, unit: str | None) -> None:
    assert _values(text) == [(Fraction(value), unit)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a142",
        "v1.2.3",
        "192.168.0.1",
        "COVID-19",
        "GPT-4",
        "the 1990s",
        "3rd",
        "2024-05-01",
        "05/01/2024",
        "May 1, 2024",
        "1. Mai 2024",
        "14:30",
        "2.30 pm",
        "+49 30 1234567",
        "555-123-4567",
        "007",
        "0x1F",
        "https://example.org/42/7",
        "1/2/3",
        "1/0",
        "someone, often, height",
        "9" * 300,
    ],
)
def test_what_is_no_amount_is_left_alone(text: str) -> None:
    assert quantities_in(text) == []


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("3 * 120 + 2x55 = 470", "3 120 2 55 470"),
        ("20 - 3 = 17", "20 3 17"),
        ("20-3", "20 3"),
        ("20 minus 3", "20 3"),
        ("2*-3", "2 -3"),
        ("10–20", "10 20"),
        ("1,2,3", "1 2 3"),
        ("| 120 | 3 | 360 |", "120 3 360"),
        ("1.5 and 1,234", "1.5 1234"),
        ("1,5 und 1.234", "1.5 1234"),
        ("two and three", "2 3"),
        ("one two", "1 2"),
        ("Step 2: 20 students", "20"),
        ("1. a\n2. b\n3. So 17", "17"),
    ],
)
def test_several_quantities(text: str, values: str) -> None:
    assert [value for value, _ in _values(text)] == [Fraction(value) for value in values.split()]


def test_a_quantity_says_where_and_how_it_is_written() -> None:
    text = "It costs about -€1,234.50 net"
    quantity = _one(text)
    assert text[quantity.start : quantity.end] == quantity.text == "-€1,234.50"
    assert (quantity.decimals, quantity.is_approximate) == (2, True)
    assert _one("twelve").in_words
    assert _one("Step 2").is_label
    assert _one("#5").is_label


@pytest.mark.parametrize(
    ("expected", "found", "same"),
    [
        ("5 km", "5000 m", True),
        ("5 km", "5 kg", False),
        ("470", "470 EUR", True),
        ("470 EUR", "470", True),
        ("470 EUR", "470 USD", False),
        ("0.50 EUR", "50 cents", True),
        ("£5", "5 pounds", True),
        ("12 %", "0.12", True),
        ("0.12", "12 %", True),
        ("3.14", "3.14159", True),
        ("3.14159", "3.14", False),
        ("3", "3.14", False),
        ("1/3", "0.333", True),
        ("1/3", "0.3", False),
        ("1/3", "33.33 %", True),
        ("7/8", "0.88", False),
        ("20 °C", "68 °F", False),
    ],
)
def test_two_quantities_are_compared_by_value(expected: str, found: str, same: bool) -> None:
    assert same_quantity(_one(expected), _one(found)) is same
