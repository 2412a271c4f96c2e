"""The tables of the guide say what happens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracer_hooks.values import compare_values

_GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "expected-answers.md"


def _claims() -> Iterator[tuple[str, str, bool]]:
    for line in _GUIDE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 3:
            continue
        expected = re.fullmatch(r"`([^`]+)`", cells[0])
        for passes, cell in ((True, cells[1]), (False, cells[2])):
            for part in re.split(r";\s(?=`)", cell):
                own = re.match(r"`([^`]+)`: (.*)", part)
                if own or expected:
                    value, answers = (own[1], own[2]) if own else (expected[1] if expected else "", part)
                    yield from ((value, answer, passes) for answer in re.findall(r'"([^"]+)"', answers))


@pytest.mark.parametrize(("expected", "answer", "passes"), _claims())
def test_the_tables_of_the_guide_are_true(expected: str, answer: str, passes: bool) -> None:
    assert compare_values(expected, answer).same is passes


def test_the_tables_are_found() -> None:
    assert len(list(_claims())) >= 69


@pytest.mark.parametrize(
    ("answer", "states", "does_not"),
    [
        ("not 17 but 18", "18", "17"),
        ("You asked for 17 of 20 items; I have 9", "9", "17 20"),
        ("3 × 120 + 2 × 55 = 470", "470", "120 55"),
        ("The hotel costs 360 and the meals 110, so 470.", "470", "360 110"),
        ("You need 17 copies. There are 20 students and 3 of them have one.", "17 3", "20"),
        ("There are 20 items, 3 are broken, 17 remain.", "17", "20 3"),
        ("The table has 17 rows and 3 columns.", "3", "17"),
        ("Apollo 11 landed in July 1969.", "11 1969", ""),
        ("Total: 360 + 110 = 470", "470", "360 110"),
        ("470 EUR for 3 nights", "470", "3"),
    ],
)
def test_which_of_several_numbers_counts(answer: str, states: str, does_not: str) -> None:
    assert [number for number in states.split() if not compare_values(number, answer).same] == []
    assert [number for number in does_not.split() if compare_values(number, answer).same] == []
    assert compare_values("17 rows", "The table has 17 rows and 3 columns.").same
