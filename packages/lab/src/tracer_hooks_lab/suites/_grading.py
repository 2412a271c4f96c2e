"""Graders of answers that are one value: a number, a fraction, a word, a choice, a list."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final, Literal

from tracer_hooks.answers import final_answer, is_number, number_in, words_of
from tracer_hooks.errors import ConfigError
from tracer_hooks.frameworks import Verdict
from tracer_hooks.tasks import SuiteTask, failed, shown


def items_in(answer: str) -> tuple[str, ...]:
    """The items of a list, separated by commas, or by spaces where there is no comma; brackets and quotes go."""
    inner = answer.strip().removeprefix("[").removesuffix("]").removeprefix("(").removesuffix(")")
    parts = inner.split(",") if "," in inner else inner.split()
    return tuple(item for item in (part.strip(" \t\"'`*") for part in parts) if item)


AnswerKind = Literal["number", "fraction", "word", "choice", "list"]
HOW_TO_ANSWER: Final[Mapping[AnswerKind, str]] = {
    "number": "Work it out step by step, without code. Then end with a line `ANSWER: <number>`.",
    "fraction": "Work it out step by step, without code. Then end with a line `ANSWER: <numerator>/<denominator>`.",
    "word": "End with a line `ANSWER: <word>`.",
    "choice": "End with a line `ANSWER: Yes` or `ANSWER: No`.",
    "list": "End with a line `ANSWER: <item>, <item>, ...`.",
}
"""The last line of a task's text. Small models that are told only how to end give a number without working it out."""


def check_value(task: SuiteTask, text: str) -> Verdict:
    """Compare the final answer in ``text`` with ``task.reference``, by ``task.data["kind"]``.

    Raises:
        ConfigError: The task has no reference or names no kind of answer; an unreadable answer raises nothing.
    """
    kind = task.data.get("kind")
    if task.reference is None or not isinstance(kind, str) or kind not in _GRADERS:
        raise ConfigError(f"task {task.id!r} cannot be graded: expected a reference and a kind of answer, got {kind!r}")
    answer = final_answer(text)
    if not answer:
        return failed("there is no final answer")
    problem = _GRADERS[kind](answer, task)
    return Verdict(passed=True, score=1.0) if problem is None else failed(problem)


def _number(answer: str, task: SuiteTask) -> str | None:
    value, expected = number_in(answer), number_in(task.reference or "")
    if value is None or expected is None:
        return f"{shown(answer)} does not state one number"
    tolerance = task.data.get("tolerance", 0)
    slack = abs(expected) * Fraction(str(tolerance)) if isinstance(tolerance, (int, float)) else Fraction(0)
    return None if abs(value - expected) <= slack else f"{shown(answer)} is not the right number"


def _fraction(answer: str, task: SuiteTask) -> str | None:
    found = re.search(r"(-?\d+)\s*/\s*(\d+)", answer.split("=")[-1])
    if found is None:
        return f"{shown(answer)} is not a fraction"
    return None if f"{found[1]}/{found[2]}" == task.reference else f"{shown(answer)} is not the right fraction"


def _word(answer: str, task: SuiteTask) -> str | None:
    return None if words_of(answer) == words_of(task.reference or "") else f"{shown(answer)} is not the right word"


def _choice(answer: str, task: SuiteTask) -> str | None:
    first = words_of(answer).partition(" ")[0]
    return None if first == words_of(task.reference or "") else f"{shown(answer)} is not the right choice"


def _list(answer: str, task: SuiteTask) -> str | None:
    given, expected = items_in(answer), items_in(task.reference or "")
    if len(given) != len(expected):
        return f"{shown(answer)} has {len(given)} items, not {len(expected)}"
    is_right = all(_same_item(one, other) for one, other in zip(given, expected, strict=True))
    return None if is_right else f"{shown(answer)} is not the right list"


def _same_item(one: str, other: str) -> bool:
    if is_number(one) and is_number(other):
        return number_in(one) == number_in(other)
    return one.casefold() == other.casefold()


_GRADERS: Final[Mapping[str, Callable[[str, SuiteTask], str | None]]] = {
    "number": _number,
    "fraction": _fraction,
    "word": _word,
    "choice": _choice,
    "list": _list,
}
"""Each gives None for a right answer, else what is wrong with it."""
