"""Files that are either written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write every file, or leave every old one as it was.

    All are written beside their places first and renamed only when the last one is on the disk. Folders are made.

    Raises:
        OSError: A file cannot be written, for example since the disk is full; ``filename`` is its place.
    """
    written: dict[Path, Path] = {}
    place = Path()
    try:
        with _removed_at_the_end(written):
            for place, data in files.items():
                place.parent.mkdir(parents=True, exist_ok=True)
                _write_beside(place, data, written)
            for place, temporary in written.items():
                temporary.replace(place)
    except OSError as error:
        raise type(error)(error.errno, error.strerror or str(error), str(place)) from error


@contextlib.contextmanager
def _removed_at_the_end(written: Mapping[Path, Path]) -> Iterator[None]:
    try:
        yield
    finally:
        for temporary in written.values():
            temporary.unlink(missing_ok=True)


def _write_beside(place: Path, data: bytes, written: dict[Path, Path]) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", suffix=".tmp", dir=place.parent)
    written[place] = Path(name)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    mode = place.stat().st_mode & 0o777 if place.exists() else 0o644  # mkstemp's own is for the owner alone
    Path(name).chmod(mode)
