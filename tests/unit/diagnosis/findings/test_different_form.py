"""The expected value in another unit, factor, rounding, notation or order; and values that are no such thing."""

from typing import Any

import pytest

from tracer_hooks.schema import Finding, FindingKind, RunOutcome, Trajectory

from ._runs import found, run_of, say


def told_of(expected: str, got: str, *, task: str = "Work it out.", **fields: Any) -> list[Finding]:
    run = run_of(say("solver", "Let me see."), say("writer", got), task=task, final_output=got, **fields)
    return found(run, FindingKind.DIFFERENT_FORM, reference=expected)


FORMS = [
    ("12", "12000", "factor", "times 1,000"),
    ("12", "FINAL ANSWER: 12,000", "factor", "times 1,000"),
    ("25", "0.25", "factor", "divided by 100"),
    ("1.5", "It takes 90 minutes", "factor", "times 60"),
    ("-5", "5", "factor", "with the other sign"),
    ("0.35", "35 %", "unit", "as a percentage"),
    ("25 %", "0.25", "unit", "without the percent sign"),
    ("12 km", "12000 m", "unit", "in another unit"),
    ("3.14159", "3.14", "rounding", "rounded to 2 decimals"),
    ("17", "16.8", "rounding", "with more decimals"),
    ("42", "forty-two", "notation", "in words"),
    ("3/4", "0.75", "notation", "in another notation"),
    ("2025-06-18", "It is 18 June 2025.", "notation", "in another notation"),
    ("16:05", "4:05 pm", "notation", "in another notation"),
    ("32:14", "The winner is bib 211 with 1934 seconds.", "notation", "in seconds"),
    ("Li Wei", "Wei Li", "order", "in another order"),
    ("Marie Curie", "Curie, Marie", "order", "in another order"),
    ("37", "5 * 8 - 3", "calculation", "not worked out"),
    ("37", "The answer is 5*8-3.", "calculation", "not worked out"),
]


@pytest.mark.parametrize(("expected", "got", "detail", "how"), FORMS)
def test_the_expected_value_in_another_form_is_told(expected: str, got: str, detail: str, how: str) -> None:
    (told,) = told_of(expected, got)
    assert (told.detail, told.step, told.agent, told.leads_to_answer) == (detail, 1, "writer", True)
    assert how in told.text
    assert told.values is not None
    assert told.values.right == expected
    assert str(told.values.claimed) in got
    assert told.quote in got


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ("12", "13"),
        ("12", "12"),
        ("470", "It is 470 EUR."),
        ("1", "100"),
        ("7", "one"),
        ("48", "2"),
        ("12 kg", "12 lb"),
        ("100 USD", "100 EUR"),
        ("2025-06-18", "2025-06-04"),
        ("16:05", "13:40"),
        ("Rome", "12"),
        ("Li Wei", "Li Wen"),
        ("1909, Niels Brandt", "1909"),
        ("12", "12000 of the 15000 rows"),
        ("12", "x" * 1_000 + " 12000"),
    ],
)
def test_another_value_is_no_other_form(expected: str, got: str) -> None:
    assert told_of(expected, got) == []


def test_a_factor_of_time_counts_where_the_task_asks_for_a_unit_of_time() -> None:
    (told,) = told_of("90", "1.5", task="How long does it take, in minutes?")
    assert "divided by 60" in told.text
    assert told_of("90", "1.5") == []


@pytest.mark.parametrize(("expected", "got"), [case[:2] for case in FORMS])
def test_only_a_failed_run_has_an_answer_in_another_form(expected: str, got: str) -> None:
    assert told_of(expected, got, outcome=RunOutcome.SUCCEEDED) == []


@pytest.mark.parametrize("got", ["<b>12000</b>", "\x00\ufffd12000", "12000 " * 200_000, ""])
def test_hostile_answers_do_no_harm(got: str) -> None:
    assert all(told.quote in got for told in told_of("12", got))
    empty = Trajectory(run_id="empty", outcome=RunOutcome.FAILED)
    assert found(empty, FindingKind.DIFFERENT_FORM, reference="12") == []
