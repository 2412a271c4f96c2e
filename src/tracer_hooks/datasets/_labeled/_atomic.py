"""Files of a data set that are either written whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tracer_hooks._atomic_files import write_files
from tracer_hooks.errors import DatasetError


def write_atomically(files: Mapping[Path, bytes]) -> None:
    """Write every file, or leave every old one as it was.

    All are written beside their places first and renamed only when the last one is on the disk. Folders are made.

    Raises:
        DatasetError: A file cannot be written, for example since the disk is full.
    """
    try:
        write_files(files)
    except OSError as error:
        raise DatasetError(
            f"cannot write {str(error.filename)!r}: {error.strerror or error}. The old files are as they were; "
            "make room or choose another folder, and run the command again"
        ) from error
