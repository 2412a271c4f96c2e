import pytest

from tracer_hooks.frameworks import RunResult
from tracer_hooks.tasks import SuiteTask
from tracer_hooks_lab.suites import check_of


def passes(kind: str, reference: str, text: str, **data: float) -> bool:
    task = SuiteTask(id="t", suite="word_sums", text="?", reference=reference, data={"kind": kind, **data})
    return check_of(task)(RunResult(text=text, native=None), "?").passed


RIGHT = (
    "ANSWER: 1234", "answer: $1,234.00", "ANSWER: 1234.", "**ANSWER:** 1,234", "**ANSWER: 1234**", "Answer = 1234",
    "ANSWER: `1234`", "ANSWER: 1234 EUR", "ANSWER: €1234", "ANSWER:\n1234", "ANSWER: \\boxed{1234}",
    "so $\\boxed{1,234}$", "The answer is 1234.", "The final answer is: **1,234**.",
    "ANSWER: 1000 + 234 = 1234", "ANSWER: <1234>", "First ANSWER: 5\nNo, better:\nANSWER: 1234", "total: 1234",
    "ANSWER: \\$1234", "ANSWER: $1234$", "ANSWER: 2468/2", "### Answer: 1234",
    "ANSWER: 1234 (17 boxes of 72, plus 10)", "ANSWER: \u00a01234\u202f",
)  # fmt: skip
WRONG = (
    "ANSWER: 1235", "ANSWER: -1234", "ANSWER: 12.34", "ANSWER: twelve", "1234\nANSWER: 5", "first 1235, then 1234",
    "ANSWER: from 5 boxes 1234", "ANSWER: 1234/0", "ANSWER: 12,34",
)  # fmt: skip
SIGNED = (
    ("-5", "ANSWER: \u22125"), ("-5", "ANSWER: -$5"), ("-5", "ANSWER: $-5"), ("0.5", "ANSWER: .5"), ("0.5", "1/2"),
    ("0.5", "ANSWER: 0,5"), ("0.75", "ANSWER: \\frac{3}{4}"), ("3", "ANSWER: 5 - 2 = 3"), ("20", "ANSWER: 20%"),
)  # fmt: skip
IN_LOWEST_TERMS = ("ANSWER: 3/4", "ANSWER: $\\frac{3}{4}$", "ANSWER: 6/8 = 3/4")


@pytest.mark.parametrize(
    ("kind", "reference", "text", "passed"),
    [
        *(("number", "1234", text, text in RIGHT) for text in (*RIGHT, *WRONG)),
        *(("number", reference, text, True) for reference, text in SIGNED),
        *(("fraction", "3/4", text, text in IN_LOWEST_TERMS) for text in (*IN_LOWEST_TERMS, "ANSWER: 6/8", "0.75")),
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
def test_an_answer_in_any_form_is_read(kind: str, reference: str, text: str, passed: bool) -> None:
    assert passes(kind, reference, text) is passed


def test_a_tolerance_is_relative_and_a_very_long_text_is_read_at_its_end_in_no_time() -> None:
    assert passes("number", "1.06260575296", "ANSWER: 1.06261", tolerance=1e-5)
    assert not passes("number", "1.06260575296", "ANSWER: 1.0627", tolerance=1e-5)
    assert passes("number", "42", "answer " * 200_000 + "\nANSWER: 42")
    assert not passes("number", "42", "(" * 50_000 + "\\boxed{" * 5_000)
    assert not passes("number", "42", "1,111" * 20_000)
