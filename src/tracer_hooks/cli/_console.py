"""What the command line gives back: results on stdout, everything else on stderr, and an exit code."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tracer_hooks._safe_text import in_json
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


_PIPED_WIDTH = 200


@functools.cache
def out() -> Console:
    """Where results go."""
    return _console()


@functools.cache
def out_wide() -> Console:
    """The same for tables: where nobody watches, as in a pipe, they are not cut to the width of a terminal."""
    return out() if out().is_terminal else _console(width=_PIPED_WIDTH)


@functools.cache
def err() -> Console:
    """Where progress, warnings and errors go."""
    return _console(stderr=True)


def _console(**options: Any) -> Console:
    from tracer_hooks.cli._safe_console import SafeConsole

    return SafeConsole(**options)


def print_json(document: Any) -> None:
    """Print one JSON document; ASCII only, so that no terminal encoding can spoil it."""
    json.dump(document, sys.stdout, ensure_ascii=True, indent=2)
    sys.stdout.write("\n")


def write_result(text: str, path: Path | None, *, again: str) -> None:
    """Write a result to a file, and say so; without a file to stdout.

    Args:
        text: The result: JSON or Markdown.
        path: The file; None for stdout.
        again: The command that works, for the message.

    Raises:
        StoreError: The file cannot be written.
    """
    if path is None:
        sys.stdout.write(in_json(text))
        return
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {str(path)!r}: {error.strerror}. Run: {again}") from error
    err().print(f"written: {path}", soft_wrap=True)
