"""Bounded reading of files of strangers: bytes, JSON and JSON lines, packed or not. Stands beside all layers."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import re
import stat
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from tracer_hooks.errors import ConfigError, TrajectoryError

if TYPE_CHECKING:
    from pydantic import ValidationError

FILE_VARIABLE = "TRACER_HOOKS_MAX_FILE_MB"
_DEFAULT_FILE_MB = 128
MAX_NESTING = 400
"""Levels of lists and objects in one JSON value. Python's own parser gives up near 1,000, fewer in a deep call."""
MAX_SPAN_DEPTH = 180
"""Levels of spans inside spans in the formats that nest them; each takes two levels of JSON."""
MAX_STEPS = 10_000
"""Steps of one run."""
MAX_AGENTS = 1_000
"""Agents that act in one run: what each of them has seen of the others grows with steps times agents."""
MAX_MESSAGE = 400
"""Characters of the reason in an error message."""
MAX_RECORD_BYTES = 1 << 30
"""Bytes that one packed record of the run store may unpack to; what we packed ourselves is far smaller."""


def max_file_bytes() -> int:
    """Bytes that a file may hold, unpacked, to be read as a whole; of JSON lines, one line and a packed file."""
    value = os.environ.get(FILE_VARIABLE) or str(_DEFAULT_FILE_MB)
    if not (value.isascii() and value.isdigit() and 0 < int(value) < 2**40):
        raise ConfigError(f"{FILE_VARIABLE} is {value!r}, expected a whole number of megabytes, 1 or more")
    return int(value) * 1_000_000


def too_many(agents: Sequence[str]) -> str:
    """The reason why a run is not read that has a step by each of ``agents``; empty when it is."""
    if len(agents) > MAX_STEPS:
        return f"the run has {len(agents):,} steps, expected at most {MAX_STEPS:,}"
    different = len(set(agents))
    return f"{different:,} agents act in the run, expected at most {MAX_AGENTS:,}" if different > MAX_AGENTS else ""


def too_large(what: str) -> str:
    """The reason why ``what`` is not read."""
    return f"{what} is larger than {max_file_bytes() // 1_000_000} MB; {FILE_VARIABLE} sets another bound"


def brief(text: str, most: int = MAX_MESSAGE) -> str:
    """``text`` in ``most`` characters, with its middle left out where it is longer: both ends tell something."""
    if len(text) <= most:
        return text
    gap = f" ... {len(text) - most:,} characters left out ... "
    head = (most - len(gap)) * 2 // 3
    return f"{text[:head]}{gap}{text[len(text) - (most - len(gap) - head) :]}"


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


_TOO_DEEP = f"nested too deeply, expected at most {MAX_NESTING} levels"


def parse_json(text: str | bytes) -> Any:
    """Parse ``text`` as JSON.

    Raises:
        ValueError: It is no JSON, or its lists and objects are nested deeper than :data:`MAX_NESTING`: what the parser
            can still read would end the recursion of whoever walks through it.
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    refuse_deep(value)
    return value


def refuse_deep(value: object) -> None:
    """Raise when lists and objects in ``value`` are nested deeper than :data:`MAX_NESTING`."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_NESTING):
        if not level:
            return
        level = [
            item
            for one in level
            for item in (one.values() if isinstance(one, dict) else one)
            if isinstance(item, (dict, list))
        ]
    if level:
        raise ValueError(_TOO_DEEP)


_BETWEEN = re.compile(r"[\s,]*")
_LINE_SUFFIXES = (".jsonl", ".ndjson")
_CHUNK = 1 << 20
_MARK = b"\xef\xbb\xbf"
"""What some programs begin a file in UTF-8 with."""


@dataclass(frozen=True, slots=True)
class JsonPiece:
    """One JSON value of a file, or why it could not be read; ``line`` counts from 1."""

    line: int
    value: Any = None
    error: str | None = None


