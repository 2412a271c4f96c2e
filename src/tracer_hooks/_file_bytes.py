"""The bytes of a file that a stranger wrote: regular files only, unpacked, and up to a bound."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import stat
import zlib
from pathlib import Path
from typing import IO, Any, cast

from tracer_hooks._limits import max_file_bytes, too_large
from tracer_hooks.errors import TrajectoryError

_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
READ_ERRORS = (OSError, EOFError, lzma.LZMAError, zlib.error)
"""What opening and unpacking a file may raise."""
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def open_bytes(path: Path) -> IO[bytes]:
    """``path`` opened for reading; gzip and xz are unpacked, up to a bound, whatever the file is called.

    Raises:
        OSError: It cannot be opened, or is no regular file: a pipe may have no writer for ever, and a device no end.
    """
    refuse_special(path)
    with open(path, "rb") as file:
        head = file.read(6)
    if head.startswith(_GZIP):
        return _bounded(cast("IO[bytes]", gzip.open(path, "rb")))
    if head.startswith(_XZ):
        return _bounded(cast("IO[bytes]", lzma.open(path, "rb")))
    return open(path, "rb")


def refuse_special(path: str | os.PathLike[str]) -> None:
    """Raise for what is neither a regular file nor a folder, without opening it.

    Raises:
        OSError: It is a pipe, a socket or a device, or there is nothing of this name.
    """
    try:
        kind = _KINDS.get(stat.S_IFMT(os.stat(path).st_mode))
    except ValueError as error:
        raise OSError(f"no file can have this name: {error}") from error
    if kind is not None:
        raise OSError(f"it is {kind}, expected a regular file")


def read_bytes(path: Path) -> bytes:
    """The whole content of ``path``, unpacked.

    Raises:
        TrajectoryError: The file cannot be read or unpacked, or is larger than is read.
    """
    most = max_file_bytes()
    try:
        with open_bytes(path) as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise OSError(too_large("the file"))
    except READ_ERRORS as error:
        raise unreadable(path, error) from error
    return data


def unreadable(path: Path, error: BaseException) -> TrajectoryError:
    """The error for a file that cannot be opened, read or unpacked."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return TrajectoryError(f"cannot read {str(path)!r}: {reason or type(error).__name__}")


def _bounded(packed: IO[bytes]) -> IO[bytes]:
    return cast("IO[bytes]", io.BufferedReader(_Bounded(packed)))


class _Bounded(io.RawIOBase):
    """An unpacked stream that ends with an error where it grows beyond the bound."""

    def __init__(self, packed: IO[bytes]) -> None:
        super().__init__()
        self._packed = packed
        self._left = max_file_bytes()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._packed.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise OSError(too_large("what is packed in the file"))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._packed.close()
        super().close()
