"""Tests of the form ``assert EXPRESSION == LITERAL``, and their comparison outside of the sandbox."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracer_hooks.errors import ConfigError
from tracer_hooks.suites._sandbox._outcome import AssertOutcome

ReportLine = Mapping[str, Any]
"""One line of what the process inside reported. The code can write such lines too; it has to know the value."""


@dataclass(frozen=True, kw_only=True)
class ParsedTest:
    """A test, and what its left side has to give."""

    text: str
    expression: str
    expected: Any


def parsed(test: str) -> ParsedTest:
    """``test``, taken apart.

    Raises:
        ConfigError: It has another form.
    """
    try:
        (statement,) = ast.parse(test.strip()).body
        if isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare):
            compare = statement.test
            if len(compare.ops) == 1 and isinstance(compare.ops[0], ast.Eq):
                expected = ast.literal_eval(compare.comparators[0])
                return ParsedTest(text=test, expression=ast.unparse(compare.left), expected=expected)
    except (SyntaxError, ValueError, RecursionError):
        pass
    raise ConfigError(f"a test has to be 'assert EXPRESSION == LITERAL', got {test!r}")


def code_error(lines: Sequence[ReportLine]) -> str | None:
    """What the code raised before any test, None when it ran to its end."""
    return next((str(line["code_error"]) for line in lines if "code_error" in line), None)


def outcomes(tests: Sequence[ParsedTest], lines: Sequence[ReportLine], ending: str | None) -> tuple[AssertOutcome, ...]:
    """How each test ended; ``ending`` is how the process did, None when it ended well.

    The first line about a test counts, and one that the code wrote counts like any other: it gains nothing, since
    only the right value passes, and the process is never told what that is.
    """
    found: dict[int, ReportLine] = {}
    for line in lines:
        number = line.get("test")
        if isinstance(number, int):
            found.setdefault(number, line)
    missing = code_error(lines) or ending or "the process ended before this test"
    return tuple(_outcome(test, found.get(number), missing) for number, test in enumerate(tests))


def _outcome(test: ParsedTest, line: ReportLine | None, missing: str) -> AssertOutcome:
    if line is None:
        return AssertOutcome(test=test.text, passed=False, error=missing)
    value = line.get("value")
    if not isinstance(value, str):
        return AssertOutcome(test=test.text, passed=False, error=str(line.get("error")))
    try:
        passed = bool(ast.literal_eval(value) == test.expected)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):  # the repr of no plain value
        passed = False
    error = None if passed else f"{test.expression} gave {value[:200]}"
    return AssertOutcome(test=test.text, passed=passed, value=value, error=error)
