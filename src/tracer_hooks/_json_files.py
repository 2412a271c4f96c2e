"""JSON files read piece by piece, so that one bad record never hides the good ones beside it."""

from __future__ import annotations

import gzip
import json
import lzma
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from tracer_hooks.errors import TrajectoryError

_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
READ_ERRORS = (OSError, EOFError, lzma.LZMAError, zlib.error)
"""What opening and unpacking a file may raise."""
_BETWEEN = re.compile(r"[\s,]*")
_LINE_SUFFIXES = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class JsonPiece:
    """One JSON value of a file, or why it could not be read; ``line`` counts from 1."""

    line: int
    value: Any = None
    error: str | None = None


def open_bytes(path: Path) -> IO[bytes]:
    """``path`` opened for reading; gzip and xz are unpacked, whatever the file is called."""
    with open(path, "rb") as file:
        head = file.read(6)
    if head.startswith(_GZIP):
        return cast("IO[bytes]", gzip.open(path, "rb"))
    if head.startswith(_XZ):
        return cast("IO[bytes]", lzma.open(path, "rb"))
    return open(path, "rb")


def read_bytes(path: Path) -> bytes:
    """The whole content of ``path``, unpacked.

    Raises:
        TrajectoryError: The file cannot be read or unpacked.
    """
    try:
        with open_bytes(path) as file:
            return file.read()
    except READ_ERRORS as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: BaseException) -> TrajectoryError:
    """The error for a file that cannot be opened, read or unpacked."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return TrajectoryError(f"cannot read {str(path)!r}: {reason or type(error).__name__}")


def json_pieces(path: Path) -> Iterator[JsonPiece]:
    """Every JSON value of ``path``: one document, one a line, or several documents after one another.

    A line that is not valid gives a piece with ``error``, and the next line goes on; so does the end of a
    file that breaks off. Lines are read as they are asked for, so that a large file never stands in memory.

    Raises:
        TrajectoryError: The file cannot be opened.
    """
    try:
        file = open_bytes(path)
    except READ_ERRORS as error:
        raise unreadable(path, error) from error
    with file:
        line = 0
        try:
            line, first = _first_line(file)
            if not first:
                return
            if _is_by_lines(path, first):
                yield _parse_line(line, first)
                for raw in file:
                    line += 1
                    if raw.strip():
                        yield _parse_line(line, raw)
            else:
                yield from _parse_documents(first + file.read(), line)
        except READ_ERRORS as error:
            yield JsonPiece(line + 1, error=f"the file breaks off: {str(error) or type(error).__name__}")


def _first_line(file: IO[bytes]) -> tuple[int, bytes]:
    for number, raw in enumerate(file, start=1):
        cleaned = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if cleaned.strip():
            return number, cleaned
    return 0, b""


def _is_by_lines(path: Path, first: bytes) -> bool:
    if first.strip() in (b"{", b"["):  # pretty-printed, whatever the file is called
        return False
    if any(suffix in _LINE_SUFFIXES for suffix in path.suffixes):
        return True
    return _parse_line(1, first).error is None


def _parse_line(line: int, raw: bytes) -> JsonPiece:
    try:
        return JsonPiece(line, value=json.loads(raw.decode("utf-8")))
    except (ValueError, RecursionError) as error:
        return JsonPiece(line, error=_why_invalid(error))


def _parse_documents(data: bytes, first_line: int) -> Iterator[JsonPiece]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + data.count(b"\n", 0, error.start)
        yield JsonPiece(line, error=_why_invalid(error))
        return
    decoder, end, line, counted = json.JSONDecoder(), 0, first_line, 0
    while True:
        start = cast("re.Match[str]", _BETWEEN.match(text, end)).end()
        line, counted = line + text.count("\n", counted, start), start
        if start >= len(text):
            return
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            if isinstance(error, json.JSONDecodeError):
                line += text.count("\n", counted, error.pos)
            yield JsonPiece(line, error=_why_invalid(error))
            return
        yield JsonPiece(line, value=value)


def _why_invalid(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not valid JSON: {error.msg} (column {error.colno})"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 text: byte {error.object[error.start]:#04x} at offset {error.start}"
    if isinstance(error, RecursionError):
        return "not readable: nested too deeply"
    return f"not valid JSON: {error}"
