"""The lesson in an agent's instructions."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracer_hooks.errors import ConfigError
from tracer_hooks.repair import Failure, Repair, RepairTarget, RewrittenInstructions, without_lesson
from tracer_hooks.repair._lessons import BEGIN, END, LESSONS
from tracer_hooks.schema import ErrorMode, Evidence

from ._failures import PLANNER, blame, failure, found, run

PLAIN = "You are a solver. Think about the task."
STRICT = "You are a checker. Check the sum. Write one line, nothing else: ANSWER: n."


def rewritten(given: Failure, step: int | None = 1, **options: int) -> Repair:
    repair = RewrittenInstructions(**options).propose(given, step)
    assert repair is not None
    assert repair.target is RepairTarget.INSTRUCTIONS
    return repair


def told(*evidence: Evidence, solver: str = PLAIN, mode: ErrorMode | None = ErrorMode.FM_3_2) -> Repair:
    return rewritten(failure(run(solver=solver), blame(*evidence, mode=mode)))


def block(repair: Repair) -> str:
    return repair.text[repair.text.index(BEGIN) : repair.text.index(END)]


@pytest.mark.parametrize("mode", [*ErrorMode, None])
def test_every_mode_has_a_lesson_of_its_own_and_keeps_the_instructions(mode: ErrorMode | None) -> None:
    repair = told(found("The sum is 42."), mode=mode)
    assert repair.text.startswith(f"{PLAIN}\n\n{BEGIN}")
    assert repair.text.endswith(END)
    assert "- It is wrong. «The sum is 42.»" in repair.text
    assert repair.agent == "solver"
    others = [text for other, text in LESSONS.items() if other is not mode]
    assert not any(text in repair.text for text in others)


def test_lessons_are_different_and_hold_no_number() -> None:
    assert set(LESSONS) == set(ErrorMode)
    assert len(set(LESSONS.values())) == len(LESSONS)
    assert not re.search(r"\d", "".join(LESSONS.values()) + BEGIN + END)


@pytest.mark.parametrize("solver", [PLAIN, STRICT])
def test_a_second_lesson_replaces_the_first(solver: str) -> None:
    first = told(found("x is 42"), solver=solver)
    second = told(found("y is 7"), solver=first.text, mode=ErrorMode.FM_1_3)
    assert second.text.count(BEGIN) == 1
    assert "x is 42" not in second.text
    assert " ".join(without_lesson(second.text).split()) == solver


@pytest.mark.parametrize(
    ("solver", "before", "after"),
    [
        (STRICT, "You are a checker. Check the sum.", "Write one line, nothing else: ANSWER: n."),
        ("You add.\nReply with the number only.\nBe quick.", "You add.", "Reply with the number only.\nBe quick."),
        ("Return JSON objects.", "", "Return JSON objects."),
        ("Add. Always end with DONE.", "Add.", "Always end with DONE."),
    ],
)
def test_what_says_how_to_reply_keeps_the_last_word(solver: str, before: str, after: str) -> None:
    repair = told(solver=solver)
    assert repair.text.partition(BEGIN)[0].strip() == before
    assert repair.text.partition(END)[2].strip() == after
    shown = block(repair)
    assert "Reply in the form that is asked for." in shown
    assert not re.search(r"say so|list for yourself|state|report", shown), "nothing else is asked for"
    assert len(shown) < 260


def test_only_findings_of_the_step_are_quoted() -> None:
    shown = block(
        told(
            found("The sum is 42."),
            found("some sign", kind="sign"),
            found("elsewhere", step=0),
            found("```python"),
            found("--"),
            found("a tool failed", "It says so.", kind="error"),
            found("a third one"),
        )
    )
    assert re.findall("«(.*)»", shown) == ["The sum is 42.", "a tool failed"]


def test_the_agent_of_the_step_is_told_and_the_blamed_one_without_a_step() -> None:
    given = failure(run(solver=PLAIN), blame(found("The sum is 42.")))
    other = rewritten(given, 0)
    assert other.agent == "planner"
    assert other.text.startswith(PLANNER)
    assert "«" not in other.text
    assert LESSONS[ErrorMode.FM_3_2] not in other.text, "the diagnosis is about another step"
    assert rewritten(given, None).text == rewritten(given, 1).text


def test_instructions_that_are_not_known_are_not_replaced() -> None:
    assert RewrittenInstructions().propose(failure(run(solver=None), blame()), 1) is None
    assert rewritten(failure(run(solver=""), blame())).text.startswith(BEGIN)


def test_the_block_is_bounded() -> None:
    quotes = [found(letter * 5_000) for letter in "abc"]
    for bound in (700, 900, 1_200):
        given = failure(run(solver=PLAIN), blame(*quotes))
        assert len(rewritten(given, max_added=bound).text) <= bound + len(PLAIN) + 2
    for mode in ErrorMode:
        given = failure(run(solver=PLAIN), blame(mode=mode))
        assert len(rewritten(given, max_added=700).text) <= 700 + len(PLAIN) + 2
    with pytest.raises(ConfigError, match="700"):
        RewrittenInstructions(max_added=10)


@settings(max_examples=100, deadline=None)
@given(
    quotes=st.lists(
        st.lists(st.sampled_from(["{x}", "{{y}}", BEGIN, END, "«", "»", "a", "\n", "it"]), max_size=6), max_size=4
    )
)
def test_passages_cannot_be_filled_in_or_break_the_block(quotes: list[list[str]]) -> None:
    evidence = [found(" ".join(parts), " ".join(reversed(parts)) or "why") for parts in quotes]
    repair = told(*evidence, solver="You fill in {form}.")
    assert "{" not in block(repair)
    assert "}" not in block(repair)
    assert repair.text.startswith("You fill in {form}.")
    assert (repair.text.count(BEGIN), repair.text.count(END)) == (1, 1)
    assert without_lesson(repair.text) == "You fill in {form}."
