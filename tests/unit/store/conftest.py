"""Stores that the tests of this folder start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracer_hooks.store import RunStore

from ._runs import make_run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


@pytest.fixture
def store(file: Path) -> RunStore:
    """An empty one, of which nothing is on the disk yet."""
    return RunStore(file)


@pytest.fixture
def filled(store: RunStore) -> RunStore:
    """One that holds the run ``run-1``."""
    store.save(make_run())
    return store
