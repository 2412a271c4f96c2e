"""Calculations that a text writes down without their result."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tracer_hooks.values import expressions_in

OPEN = {
    "(4 * 6) + (3)": [("(4 * 6) + (3)", 27)],
    "The total bill is 5 * 5 + 5 * 5 - 5": [("5 * 5 + 5 * 5 - 5", 45)],
    "What is 3 * 5 + 2?": [("3 * 5 + 2", 17)],
    "3 * 5 + 2 = ?": [("3 * 5 + 2", 17)],
    "Compute 3 times 5 plus 2.": [("3 times 5 plus 2", 17)],
    "1. Add 3 + 4\n2. Then 5 * 6": [("3 + 4", 7), ("5 * 6", 30)],
    "Total: $5 × 3 + $2": [("$5 × 3 + $2", 17)],
    "100 - 10%": [("100 - 10%", 90)],
    "- 3 * 4 + 2": [("3 * 4 + 2", 14)],
    "2 * (3 + 4)": [("2 * (3 + 4)", 14)],
}


@pytest.mark.parametrize("text", OPEN)
def test_a_calculation_without_its_result_is_read(text: str) -> None:
    assert [(one.text, one.value) for one in expressions_in(text)] == OPEN[text]


@pytest.mark.parametrize(
    "text",
    [
        "3 * 5 = 15, 15 + 10 = 25",
        "4 * 9 - 2 + (4 * 9) = 36 - 2 + 36 = 70",
        "300 = 125 + 85 + 90",
        "3 * 5 + 2\n= 17",
        "3 + 4 is 7",
        "Multiply 4 by 8, add 7",
        "f(3) + 4",
        "range(3 * 5)",
        "3 * (4 + n)",
        "x + 5 * 3",
        "2024-118",
        "10-3, 5:2, 3/4 cup, 24/7",
        "2 h + 3 kg",
        "5 / 0",
        "It is not 3 + 4",
        "Use the sum instead of 3 + 4",
        "",
    ],
)
def test_what_has_a_result_or_another_meaning_is_not_read(text: str) -> None:
    assert expressions_in(text) == []


def test_the_parts_are_what_comes_up_on_the_way() -> None:
    (found,) = expressions_in("(4 * 6) + (3)")
    assert found.parts == {Fraction(one) for one in (3, 4, 6, 24, 27)}


def test_a_long_sum_has_its_numbers_as_parts() -> None:
    (found,) = expressions_in(" + ".join(str(one) for one in range(20, 34)))
    assert found.parts == {*map(Fraction, range(20, 34)), Fraction(sum(range(20, 34)))}


def test_places_in_the_tail_of_a_long_text_are_those_of_the_text() -> None:
    text = "word " * 20_000 + "3 * 5 + 2"
    (found,) = expressions_in(text)
    assert text[found.start : found.end] == "3 * 5 + 2"
