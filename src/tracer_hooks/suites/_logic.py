"""The suite ``logic``: puzzles on words, order and truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracer_hooks.suites._gym import gym_generator, without, worded
from tracer_hooks.suites._problems import Problem, ProblemSuite
from tracer_hooks.suites._syllogisms import SYLLOGISMS

Entry = Mapping[str, Any]


def _letters(entry: Entry) -> Problem:
    data = entry["metadata"]
    text, letter = " ".join(map(str, data["span"])), str(data["target_letter"])
    return worded(
        f'How many times does the letter "{letter}" occur in "{text}"? Capital and small letters count alike.',
        text.lower().count(letter.lower()),
    )


def _numbers_in_order(entry: Entry) -> Problem:
    data = entry["metadata"]
    given, in_order = (
        ", ".join(str(number).removesuffix(".0") for number in data[key])
        for key in ("original_numbers", "sorted_numbers")
    )
    return Problem(
        question=f"Sort these numbers in {data['direction']} order: {given}",
        reference=in_order,
        kind="list",
    )


def _words_in_order(entry: Entry) -> Problem | None:
    data = entry["metadata"]
    # Put in lower case, and sorted here: few know that ASCII has the capital letters first.
    words = list(dict.fromkeys(str(word).lower() for word in data["transformed_words"]))
    if not all(word.isascii() and word.isalpha() for word in words):  # "_potage_", "naïveté", "1.e"
        return None
    return Problem(
        question=f"Sort these words in {data['direction']} alphabetical order: {', '.join(words)}",
        reference=", ".join(sorted(words, reverse=data["direction"] == "descending")),
        kind="list",
    )


def _backward(entry: Entry) -> Problem:
    word = str(entry["metadata"]["word"])
    return Problem(question=f'Spell the word "{word}" backward.', reference=word[::-1], kind="word")


def _knights(entry: Entry) -> Problem:
    data = entry["metadata"]
    names, terms = list(map(str, data["names"])), data["knight_knave_terms"]
    roles = [str(terms["knight"] if is_knight else terms["knave"]) for is_knight in data["solution"]]
    question = without(entry["question"], r"\(Format your answer like:[^)]*\)")
    return Problem(
        question=f"{question}\nGive one role for each, in this order: {', '.join(names)}.",
        reference=", ".join(roles),
        kind="list",
    )


LOGIC: Final = ProblemSuite(
    name="logic",
    description="Syllogisms, liars, letters, and sorting, most of them from reasoning-gym.",
    generators=(
        SYLLOGISMS,
        gym_generator("letter_counting", {
            "easy": {"min_words": 2, "max_words": 4},
            "medium": {"min_words": 5, "max_words": 9},
            "hard": {"min_words": 10, "max_words": 18},
        }, _letters),
        gym_generator("number_sorting", {
            "easy": {"min_numbers": 3, "max_numbers": 4, "max_decimals": 0},
            "medium": {"min_numbers": 5, "max_numbers": 7, "max_decimals": 1},
            "hard": {"min_numbers": 8, "max_numbers": 12},
        }, _numbers_in_order),
        gym_generator("spell_backward", {
            "easy": {"min_word_len": 3, "max_word_len": 4},
            "medium": {"min_word_len": 5, "max_word_len": 7},
            "hard": {"min_word_len": 8, "max_word_len": 10},
        }, _backward),
        gym_generator("word_sorting", {
            "easy": {"min_words": 3, "max_words": 3},
            "medium": {"min_words": 4, "max_words": 6},
            "hard": {"min_words": 7, "max_words": 10},
        }, _words_in_order),
        gym_generator("knights_knaves", {
            "easy": {"n_people": 2},
            "medium": {"n_people": 2},
            "hard": {"n_people": 3},
        }, _knights),
    ),
)  # fmt: skip
"""Puzzles whose answers are exact."""
