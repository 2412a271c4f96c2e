"""What the command line gives back: results on stdout, everything else on stderr, and an exit code."""

from __future__ import annotations

import functools
import json
import sys
from typing import TYPE_CHECKING, Any, Final

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
