"""Suite ``logic``: puzzles on words, order and truth, and statements about groups."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tracer_hooks_lab.suites._suite import (
    Difficulty,
    Generator,
    ProblemSuite,
    SuiteProblem,
    gym_generator,
    without,
    worded,
)

Group = frozenset[int]
"""A group as its kinds of member; a kind is the set of groups that such a member is in, as bits."""
Statement = tuple[str, int, int]
"""A form, and the two groups that it is about, by number."""
_NAMES: Final = (
    "artists", "bakers", "climbers", "dancers", "engineers", "farmers", "gardeners", "hunters",
    "lawyers", "nurses", "painters", "readers", "sailors", "teachers", "writers",
)  # fmt: skip
_FORMS: Final[Mapping[str, Callable[[Group, Group], bool]]] = {
    "All {} are {}": lambda one, other: one <= other,
    "No {} are {}": lambda one, other: not one & other,
    "Some {} are {}": lambda one, other: bool(one & other),
    "Some {} are not {}": lambda one, other: bool(one - other),
}
_TRIES: Final = 300
"""Sets of premises that are drawn until one has a conclusion of the wanted kind; long chains seldom have one."""
_GROUPS: Final[Mapping[Difficulty, int]] = {"easy": 3, "medium": 4, "hard": 5}


def _draw(seed: int, difficulty: Difficulty) -> SuiteProblem | None:
    source, size = random.Random(seed), _GROUPS[difficulty]
    names = source.sample(_NAMES, size)
    wants_yes = source.random() < 0.5
    for _ in range(_TRIES):
        premises = _premises(source, size, difficulty)
        conclusions = _conclusions(premises, size)
        fitting = [statement for statement, follows in conclusions.items() if follows == wants_yes]
        if fitting:
            return _problem(premises, source.choice(fitting), "Yes" if wants_yes else "No", names)
    return None


def _problem(premises: Sequence[Statement], conclusion: Statement, answer: str, names: Sequence[str]) -> SuiteProblem:
    lines = [f"{number}. {_said(one, names)}." for number, one in enumerate(premises, start=1)]
    return SuiteProblem(
        question="Every group that is named has at least one member. Take these statements as true:\n"
        + "\n".join(lines)
        + f'\nDoes it follow for certain: "{_said(conclusion, names)}"?',
        reference=answer,
        kind="choice",
    )


def _conclusions(premises: Sequence[Statement], size: int) -> dict[Statement, bool]:
    """Every statement about the first and the last group with whether it follows; empty for contradictions."""
    worlds = possible_worlds(premises, size)
    statements = [(form, *pair) for form in _FORMS for pair in ((0, size - 1), (size - 1, 0))]
    return {one: all(holds(one, world) for world in worlds) for one in statements} if worlds else {}


def _premises(source: random.Random, size: int, difficulty: Difficulty) -> list[Statement]:
    forms = list(_FORMS)
    premises: list[Statement] = []
    for place in range(size - 1):
        pair = (place, place + 1) if source.random() < 0.7 else (place + 1, place)
        # Chains of "all" are what a small model can follow.
        premises.append((source.choice(forms[:1] if place and difficulty == "easy" else forms), *pair))
    return premises


def possible_worlds(premises: Sequence[Statement], size: int) -> list[list[Group]]:
    """Ways to fill ``size`` groups so that all premises hold, enough to refute whatever does not follow.

    "All" and "no" forbid kinds of member; the fullest world has all others. A conclusion with "all" or "no" is
    refuted by the fullest world if by any; one with "some" by the fullest world without the kinds that it speaks of.
    """
    kinds = {kind for kind in range(1, 2**size) if _is_allowed(kind, premises)}
    worlds = []
    for absent in [set[int](), *_kinds_that_some_names(kinds, size)]:
        groups = [frozenset(kind for kind in kinds - absent if kind >> place & 1) for place in range(size)]
        if all(groups) and all(holds(premise, groups) for premise in premises):
            worlds.append(groups)
    return worlds


def _kinds_that_some_names(kinds: set[int], size: int) -> list[set[int]]:
    found = []
    for one, other in itertools.permutations(range(size), 2):
        found.append({kind for kind in kinds if kind >> one & 1 and kind >> other & 1})
        found.append({kind for kind in kinds if kind >> one & 1 and not kind >> other & 1})
    return found


def _is_allowed(kind: int, premises: Sequence[Statement]) -> bool:
    for form, one, other in premises:
        in_one, in_other = kind >> one & 1, kind >> other & 1
        if in_one and ((form.startswith("All") and not in_other) or (form.startswith("No ") and in_other)):
            return False
    return True


def holds(statement: Statement, groups: Sequence[Group]) -> bool:
    """Tell whether ``statement`` is true of ``groups``."""
    form, one, other = statement
    return _FORMS[form](groups[one], groups[other])


def _said(statement: Statement, names: Sequence[str]) -> str:
    form, one, other = statement
    return form.format(names[one], names[other])


SYLLOGISMS: Final = Generator(name="syllogisms", draw=_draw)
"""Chains of two to four statements about groups."""
Entry = Mapping[str, Any]


def _letters(entry: Entry) -> SuiteProblem:
    data = entry["metadata"]
    text, letter = " ".join(map(str, data["span"])), str(data["target_letter"])
    return worded(
        f'How many times does the letter "{letter}" occur in "{text}"? Capital and small letters count alike.',
        text.lower().count(letter.lower()),
    )


def _numbers_in_order(entry: Entry) -> SuiteProblem:
    data = entry["metadata"]
    given, in_order = (
        ", ".join(str(number).removesuffix(".0") for number in data[key])
        for key in ("original_numbers", "sorted_numbers")
    )
    return SuiteProblem(
        question=f"Sort these numbers in {data['direction']} order: {given}",
        reference=in_order,
        kind="list",
    )


def _words_in_order(entry: Entry) -> SuiteProblem | None:
    data = entry["metadata"]
    # Put in lower case, and sorted here: few know that ASCII has the capital letters first.
    words = list(dict.fromkeys(str(word).lower() for word in data["transformed_words"]))
    if not all(word.isascii() and word.isalpha() for word in words):  # "_potage_", "naïveté", "1.e"
        return None
    return SuiteProblem(
        question=f"Sort these words in {data['direction']} alphabetical order: {', '.join(words)}",
        reference=", ".join(sorted(words, reverse=data["direction"] == "descending")),
        kind="list",
    )


def _backward(entry: Entry) -> SuiteProblem:
    word = str(entry["metadata"]["word"])
    return SuiteProblem(question=f'Spell the word "{word}" backward.', reference=word[::-1], kind="word")


def _knights(entry: Entry) -> SuiteProblem:
    data = entry["metadata"]
    names, terms = list(map(str, data["names"])), data["knight_knave_terms"]
    roles = [str(terms["knight"] if is_knight else terms["knave"]) for is_knight in data["solution"]]
    question = without(entry["question"], r"\(Format your answer like:[^)]*\)")
    return SuiteProblem(
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
