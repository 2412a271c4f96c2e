"""JSON files read piece by piece, so that one bad record never hides the good ones beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from tracer_hooks._file_bytes import READ_ERRORS, open_bytes, unreadable
from tracer_hooks._json_text import parse_json, refuse_deep
from tracer_hooks._limits import max_file_bytes, too_large

_BETWEEN = re.compile(r"[\s,]*")
_LINE_SUFFIXES = (".jsonl", ".ndjson")
_CHUNK = 1 << 20


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

    Raises:
        TrajectoryError: The file cannot be opened, or is no regular file.
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
        cleaned = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
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
