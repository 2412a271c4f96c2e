"""Consoles: results to stdout, everything else to stderr."""

from __future__ import annotations

import functools
import json
import sys
from typing import Any

from rich.console import Console


@functools.cache
def out() -> Console:
    """Where results go."""
    return Console(highlight=False)


@functools.cache
def err() -> Console:
    """Where progress, warnings and errors go."""
    return Console(stderr=True, highlight=False)


def print_json(document: Any) -> None:
    """Print one JSON document; ASCII only, so that no terminal encoding can spoil it."""
    json.dump(document, sys.stdout, ensure_ascii=True, indent=2)
    sys.stdout.write("\n")
