"""Whether a text is Python."""

from __future__ import annotations

import ast
import re
import warnings

_STATEMENT = re.compile(r"(?m)^\s*(?:def |class |import |from \w+ import|return\b|for .*:|if .*:|while .*:|\w+ = )")


def parsed(code: str) -> ast.Module | None:
    """The syntax tree of ``code``; None when it is no valid Python. Warnings about its style stay silent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def is_code(text: str) -> bool:
    """Whether a whole text is Python with a statement in it; prose of one word parses as well."""
    return _STATEMENT.search(text) is not None and parsed(text) is not None
