"""Files that are for their owner alone: the run store, and all that we write beside it without being given a name.

A file that the user names is made as the user's umask says.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from tracer_hooks._guard import logger
from tracer_hooks.config import DEFAULT_STORE, store_path

HOME = ".tracer_hooks"
"""The folder that is ours, wherever it lies."""
_KINDS = ("attributors", "calibration", "improvement")
"""Folders beside a store that lies elsewhere."""

_FILE, _FOLDER = 0o600, 0o700
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def is_ours(path: str | os.PathLike[str]) -> bool:
    """Whether ``path`` is in a folder that we named, not the user."""
    place = Path(os.path.abspath(path))
    if HOME in place.parts:
        return True
    beside = Path(os.path.abspath(store_path() or DEFAULT_STORE)).parent
    return any(place == beside / kind or beside / kind in place.parents for kind in _KINDS)


def opener(path: str, flags: int) -> int:
    """For ``open(..., opener=opener)``: a new file of ours is for the owner alone, another is as the umask says."""
    return os.open(path, flags, _FILE if is_ours(path) else 0o666)


def make_folder(folder: Path) -> None:
    """Make ``folder`` and those above it that are missing; those of ours are for the owner alone.

    Raises:
        OSError: It cannot be made.
    """
    for missing in reversed([one for one in (folder, *folder.parents) if not one.exists()]):
        missing.mkdir(mode=_FOLDER if is_ours(missing) else 0o777, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)  # says what stands in the way, where something does


def make_store_file(file: Path) -> None:
    """Make an empty file, with its folder, for the owner alone; what SQLite writes beside it gets the same mode.

    Raises:
        OSError: It cannot be made.
    """
    if not file.parent.exists():
        make_folder(file.parent.parent)
        file.parent.mkdir(mode=_FOLDER, exist_ok=True)
    with contextlib.suppress(FileExistsError):  # another process was faster, with the same modes
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, _FILE))


def seal(paths: Iterable[Path]) -> None:
    """Take what others may do away from files and folders of ours that somebody else has written."""
    for path in paths:
        if is_ours(path):
            _tighten(path)


def seal_home(file: Path) -> None:
    """Take what others may do away from an older store in our own folder, and say so.

    A store that the user has put elsewhere stays as it is: its folder and its readers are the user's choice.
    """
    if HOME not in file.parts:
        return
    home = Path(*file.parts[: len(file.parts) - file.parts[::-1].index(HOME)])
    beside = [file.with_name(file.name + ending) for ending in ("", "-wal", "-shm")]
    tightened = [path for path in (home, *beside) if _tighten(path)]
    if tightened:
        logger.warning(
            "tracer-hooks made %s readable by you alone: it holds what your teams said. A store that others read, too, "
            "goes into a folder of another name, with TRACER_HOOKS_STORE",
            home,
        )


def _tighten(path: Path) -> bool:
    """Whether others could do anything with ``path``, and no longer can."""
    if os.name == "nt":  # where a mode says nothing of who may read
        return False
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if not mode & _OTHERS:
            return False
        path.chmod(mode & ~_OTHERS)
    except OSError:  # not there, or another user's
        return False
    return True
