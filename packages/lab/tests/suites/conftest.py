"""Folders of the tests of the sandbox are on the disk, as a user's are: it shows nothing of /dev at all."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        yield Path(folder).resolve()
