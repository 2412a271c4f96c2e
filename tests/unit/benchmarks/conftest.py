"""Modules that lie beside the benchmarks' scripts."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def load() -> Iterator[Callable[[str], ModuleType]]:
    """Imports such a module; what was imported is forgotten with the test's module."""
    sys.path.insert(0, str(BENCHMARKS))
    known = set(sys.modules)
    yield importlib.import_module
    sys.path.remove(str(BENCHMARKS))
    for name in sys.modules.keys() - known:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
