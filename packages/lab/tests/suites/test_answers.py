"""Answers in the forms that models write them."""

import pytest

from tracer_hooks.frameworks import RunResult
from tracer_hooks.tasks import SuiteTask
from tracer_hooks_lab.suites import check_of


def passes(kind: str, reference: str, text: str, **data: float) -> bool:
    task = SuiteTask(id="t", suite="word_sums", text="?", reference=reference, data={"kind": kind, **data})
    return check_of(task)(RunResult(text=text, native=None), "?").passed


@pytest.mark.parametrize(
    "text",
    [
        "ANSWER: 1234", "answer: $1,234.00", "ANSWER: 1234.", "**ANSWER:** 1,234", "**ANSWER: 1234**", "Answer = 1234",
        "ANSWER: `1234`", "ANSWER: 1234 EUR", "ANSWER: €1234", "ANSWER:\n1234", "ANSWER: \\boxed{1234}",
        "so $\\boxed{1{,}234}$".replace("{,}", ","), "The answer is 1234.", "The final answer is: **1,234**.",
        "ANSWER: 1000 + 234 = 1234", "ANSWER: <1234>", "First ANSWER: 5\nNo, better:\nANSWER: 1234", "total: 1234",
        "ANSWER: \\$1234", "ANSWER: $1234$", "ANSWER: 2468/2", "### Answer: 1234",
        "ANSWER: 1234 (17 boxes of 72, plus 10)", "ANSWER: \u00a01234\u202f",
    ],
)  # fmt: skip
def test_a_right_number_in_any_form_passes(text: str) -> None:
    assert passes("number", "1234", text)


@pytest.mark.parametrize(
    "text",
    [
        "ANSWER: 1235", "ANSWER: -1234", "ANSWER: 12.34", "ANSWER: twelve", "1234\nANSWER: 5", "first 1235, then 1234",
        "ANSWER: from 5 boxes 1234", "ANSWER: 1234/0", "ANSWER: 12,34",
    ],
)  # fmt: skip
def test_another_number_or_an_unclear_one_fails(text: str) -> None:
    assert not passes("number", "1234", text)


@pytest.mark.parametrize(
    ("reference", "text"),
    [("-5", "ANSWER: \u22125"), ("-5", "ANSWER: -$5"), ("-5", "ANSWER: $-5"), ("0.5", "ANSWER: .5"), ("0.5", "1/2"),
     ("0.5", "ANSWER: 0,5"), ("0.75", "ANSWER: \\frac{3}{4}"), ("3", "ANSWER: 5 - 2 = 3"), ("20", "ANSWER: 20%")],
)  # fmt: skip
def test_signs_fractions_and_decimal_commas(reference: str, text: str) -> None:
    assert passes("number", reference, text)


def test_a_tolerance_is_relative() -> None:
    assert passes("number", "1.06260575296", "ANSWER: 1.06261", tolerance=1e-5)
    assert not passes("number", "1.06260575296", "ANSWER: 1.0627", tolerance=1e-5)


@pytest.mark.parametrize(
    ("text", "passed"),
    [("ANSWER: 3/4", True), ("ANSWER: $\\frac{3}{4}$", True), ("ANSWER: 6/8 = 3/4", True), ("ANSWER: 6/8", False),
     ("ANSWER: 0.75", False)],
)  # fmt: skip
def test_a_fraction_has_to_be_in_lowest_terms(text: str, passed: bool) -> None:
    assert passes("fraction", "3/4", text) is passed


@pytest.mark.parametrize(
    ("kind", "reference", "text", "passed"),
    [
        ("word", "nus", "ANSWER: **NUS**", True),
        ("word", "nus", 'ANSWER: "nus".', True),
        ("word", "nus", "ANSWER: sun", False),
        ("choice", "Yes", "ANSWER: Yes, it follows.", True),
        ("choice", "Yes", "ANSWER: \\text{Yes}", True),
        ("choice", "Yes", "ANSWER: No, although yes", False),
        ("list", "-2, 1, 30", "ANSWER: [-2, 1.0, 30]", True),
        ("list", "-2, 1, 30", "ANSWER: ['-2', '1', '30']", True),
        ("list", "-2, 1, 30", "ANSWER: -2 1 30", True),
        ("list", "-2, 1, 30", "ANSWER: 1, -2, 30", False),
        ("list", "-2, 1, 30", "ANSWER: -2, 1", False),
        ("list", "knight, knave", "ANSWER: Knight, Knave.", True),
    ],
)
def test_words_choices_and_lists(kind: str, reference: str, text: str, passed: bool) -> None:
    assert passes(kind, reference, text) is passed


def test_a_very_long_text_is_read_at_its_end_in_no_time() -> None:
    assert passes("number", "42", "answer " * 200_000 + "\nANSWER: 42")
    assert not passes("number", "42", "(" * 50_000 + "\\boxed{" * 5_000)
    assert not passes("number", "42", "1,111" * 20_000)
