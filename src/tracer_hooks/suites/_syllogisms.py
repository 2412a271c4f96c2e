"""Statements about groups, and whether another one follows from them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tracer_hooks.suites._problems import Generator, Problem
from tracer_hooks.suites._suite import Difficulty

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


def _draw(seed: int, difficulty: Difficulty) -> Problem | None:
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


def _problem(premises: Sequence[Statement], conclusion: Statement, answer: str, names: Sequence[str]) -> Problem:
    lines = [f"{number}. {_said(one, names)}." for number, one in enumerate(premises, start=1)]
    return Problem(
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
    """Whether ``statement`` is true of ``groups``."""
    form, one, other = statement
    return _FORMS[form](groups[one], groups[other])


def _said(statement: Statement, names: Sequence[str]) -> str:
    form, one, other = statement
    return form.format(names[one], names[other])


SYLLOGISMS: Final = Generator(name="syllogisms", draw=_draw)
"""Chains of two to four statements about groups."""
