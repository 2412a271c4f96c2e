"""What to tell of data that pydantic refuses. Stands beside all layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


def first_problem(error: ValidationError, *, whole: str = "") -> tuple[str, str]:
    """Where the first problem is, and what is wrong there: the others often follow from it.

    Args:
        error: What pydantic raised.
        whole: The place of a problem with the value as a whole.
    """
    first = error.errors(include_url=False)[0]
    return ".".join(map(str, first["loc"])) or whole, str(first["msg"])
