"""A server on a store of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ._served import Served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path)
    yield made
    made.server.stop()
