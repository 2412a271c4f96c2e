"""A file that one process at a time may read, change and write back."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until no other process has ``path`` locked, and have it locked.

    The lock is one of the operating system on a hidden file beside ``path``, which itself is replaced when it is
    written. It goes with the process, however that ends. Folders are made.

    Raises:
        OSError: The hidden file cannot be made or locked.
    """
    beside = path.with_name(f".{path.name}.lock")
    beside.parent.mkdir(parents=True, exist_ok=True)
    if sys.platform == "win32":
        import msvcrt

        with open(beside, "a+b") as file:
            file.seek(0)
            while True:
                try:
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # gives up after ten seconds
                    break
                except OSError:
                    continue
            try:
                yield
            finally:
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
        return
    import fcntl

    handle = -1
    try:
        while handle < 0:
            handle = os.open(beside, os.O_CREAT | os.O_RDWR, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if not _is_still(beside, handle):  # whoever had it has removed it, and a third one may have made another
                os.close(handle)
                handle = -1
        try:
            yield
        finally:
            beside.unlink(missing_ok=True)
    finally:
        if handle >= 0:
            os.close(handle)


def _is_still(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False
