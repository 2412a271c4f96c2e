"""Folders that are replaced as a whole: whoever reads one finds all of it as it was, or all of it as it became.

The new folder is made beside the old one, the old one is moved aside, the new one takes its place, the old one goes.
No system moves two folders at once, so a process that is killed between the two moves leaves the old one aside: there
readers find it (:func:`whole_folder`), and the next change puts it back first.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from tracer_hooks._file_lock import locked
from tracer_hooks._private_files import make_folder

_ASIDE, _NEW, _GONE = "aside", "new", "gone"


def whole_folder(target: Path) -> Path:
    """Where to read ``target``: itself, or the old one that a killed process has left aside."""
    aside = _beside(target, _ASIDE)
    return aside if not target.exists() and aside.exists() else target


@contextlib.contextmanager
def replaced_folder(target: Path) -> Iterator[Path]:
    """An empty folder to write to, which takes the place of ``target`` at the end; nothing changes on an exception.

    Processes that replace the same folder wait for each other.

    Raises:
        OSError: The folder cannot be made or moved.
    """
    make_folder(target.parent)
    with locked(target):
        _tidy(target)
        new = _beside(target, f"{uuid.uuid4().hex}.{_NEW}")
        make_folder(new)
        try:
            yield new
            _flush(new)
            if target.exists():
                target.rename(_beside(target, _ASIDE))
            new.rename(target)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        _tidy(target)


def remove_folder(target: Path) -> None:
    """Remove ``target``, so that nobody finds a part of it.

    Raises:
        OSError: It cannot be removed.
    """
    if not target.parent.exists():
        return
    with locked(target):
        _tidy(target)
        if target.exists():
            _discard(target, target)


def _tidy(target: Path) -> None:
    """Put back, or clear away, what killed processes have left beside ``target``."""
    aside = _beside(target, _ASIDE)
    if aside.exists() and not target.exists():
        aside.rename(target)
    elif aside.exists():
        _discard(aside, target)
    for ending in (_NEW, _GONE):
        for left in target.parent.glob(f".{target.name}.*.{ending}"):
            shutil.rmtree(left, ignore_errors=True)


def _discard(folder: Path, target: Path) -> None:
    # Under another name first: what is removed file by file must not be taken for a whole one.
    gone = _beside(target, f"{uuid.uuid4().hex}.{_GONE}")
    folder.rename(gone)
    shutil.rmtree(gone)


def _beside(target: Path, ending: str) -> Path:
    return target.with_name(f".{target.name}.{ending}")


def _flush(folder: Path) -> None:
    """Have the files on the disk before the folder is."""
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())
