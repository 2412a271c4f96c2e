"""Final answers in what a team writes, and their comparison with the reference of a task."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

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
_MAX_LENGTH: Final = 20_000
"""Characters at the end of a text that are looked at."""


_MAX_DIGITS: Final = 400
"""Digits of the longest number that is read; Python refuses to convert very long ones."""


def final_answer(text: str) -> str:
    """The final answer in ``text``, without markup; empty when there is none.

    Looks for the last ``ANSWER: ...`` (the value may stand on the next line), then LaTeX's last ``boxed`` command,
    then the last "the answer is ...", then the last line that is not empty.
    """
    text = text[-_MAX_LENGTH:]
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
    under = int(match["under"]) if match["under"] and len(match["under"]) < _MAX_DIGITS else 1
    if len(digits) > _MAX_DIGITS or under == 0:
        return None
    is_negative = (match["sign"] or "").strip() == "-" or match["minus"] is not None
    return Fraction(digits) / under * (-1 if is_negative else 1)


def matches_reference(text: str, reference: str) -> bool:
    """Tell whether the answer in ``text`` is the expected one: a number by its value, other text by its words."""
    expected = number_in(reference)
    if expected is not None and is_number(reference):
        return number_in(final_answer(text)) == expected
    return f" {words_of(reference)} " in f" {words_of(text)} "


def is_number(text: str) -> bool:
    """Tell whether ``text`` is one number and nothing else."""
    return re.fullmatch(r"\s*[-+]?[$€£]?-?[\d,]*\.?\d+\s*%?\s*", text.replace("\u2212", "-")) is not None


def words_of(text: str) -> str:
    """The words of ``text`` in lower case, with one space between them."""
    return " ".join(re.findall(r"\w+", text.casefold()))
