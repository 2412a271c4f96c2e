"""Files in parts that are read by themselves, in any process: whole files, lines of a long one, groups of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tracer_hooks._reading import READ_ERRORS, is_packed, json_lines, json_pieces
from tracer_hooks.datasets._labeled import parquet_groups
from tracer_hooks.datasets._load import PAIRED, files_in, is_trace, load, load_parquet, load_piece
from tracer_hooks.datasets._record import LoadedRecord, read_each
from tracer_hooks.errors import DatasetError, TrajectoryError

_PART_BYTES = 1 << 20
"""Bytes of the lines that are read in one go: a few hundred runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """A file or folder, or some of a file's lines or rows; the parts of a file give what the whole gives."""

    path: Path
    """The file, or a folder that has to be read as a whole."""
    format: str = "auto"
    """What it holds; see :func:`load`."""
    start: int = 0
    """Its first byte; of Parquet, the number of its group of rows."""
    stop: int | None = None
    """Where its lines end; None for a whole file or a group of rows."""
    first: int = 0
    """The number of its first line or row, from 1; 0 for a whole file."""

    @property
    def name(self) -> str:
        """The part in words that stay the same while the file does."""
        return f"{self.path}:{self.format}:{self.start}:{self.stop}:{self.first}"

    def load(self) -> Iterator[LoadedRecord]:
        """Its runs, with the reason in place of those that cannot be read.

        Raises:
            MissingExtraError: The file is Parquet, and ``tracer-hooks[parquet]`` is not installed.
        """
        if not self.first:
            return load(self.path, format=self.format)  # type: ignore[arg-type]
        rows = load_parquet(self.path, group=self.start, first=self.first)
        return read_each(self.path, self._lines() if self.stop is not None else rows)

    def _lines(self) -> Iterator[LoadedRecord]:
        assert self.stop is not None
        for piece in json_lines(self.path, start=self.start, stop=self.stop, first=self.first):
            yield load_piece(piece, f"{self.path}:{piece.line}", self.format)


def parts_of(path: str | Path, *, format: str = "auto") -> Iterator[FilePart]:
    """The parts of a file or folder, in order; what cannot be divided, such as a file of spans, is one part.

    Args:
        path: A file or folder, as :func:`load` takes it.
        format: What the files hold.
    """
    place = Path(path)
    files = [place] if format in PAIRED or not place.is_dir() else list(files_in(place)) or [place]
    for file in files:
        yield from _parts_of_file(file, format)


def _parts_of_file(path: Path, format: str) -> Iterator[FilePart]:
    whole = FilePart(path=path, format=format)
    try:
        if path.suffix == ".parquet":
            sizes = parquet_groups(path)
            first = 1
            for number, rows in enumerate(sizes if len(sizes) > 1 else ()):
                yield FilePart(path=path, format=format, start=number, first=first)
                first += rows
            if len(sizes) > 1:
                return
        elif format not in PAIRED and _is_long_list(path, format):
            yield from _parts_of_lines(path, format)
            return
    except (DatasetError, TrajectoryError, *READ_ERRORS):
        pass  # whoever reads it says why it cannot be read
    yield whole


def _is_long_list(path: Path, format: str) -> bool:
    """Tell whether each line is a run of its own; the spans of one may stand on many lines of a file of spans."""
    if path.suffix not in (".jsonl", ".ndjson") or path.stat().st_size <= _PART_BYTES or is_packed(path):
        return False
    with open(path, "rb") as file:
        if file.readline(64).strip() in (b"", b"{", b"["):
            return False
    return format != "otlp" and not any(is_trace(piece.value) for piece in islice(json_pieces(path), 2))


def _parts_of_lines(path: Path, format: str) -> Iterator[FilePart]:
    start, first = 0, 1
    with open(path, "rb") as file:
        while data := file.read(_PART_BYTES):
            lines = data.count(b"\n")
            while not data.endswith(b"\n") and (data := file.readline(_PART_BYTES)):
                lines += data.count(b"\n")
            stop = file.tell()
            yield FilePart(path=path, format=format, start=start, stop=stop, first=first)
            start, first = stop, first + lines
