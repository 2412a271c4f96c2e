"""Stores that the tests of this folder start from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tracer_hooks.config import StorePlace, place_of
from tracer_hooks.store import RunStore

from ._runs import make_run

if TYPE_CHECKING:
    from ._server import PostgresServer


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.sqlite"


def own_server() -> Iterator[PostgresServer]:
    """A server, where PostgreSQL is installed; nothing of it waits for the disk."""
    pytest.importorskip("psycopg", reason="no psycopg: pip install 'tracer-hooks[postgres]'")
    from ._server import MISSING, PostgresServer, programs

    if programs() is None:
        pytest.skip(MISSING)
    made = PostgresServer("fsync=off")
    yield made
    made.stop()


server = pytest.fixture(own_server, scope="session", name="server")
"""One for all tests."""
own = pytest.fixture(own_server, name="own")
"""One that a test may kill."""


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, file: Path) -> StorePlace:
    """Where a store is to be: in a file, and in a database."""
    if request.param == "sqlite":
        return file
    return place_of(request.getfixturevalue("server").new_database())


@pytest.fixture
def store(file: Path) -> RunStore:
    """An empty one in a file, of which nothing is on the disk yet."""
    return RunStore(file)


@pytest.fixture
def filled(store: RunStore) -> RunStore:
    """One that holds the run ``run-1``."""
    store.save(make_run())
    return store