def json_pieces(path: Path) -> Iterator[JsonPiece]:
    """Every JSON value of ``path``: one document, one a line, or several documents after one another.

    A line that is not valid gives a piece with ``error``, and the next line goes on; so does the end of a
    file that breaks off. Lines are read as they are asked for, so that a large file never stands in memory.
    """
    try:
        file = open_bytes(path)
    except READ_ERRORS as error:
        raise unreadable(path, error) from error
    with file:
        line = 0
        try:
            lines = _lines(file)
            line, first = _first_line(lines)
            if first is None:
                yield JsonPiece(line, error=too_large("the line"))
                yield from _remaining_lines(lines, line)
            elif _is_by_lines(path, first):
                yield _parse_line(line, first)
                for piece in _remaining_lines(lines, line):
                    line = piece.line
                    yield piece
            elif first:
                yield from _parse_documents(_whole(file, first), line)
        except READ_ERRORS as error:
            yield JsonPiece(line + 1, error=f"the file breaks off: {str(error) or type(error).__name__}")


def json_lines(path: Path, *, start: int, stop: int, first: int) -> Iterator[JsonPiece]:
    """The JSON values on the lines of an unpacked file that begin at the byte ``start`` and end at ``stop``.

    Args:
        path: The file.
        start: Where the first line begins, in bytes.
        stop: Where the last line ends.
        first: The number of the first line, from 1.
    """
    try:
        with open_bytes(path) as file:
            file.seek(start)
            lines = _lines(file)
            for line, raw in enumerate(iter(lambda: next(lines, b"") if file.tell() < stop else b"", b""), start=first):
                if raw is None:
                    yield JsonPiece(line, error=too_large("the line"))
                    continue
                cleaned = raw.removeprefix(_MARK) if line == 1 else raw
                if cleaned.strip():
                    yield _parse_line(line, cleaned)
    except READ_ERRORS as error:
        raise unreadable(path, error) from error


def is_packed(path: Path) -> bool:
    """Tell whether :func:`open_bytes` unpacks the file."""
    with open(path, "rb") as file:
        return file.read(6).startswith((_GZIP, _XZ))


def _lines(file: IO[bytes]) -> Iterator[bytes | None]:
    """Each line; None in place of one that is too long to be read."""
    most = max_file_bytes()
    while raw := file.readline(most + 1):
        if len(raw) <= most:
            yield raw
            continue
        while raw and not raw.endswith(b"\n"):
            raw = file.readline(_CHUNK)
        yield None


def _first_line(lines: Iterator[bytes | None]) -> tuple[int, bytes | None]:
    """Number and content of the first line that holds something; the content is empty where none does."""
    for number, raw in enumerate(lines, start=1):
        if raw is None:
            return number, None
        cleaned = raw.removeprefix(_MARK) if number == 1 else raw
        if cleaned.strip():
            return number, cleaned
    return 0, b""


def _remaining_lines(lines: Iterator[bytes | None], before: int) -> Iterator[JsonPiece]:
    for line, raw in enumerate(lines, start=before + 1):
        if raw is None:
            yield JsonPiece(line, error=too_large("the line"))
        elif raw.strip():
            yield _parse_line(line, raw)


def _whole(file: IO[bytes], first: bytes) -> bytes:
    left = max_file_bytes() - len(first)
    rest = file.read(left + 1)
    if len(rest) > left:
        raise OSError(too_large("the document"))
    return first + rest


def _is_by_lines(path: Path, first: bytes) -> bool:
    if not first or first.strip() in (b"{", b"["):  # pretty-printed, whatever the file is called
        return False
    if any(suffix in _LINE_SUFFIXES for suffix in path.suffixes):
        return True
    return _parse_line(1, first).error is None


def _parse_line(line: int, raw: bytes) -> JsonPiece:
    try:
        return JsonPiece(line, value=parse_json(raw.decode("utf-8")))
    except ValueError as error:
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
            refuse_deep(value)
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
    if isinstance(error, RecursionError) or "nested too deeply" in str(error):
        return "not readable: nested too deeply"
    return f"not valid JSON: {error}"


def first_problem(error: ValidationError, *, whole: str = "") -> tuple[str, str]:
    """Return the place of the first problem and what is wrong there: the others often follow from it."""
    first = error.errors(include_url=False)[0]
    return ".".join(map(str, first["loc"])) or whole, str(first["msg"])
