"""Final answers in what a team writes, and their graders: number, fraction, word, choice, list."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final, Literal

from tracer_hooks.errors import ConfigError
from tracer_hooks.frameworks import Verdict
from tracer_hooks.tasks import SuiteTask

_MARKED: Final = re.compile(r"(?i)\banswer\b[*_`]*\s*[:=][ \t]*([^\n]*)(?:\n\s*([^\n]+))?")
_BOXED: Final = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_STATED: Final = re.compile(r"(?i)\banswer\b[*_`]*\s+is\b:?[ \t]*([^\n]+)")
_LATEX_FRACTION: Final = re.compile(r"\\[dt]?frac\s*\{\s*(-?\d+)\s*\}\s*\{\s*(\d+)\s*\}")
_LATEX_TEXT: Final = re.compile(r"\\(?:text|mathrm|mathbf|boldsymbol)\s*\{([^{}]*)\}")
_LATEX_NOISE: Final = re.compile(r"\\[(),;!\[\]]|\\(?=[$%])")
_WRAPPING: Final = " \t\r*_`\"'<>\u201c\u201d\u2018\u2019"
_NUMBER: Final = re.compile(
    r"(?P<sign>(?<![\w)])[-+]\s?)?[$€£]?\s?(?P<minus>-)?"
    r"(?P<whole>\d{1,3}(?:,\d{3})+(?![\d,])|\d+|(?=\.\d))(?P<rest>[.,]\d+)?(?:\s?/\s?(?P<under>\d+))?"
)
MAX_LENGTH: Final = 20_000
"""Characters at the end of a text that are looked at."""


def final_answer(text: str) -> str:
    """The final answer in ``text``, without markup; empty when there is none.

    Looks for the last ``ANSWER: ...`` (the value may stand on the next line), then LaTeX's last ``boxed`` command,
    then the last "the answer is ...", then the last line that is not empty.
    """
    text = text[-MAX_LENGTH:]
    marked = list(_MARKED.finditer(text))
    if marked:
        here, below = marked[-1].groups()
        return without_markup(here) or without_markup(below or "")
    for pattern in (_BOXED, _STATED):
        found = pattern.findall(text)
        if found:
            return without_markup(found[-1])
    lines = [line for line in text.splitlines() if line.strip()]
    return without_markup(lines[-1]) if lines else ""


def without_markup(text: str) -> str:
    """``text`` without Markdown and LaTeX markup, quotes around it, and the full stop at its end."""
    boxed = _BOXED.search(text)
    text = boxed.group(1) if boxed else text
    text = text.replace("\u2212", "-").replace("\u00a0", " ").replace("\u202f", " ")
    text = _LATEX_FRACTION.sub(r"\1/\2", _LATEX_TEXT.sub(r"\1", text))
    text = _LATEX_NOISE.sub("", text).strip(_WRAPPING)
    if text.startswith("$") and text.endswith("$") and len(text) > 1:
        text = text[1:-1]
    return text.strip(_WRAPPING).removesuffix(".").strip(_WRAPPING)


def number_in(answer: str) -> Fraction | None:
    """The number that ``answer`` states, exactly; None when it states none, or several and begins with none of them.

    Reads ``1,234.50``, ``$5``, ``12,5``, ``3/4`` and ``= 7`` at the end of a sum; units around the number are ignored.
    """
    answer = re.split(r"[=≈]", answer)[-1].strip()
    found = [match for match in _NUMBER.finditer(answer) if match.group().strip()]
    values = [value for value in map(_value, found) if value is not None]
    if not values:
        return None
    is_clear = len(set(values)) == 1 or found[0].start() == 0
    return values[0] if is_clear else None


def _value(match: re.Match[str]) -> Fraction | None:
    digits = (match["whole"] or "0").replace(",", "") + (match["rest"] or "").replace(",", ".")
    under = int(match["under"]) if match["under"] and len(match["under"]) < MAX_DIGITS else 1
    if len(digits) > MAX_DIGITS or under == 0:
        return None
    is_negative = (match["sign"] or "").strip() == "-" or match["minus"] is not None
    return Fraction(digits) / under * (-1 if is_negative else 1)


MAX_DIGITS: Final = 400
"""Digits of the longest number that is read; Python refuses to convert very long ones."""


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


def check_reference(task: SuiteTask, text: str) -> Verdict:
    """Compare ``text`` with the reference of a user's own task: a number by its value, other text by its words."""
    assert task.reference is not None, "check_of looks at it"
    answer, expected = final_answer(text), number_in(task.reference)
    if expected is not None and _is_number(task.reference):
        passed = number_in(answer) == expected
    else:
        passed = f" {_words(task.reference)} " in f" {_words(text)} "
    return Verdict(passed=True, score=1.0) if passed else failed(f"{shown(answer)} is not the expected answer")


def failed(reason: str, score: float = 0.0) -> Verdict:
    """A failed verdict."""
    return Verdict(passed=False, reason=reason, score=score)


def shown(answer: str) -> str:
    """``answer`` quoted for a reason, cut to one short line."""
    return repr(answer if len(answer) <= 80 else answer[:77] + "...")


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
    return None if _words(answer) == _words(task.reference or "") else f"{shown(answer)} is not the right word"


def _choice(answer: str, task: SuiteTask) -> str | None:
    first = _words(answer).partition(" ")[0]
    return None if first == _words(task.reference or "") else f"{shown(answer)} is not the right choice"


def _list(answer: str, task: SuiteTask) -> str | None:
    given, expected = items_in(answer), items_in(task.reference or "")
    if len(given) != len(expected):
        return f"{shown(answer)} has {len(given)} items, not {len(expected)}"
    is_right = all(_same_item(one, other) for one, other in zip(given, expected, strict=True))
    return None if is_right else f"{shown(answer)} is not the right list"


def _same_item(one: str, other: str) -> bool:
    if _is_number(one) and _is_number(other):
        return number_in(one) == number_in(other)
    return one.casefold() == other.casefold()


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*[-+]?[$€£]?-?[\d,]*\.?\d+\s*%?\s*", text.replace("\u2212", "-")) is not None


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


_GRADERS: Final[Mapping[str, Callable[[str, SuiteTask], str | None]]] = {
    "number": _number,
    "fraction": _fraction,
    "word": _word,
    "choice": _choice,
    "list": _list,
}
"""Each gives None for a right answer, else what is wrong with it."""
