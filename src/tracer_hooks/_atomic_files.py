"""Files that are either written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

from tracer_hooks._private_files import make_folder, opener


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
                make_folder(place.parent)
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
    temporary = place.with_name(f".{place.name}.{uuid.uuid4().hex}.tmp")
    written[place] = temporary
    # Not by tempfile, whose files are for the owner alone: a file that the user names is as the umask says.
    with open(temporary, "xb", opener=opener) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if place.exists():
        temporary.chmod(place.stat().st_mode & 0o777)
