"""Edits of single sentences: what is fixed stays, whatever a model writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracer_hooks.improvement._rewriter import (
    PromptEdit,
    apply_edits,
    is_about_a_task,
    is_fixed,
    parse_edits,
    protected_words,
    sentences_of,
)

OWN = "You are the planner. Read the task. Turn it into a sum. Write nothing else. Example: 3 * 5 + 2"


@pytest.mark.parametrize(
    ("line", "edit"),
    [
        ("ADD: Mind the units.", PromptEdit(None, "Mind the units.")),
        ("1. ADD: Mind the units.", PromptEdit(None, "Mind the units.")),
        ("- **ADD:** mind the units", PromptEdit(None, "mind the units.")),
        ("[ADD] 'Mind the units.'", PromptEdit(None, "Mind the units.")),
        ("CHANGE 2: Read it twice.", PromptEdit(2, "Read it twice.")),
        ("Replace [2]: Read it twice.", PromptEdit(2, "Read it twice.")),
        ("**CHANGE 2:** Read it twice.", PromptEdit(2, "Read it twice.")),
        ("CHANGE 2: [2] Read it twice.", PromptEdit(2, "Read it twice.")),
        ("DROP 3, for it does harm", PromptEdit(3, "")),
        ("Remove [3].", PromptEdit(3, "")),
    ],
)
def test_lines_of_the_asked_forms_are_read(line: str, edit: PromptEdit) -> None:
    assert parse_edits(f"MISTAKE: it reads badly.\n{line}\n") == [edit]


def test_edits_that_share_a_line_are_told_apart() -> None:
    said = "ADD: Mind the units. CHANGE 2: Read it twice. **DROP 3** ADD: Add well."
    assert parse_edits(said) == [
        PromptEdit(None, "Mind the units."),
        PromptEdit(2, "Read it twice."),
        PromptEdit(3, ""),
        PromptEdit(None, "Add well."),
    ]


def test_a_short_answer_without_marks_is_one_to_add() -> None:
    assert parse_edits("Mind the units of each number.") == [PromptEdit(None, "Mind the units of each number.")]


@pytest.mark.parametrize("answer", ["", "...", "No.", "word " * 200, "CHANGE: what?", "ADD:"])
def test_an_answer_without_edits_holds_none(answer: str) -> None:
    assert parse_edits(answer) == []


def test_a_new_sentence_stands_before_the_rules_for_the_reply() -> None:
    text = apply_edits(OWN, [PromptEdit(None, "Mind the units.")])
    assert text == (
        "You are the planner. Read the task. Turn it into a sum. Mind the units. Write nothing else. Example: 3 * 5 + 2"
    )


def test_in_a_text_of_lines_it_has_a_line_of_its_own() -> None:
    text = apply_edits("You help.\nRead well.\n\nReply in JSON only.", [PromptEdit(None, "Mind the units.")])
    assert text.splitlines()[-1] == "Reply in JSON only."
    assert "Mind the units." in text.splitlines()


@pytest.mark.parametrize(
    ("edits", "after"),
    [
        ([PromptEdit(2, "Read the task twice.")], OWN.replace("Read the task.", "Read the task twice.")),
        ([PromptEdit(2, "")], OWN.replace("Read the task. ", "")),
        *(([PromptEdit(fixed, text)], OWN) for fixed in (1, 4, 5) for text in ("", "Think aloud, and explain.")),
        *(([PromptEdit(missing, "Anything.")], OWN) for missing in (0, 6, 99)),
    ],
)
def test_a_sentence_is_changed_or_dropped_unless_it_is_fixed_or_missing(edits: list[PromptEdit], after: str) -> None:
    assert apply_edits(OWN, edits) == after


@pytest.mark.parametrize(
    ("sentence", "tools"),
    [
        ("Greet {customer} by name.", ()),
        ("Greet {{ customer }} by name.", ()),
        ("Greet %(customer)s by name.", ()),
        ("Say TERMINATE when you are done.", ()),
        ("Look it up with find_price first.", ("find_price",)),
        ("Name the column `price_eur` in it.", ()),
    ],
)
def test_what_code_relies_on_stays(sentence: str, tools: tuple[str, ...]) -> None:
    own = f"You help. {sentence} Be kind."
    assert protected_words(sentence, tools)
    assert (
        apply_edits(own, [PromptEdit(2, "Do something else."), PromptEdit(3, "Be brief.")], tools)
        == f"You help. {sentence} Be brief."
    )


def test_what_is_said_already_is_not_added_again() -> None:
    known = apply_edits(OWN, [PromptEdit(None, "Mind the units of all numbers.")])
    assert apply_edits(known, [PromptEdit(None, "mind the units of all the numbers")]) == known
    assert (
        apply_edits(OWN, [PromptEdit(None, "Mind the units."), PromptEdit(None, "Mind the units.")]).count("Mind") == 1
    )


@given(
    st.text(max_size=300),
    st.lists(st.builds(PromptEdit, st.none() | st.integers(0, 9), st.text(max_size=40)), max_size=5),
)
def test_no_edit_loses_a_fixed_sentence(text: str, edits: list[PromptEdit]) -> None:
    after = apply_edits(text, edits)
    for sentence in sentences_of(text):
        if is_fixed(sentence.text):
            assert sentence.text in after


@given(st.text(max_size=300))
def test_without_edits_a_text_stays_as_it_is(text: str) -> None:
    assert apply_edits(text, []) == text.strip()


TASKS = ["Elif has 4 boxes with 12 pens. How many pens?", "Bruno saves 15 EUR for 3 weeks. How many EUR?"]


@pytest.mark.parametrize(
    "sentence",
    [
        "Take 12 pens.",
        "Remember that Elif has boxes.",
        "Say 15 first.",
        "Do 4 * 12.",
        "In the first task, add.",
        "For this problem, subtract.",
    ],
)
def test_a_sentence_with_values_of_a_task_is_about_it(sentence: str) -> None:
    assert is_about_a_task(sentence, OWN, TASKS)


@pytest.mark.parametrize(
    "sentence",
    [
        "Multiply before you add.",
        "Check each number twice.",
        "Answer in 3 lines.",
        "Use 100 characters at most.",
        "Mind what is spent.",
    ],
)
def test_advice_for_all_tasks_is_not(sentence: str) -> None:
    assert not is_about_a_task(sentence, OWN, TASKS)


def test_numbers_of_what_was_said_are_of_a_task_too() -> None:
    assert is_about_a_task("Never answer 48.", OWN, TASKS, ["4 * 12 = 48"])
    assert not is_about_a_task("Never answer in words.", OWN, TASKS, ["in words"])


def test_what_the_instructions_say_already_is_no_tasks_own() -> None:
    assert not is_about_a_task("Write 12 lines.", "Write 12 lines at most.", TASKS)
