"""The kinds by name, which is that of their file; a kind's framework is loaded when a test first asks for the kind."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from ._kind import Kind

NAMES = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))


def load(name: str) -> Kind:
    """The kind in the file ``name``; the test fails where a package is missing."""
    try:
        module = importlib.import_module(f".{name}", __package__)
    except ImportError as error:
        fail_for_missing(error)
    kind: Kind = module.KIND
    return kind


def fail_for_missing(error: ImportError) -> None:
    """Fail, and say what helps."""
    pytest.fail(f"{error}. This test needs every package of the extra 'dev': run `make setup`")
