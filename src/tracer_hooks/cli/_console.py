"""What the command line gives back: results on stdout, everything else on stderr, and an exit code."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tracer_hooks.errors import StoreError

if TYPE_CHECKING:  # at run time it is imported by those who print: usage errors and --version need no console
    from rich.console import Console

# Exit codes, part of the command line's contract.
DONE: Final = 0
"""Everything was done."""
FAILED: Final = 1
"""Some inputs failed; the rest was done."""
USAGE: Final = 2
"""The command was called wrongly."""
MISSING_EXTRA: Final = 3
"""Something is not installed; the message gives the install line."""


@functools.cache
def out() -> Console:
    """Where results go."""
    from rich.console import Console

    return Console(highlight=False)


@functools.cache
def err() -> Console:
    """Where progress, warnings and errors go."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def print_json(document: Any) -> None:
    """Print one JSON document; ASCII only, so that no terminal encoding can spoil it."""
    json.dump(document, sys.stdout, ensure_ascii=True, indent=2)
    sys.stdout.write("\n")


def write_result(text: str, path: Path | None, *, again: str) -> None:
    """Write a result to a file, and say so; without a file to stdout.

    Args:
        text: The result.
        path: The file; None for stdout.
        again: The command that works, for the message.

    Raises:
        StoreError: The file cannot be written.
    """
    if path is None:
        sys.stdout.write(text)
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {str(path)!r}: {error.strerror}. Run: {again}") from error
    err().print(f"written: {path}", markup=False, soft_wrap=True)
