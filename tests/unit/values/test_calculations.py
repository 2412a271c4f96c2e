"""Calculations that a text writes out: which are found, which hold, and what is said of a wrong one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracer_hooks.values import calculations_in

_DATA = Path(__file__).with_name("data")


def _rows(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (_DATA / name).read_text(encoding="utf-8").splitlines()]


_WRONG = [(row["text"], row["right"]) for row in _rows("wrong_calculations.jsonl")]
_RIGHT = [row["text"] for row in _rows("right_calculations.jsonl")]


@pytest.mark.parametrize(("text", "right"), _WRONG)
def test_a_wrong_calculation_is_found_with_its_right_result(text: str, right: str) -> None:
    corrections = [one.correction for one in calculations_in(text) if not one.holds]
    assert any(f" is {right}, not " in one or f" is about {right}, not " in one for one in corrections), corrections


@pytest.mark.parametrize("text", _RIGHT)
def test_a_text_without_a_wrong_calculation_is_not_accused(text: str) -> None:
    assert [one.correction for one in calculations_in(text) if not one.holds] == []


@pytest.mark.parametrize(
    ("text", "correction"),
    [
        ("3 × 120 EUR + 2 × 55 EUR = 430 EUR", "3 × 120 EUR + 2 × 55 EUR is 470 EUR, not 430 EUR"),
        ("\\(\\frac{71 + 84}{2} = 75\\)", "(71 + 84) / 2 is 77.5, not 75"),
        ("(236 + 479 + 88) = 793", "236 + 479 + 88 is 803, not 793"),
        ("1.250,40 € + 849,60 € = 2.200,00 €", "1.250,40 € + 849,60 € is 2.100,00 €, not 2.200,00 €"),
        ("12 400 km + 3 650 km = 16 150 km", "12 400 km + 3 650 km is 16 050 km, not 16 150 km"),
        ("1 h 45 min + 50 min = 2 h 45 min", "1 h 45 min + 50 min is 2 h 35 min, not 2 h 45 min"),
        ("100 / 7 ≈ 14.92", "100 / 7 is about 14.29, not 14.92"),
        ("2^5 × 3 = 86", "2^5 × 3 is 96, not 86"),
        ("Seven times eight is fifty-four.", "Seven × eight is 56, not fifty-four"),
        ("20% of 300 is 45.", "20% of 300 is 60, not 45"),
        ("5 * 7 - 11 = 25 - 11 = 14", "5 × 7 - 11 is 24, and 25 - 11 is 14"),
        ("4 + 4 + 4 = 4^3", "4 + 4 + 4 is 12, and 4^3 is 64"),
        ("| rent | 1,200 |\n| power | 140 |\n| total | 1,430 |", "1,200 + 140 is 1,340, not 1,430"),
    ],
)
def test_a_correction_is_written_like_the_text(text: str, correction: str) -> None:
    assert [one.correction for one in calculations_in(text) if not one.holds] == [correction]


def test_a_place_is_that_of_the_text() -> None:
    text = "Sure: **3 × 120** = \\$350, see above."
    (found,) = calculations_in(text)
    assert text[found.start : found.end].startswith("3 × 120")
    assert text[found.stated.start : found.stated.end] == "$350" == found.stated.text


def test_of_a_long_text_head_and_tail_are_read() -> None:
    text = "12 × 8 = 98. " + "And so on. " * 8_000 + "7 × 9 = 64."
    wrong = [one for one in calculations_in(text) if not one.holds]
    assert [one.correction for one in wrong] == ["12 × 8 is 96, not 98", "7 × 9 is 63, not 64"]
    assert text[wrong[1].start : wrong[1].end] == "7 × 9 = 64"
