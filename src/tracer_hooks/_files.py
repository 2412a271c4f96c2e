"""Files and folders written whole or not at all, locked, and readable for their owner alone."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tracer_hooks._guard import logger
from tracer_hooks.config import home_folder


@contextlib.contextmanager
def locked(path: Path, *, waits: bool = True) -> Iterator[bool]:
    """Wait until no other process has ``path`` locked, and have it locked; without ``waits`` tell whether it is.

    The lock is one of the operating system on a hidden file beside ``path``, which itself is replaced when it is
    written. It goes with the process, however that ends. Folders are made.
    """
    beside = path.with_name(f".{path.name}.lock")
    beside.parent.mkdir(parents=True, exist_ok=True)
    handle, is_ours = -1, False
    try:
        while handle < 0:
            handle = os.open(beside, os.O_CREAT | os.O_RDWR, 0o600)
            is_ours = _lock(handle, waits=waits)
            if is_ours and not _is_still(beside, handle):  # whoever had it has removed it, a third one may have another
                os.close(handle)
                handle, is_ours = -1, False
        yield is_ours
    finally:
        if is_ours:
            with contextlib.suppress(PermissionError):  # Windows removes no open file
                beside.unlink(missing_ok=True)
        if handle >= 0:
            os.close(handle)


def _lock(handle: int, *, waits: bool) -> bool:
    while True:
        try:
            if sys.platform == "win32":
                import msvcrt

                msvcrt.locking(handle, msvcrt.LK_LOCK if waits else msvcrt.LK_NBLCK, 1)  # gives up after ten seconds
            else:
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            if not waits:
                return False
            if sys.platform != "win32":
                raise


def _is_still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


HOME = ".tracer_hooks"
"""The folder that is ours, wherever it lies."""
_KINDS = ("attributors", "calibration", "improvement")
"""Folders beside a store that lies elsewhere."""
_FILE, _FOLDER = 0o600, 0o700
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def is_ours(path: str | os.PathLike[str]) -> bool:
    """Tell whether ``path`` is in a folder that we named, not the user."""
    place = Path(os.path.abspath(path))
    if HOME in place.parts:
        return True
    beside = Path(os.path.abspath(home_folder()))
    return any(place == beside / kind or beside / kind in place.parents for kind in _KINDS)


def opener(path: str, flags: int) -> int:
    """For ``open(..., opener=opener)``: a new file of ours is for the owner alone, another is as the umask says."""
    return os.open(path, flags, _FILE if is_ours(path) else 0o666)


def make_folder(folder: Path) -> None:
    """Make ``folder`` and those above it that are missing; those of ours are for the owner alone."""
    for missing in reversed([one for one in (folder, *folder.parents) if not one.exists()]):
        missing.mkdir(mode=_FOLDER if is_ours(missing) else 0o777, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)  # says what stands in the way, where something does


def make_store_file(file: Path) -> None:
    """Make an empty file, with its folder, for the owner alone; what SQLite writes beside it gets the same mode."""
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
    """Tell whether others could do anything with ``path``, and no longer can."""
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


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write every file, or leave every old one as it was.

    All are written beside their places first and renamed only when the last one is on the disk. Folders are made.

    Raises:
        OSError: A file cannot be written, for example since the disk is full; ``filename`` is its place.
    """
    written: dict[Path, Path] = {}
    place = Path()
    try:
        for place, data in files.items():
            make_folder(place.parent)
            _write_beside(place, data, written)
        for place, temporary in written.items():
            temporary.replace(place)
    except OSError as error:
        raise type(error)(error.errno, error.strerror or str(error), str(place)) from error
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


_ASIDE, _NEW, _GONE = "aside", "new", "gone"


def whole_folder(target: Path) -> Path:
    """Return the folder to read for ``target``: itself, or the old one that a killed process has left aside."""
    aside = _beside(target, _ASIDE)
    return aside if not target.exists() and aside.exists() else target


@contextlib.contextmanager
def replaced_folder(target: Path) -> Iterator[Path]:
    """An empty folder to write to, which takes the place of ``target`` at the end; nothing changes on an exception.

    Processes that replace the same folder wait for each other.
    """
    make_folder(target.parent)
    with locked(target):
        _tidy(target)
        new = _beside(target, f"{uuid.uuid4().hex}.{_NEW}")
        make_folder(new)
        try:
            yield new
            for path in filter(Path.is_file, new.rglob("*")):  # before the folder is
                sync(path)
            if target.exists():
                target.rename(_beside(target, _ASIDE))
            new.rename(target)
        finally:
            shutil.rmtree(new, ignore_errors=True)
        _tidy(target)


def remove_folder(target: Path) -> None:
    """Remove ``target``, so that nobody finds a part of it."""
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


def sync(path: Path) -> None:
    """Come back when what was written to a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
