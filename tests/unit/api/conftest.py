"""What every test of the API gets: no run store, and, on request, a framework of our own making."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracer_hooks.frameworks import _discovery

from ._framework import BenchAdapter, Point


@pytest.fixture(autouse=True, scope="module")
def nothing_lives_on() -> Iterator[None]:
    """Teams whose runs raised hang on their exceptions' frames, in cycles: other tests are to find none of them."""
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def no_store(strict_mode: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACER_HOOKS_STORE", "off")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a run store."""
    return tmp_path / "runs.sqlite"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[BenchAdapter]:
    """The adapter of the framework in ``_framework.py``, installed for one test."""
    adapter = BenchAdapter()
    monkeypatch.setattr(_discovery, "entry_points", lambda group: [Point(adapter)])
    _discovery.find_adapters.cache_clear()
    yield adapter
    monkeypatch.undo()
    _discovery.find_adapters.cache_clear()
