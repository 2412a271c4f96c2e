"""Reading of files and folders of trajectories in any format, whole or in parts; bad records are set apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, get_args

from tracer_hooks._reading import READ_ERRORS, JsonPiece, is_packed, json_lines, json_pieces, open_bytes
from tracer_hooks.datasets._conversations import (
    agentrx_key,
    is_agentrx_annotation,
    is_agentrx_trajectory,
    read_aegis,
    read_agentrx,
    read_whowhen,
)
from tracer_hooks.datasets._labeled import labeled_row, parquet_groups, parquet_rows
from tracer_hooks.datasets._record import LoadedRecord, read_each, read_record, refused, why
from tracer_hooks.datasets._trail import is_trail_annotation, is_trail_row, is_trail_trace, read_trail, trail_key
from tracer_hooks.errors import ConfigError, DatasetError, TrajectoryError
from tracer_hooks.schema import KEPT_BESIDE, LabeledTrajectory, Trajectory, from_dict
from tracer_hooks.telemetry import SpanRecord, assemble, is_otlp, normalise, scan_otlp

_LINES = (".jsonl", ".ndjson")
_Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    is_run: Callable[[_Data], bool]
    is_annotation: Callable[[_Data], bool]
    key: Callable[[_Data], str]
    read: Callable[[_Data, str, _Data | None], LoadedRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    path: Path
    source: str
    value: Any = None
    error: str | None = None


_LAYOUTS = {
    "agentrx": _Layout(
        is_run=is_agentrx_trajectory, is_annotation=is_agentrx_annotation, key=agentrx_key, read=read_agentrx
    ),
    "trail": _Layout(
        is_run=lambda data: is_trail_row(data) or is_trail_trace(data),
        is_annotation=is_trail_annotation,
        key=trail_key,
        read=read_trail,
    ),
}
PAIRED: tuple[str, ...] = tuple(_LAYOUTS)
"""The formats that :func:`load_pairs` reads."""


def load_pairs(files: Iterable[Path], format: str) -> Iterator[LoadedRecord]:
    """Every run of ``files`` with the annotation that belongs to it, which may stand in another of them.

    They belong together when they have the same id or, when the annotation has none, files of the same name. A run
    without annotation has no label; an annotation without run, like everything damaged, is an error.
    """
    layout, files = _LAYOUTS[format], list(files)
    annotations = dict(_annotations(files, layout))
    for item in _items(files):
        if item.error is not None:
            yield refused(item.source, item.error)
        elif not isinstance(item.value, Mapping) or not (layout.is_run(item.value) or layout.is_annotation(item.value)):
            yield refused(item.source, f"expected a run or an annotation of format {format!r}")
        elif layout.is_run(item.value):
            key = layout.key(item.value)
            found = annotations.pop(key, None) if key in annotations else annotations.pop(item.path.stem, None)
            annotation = None if found is None else found.value
            yield read_record(item.source, partial(layout.read, item.value, item.source, annotation))
    for key, item in annotations.items():
        yield refused(item.source, f"there is no run {key!r} to this annotation")


def _annotations(files: Iterable[Path], layout: _Layout) -> Iterator[tuple[str, _Item]]:
    for item in _items(files):
        value = item.value
        if isinstance(value, Mapping) and layout.is_annotation(value) and not layout.is_run(value):
            yield layout.key(value) or item.path.stem, item


def _items(files: Iterable[Path]) -> Iterator[_Item]:
    for path in files:
        found = False
        try:
            for item in _pieces(path):
                for record in _opened(item):
                    found = True
                    yield record
            if not found:
                yield _Item(path=path, source=str(path), error="the file holds no record")
        except TrajectoryError as error:
            yield _Item(path=path, source=str(path), error=str(error))


def _pieces(path: Path) -> Iterator[_Item]:
    by_line = any(suffix in _LINES for suffix in path.suffixes)
    for piece in json_pieces(path):
        source = f"{path}:{piece.line}" if by_line else str(path)
        yield _Item(path=path, source=source, value=piece.value, error=piece.error)


def _opened(item: _Item) -> Iterator[_Item]:
    """A list as its items."""
    if not isinstance(item.value, list):
        yield item
        return
    for position, value in enumerate(item.value):
        yield replace(item, source=f"{item.source}#{position}", value=value)


def is_trace(value: object) -> bool:
    """Tell whether a JSON value holds spans."""
    return is_otlp(value[0]) if isinstance(value, list) and value else is_otlp(value)


def read_traces(path: Path) -> Iterator[LoadedRecord]:
    """The runs in an OTLP file; then an error for each of its parts that could not be read."""
    content = scan_otlp(path)
    runs = list(runs_of(content.spans, path))
    if content.spans and not runs:
        yield refused(path, f"it holds {len(content.spans)} spans, {NO_RUN}")
    yield from runs
    for error in content.errors:
        yield refused(path, str(error))


NO_RUN = "none of an agent, model call or tool: expected GenAI, OpenInference, OpenLLMetry or MLflow attributes"
"""What is said of spans that hold no run."""


def runs_of(spans: Sequence[SpanRecord], source: object) -> Iterator[LoadedRecord]:
    """The runs among spans that came from ``source``, with the reason in place of those that cannot be read."""
    runs = list(_runs_of(spans))
    for number, run in enumerate(runs):
        place = str(source) if len(runs) == 1 else f"{source}#{number}"
        yield LoadedRecord(source=place, trajectory=run) if isinstance(run, Trajectory) else refused(place, run)


def _runs_of(spans: Sequence[SpanRecord]) -> Iterator[Trajectory | str]:
    """Each run, or why a trace gives none: a value of the wrong kind in one trace must not hide the others."""
    try:
        runs = assemble(normalise(spans))
    except Exception as error:  # any tool may have written the spans
        traces: dict[str, list[SpanRecord]] = {}
        for span in spans:
            traces.setdefault(span.trace_id, []).append(span)
        if len(traces) == 1:
            yield f"trace {spans[0].trace_id}: no trajectory: {why(error)}"
        else:
            for trace in traces.values():
                yield from _runs_of(trace)
    else:
        yield from runs


Format = Literal["auto", "trajectory", "whowhen", "aegis", "agentrx", "trail", "otlp"]
FORMATS: tuple[str, ...] = get_args(Format)
"""Names that ``format`` may have."""
_SUFFIXES = {".json", ".jsonl", ".ndjson", ".parquet", ".pb", ".otlp", ".bin"}
_BESIDE_RUNS = {
    "discarded.jsonl",
    "journal.jsonl",
    "build.json",
    "stats.json",
    "audit.json",
    "calibration.json",
    "judge",
}
"""What `tracer-hooks dataset build` and `calibrate` write beside the runs of a labelled set."""
_PACKED = {".xz", ".gz"}
_EXPECTED = (
    "expected a trajectory ('run_id', 'steps'), a labelled one ('trajectory'), Who&When ('history'), "
    "Aegis ('trajectory' or 'conversation_history'), AgentRx ('steps' with 'substeps'), TRAIL ('spans' with "
    "'child_spans') or OTLP ('resourceSpans')"
)
_Reader = Callable[[Mapping[str, Any], str], LoadedRecord]


def load(path: str | Path, *, format: Format = "auto") -> Iterator[LoadedRecord]:
    """Every trajectory of a file or folder, in order, with the reason in place of those that cannot be read.

    Folders are searched to any depth, files in natural order (1, 2, 10). A damaged record or file gives a
    :class:`LoadedRecord` with ``error``, and the rest goes on; its message names the file and the record. JSON lines
    are read one at a time. Runs and annotations of AgentRx and TRAIL that stand in different files come together when
    ``format`` names the data set.

    Args:
        path: A file (.json, .jsonl, .parquet, .pb, .otlp or .bin, also packed as .gz or .xz) or a folder of them. Of a
            labelled set that was built here, the files without runs are passed over.
        format: What the files hold; by default that is seen from each record.

    Raises:
        ConfigError: ``format`` is not one of :data:`FORMATS`.
        MissingExtraError: A file is Parquet, and ``tracer-hooks[parquet]`` is not installed.
    """
    if format not in FORMATS:
        raise ConfigError(f"format is {format!r}, expected one of {', '.join(FORMATS)}")
    return _load(Path(path), format)


def _load(path: Path, format: str) -> Iterator[LoadedRecord]:
    files = list(files_in(path)) if path.is_dir() else [path]
    if format in PAIRED:
        yield from read_each(path, load_pairs(files, format))
    else:
        for file in files:
            yield from read_each(file, _load_file(file, format))
    if not files:
        yield refused(path, f"the folder holds no file named {', '.join(sorted(_SUFFIXES))}")


def files_in(folder: Path) -> Iterator[Path]:
    """The files of a folder that may hold runs, to any depth, in natural order."""
    try:
        entries = sorted(folder.iterdir(), key=_natural_key)
    except OSError:  # said by the caller, since it finds no file
        return
    is_labelled_set = any(entry.name == "labeled.jsonl" or entry.suffix == ".parquet" for entry in entries)
    for entry in entries:
        if entry.name.startswith(".") or (is_labelled_set and entry.name in _BESIDE_RUNS):
            continue
        if entry.is_dir():
            if not entry.is_symlink():  # which may lead back up
                yield from files_in(entry)
        elif _SUFFIXES & set(entry.suffixes[-2:] if entry.suffix in _PACKED else [entry.suffix]):
            yield entry


def _natural_key(path: Path) -> list[tuple[int, str]]:
    parts = re.split(r"(\d+)", path.name)
    return [(int(part), "") if part.isdecimal() else (-1, part.casefold()) for part in parts]


def _load_file(path: Path, format: str) -> Iterator[LoadedRecord]:
    if path.suffix == ".parquet":
        yield from _load_parquet(path)
    elif format == "otlp" or (format == "auto" and not _is_text(path)):
        yield from read_traces(path)
    else:
        yield from _load_json(path, format)


def _load_parquet(path: Path, *, group: int | None = None, first: int = 1) -> Iterator[LoadedRecord]:
    """The runs of a Parquet file, or of one group of its rows, of which ``first`` is the number of its first row."""
    number = 0
    for number, row in enumerate(parquet_rows(path, group=group), start=first):
        source = f"{path}:{number}"
        yield read_record(source, partial(_read_row, row, source))
    if not number and group is None:
        yield refused(path, "the file is empty")


def _read_row(row: object, source: str) -> LoadedRecord:
    labeled = labeled_row(row)
    return LoadedRecord(source=source, trajectory=labeled.trajectory, labeled=labeled)


def _is_text(path: Path) -> bool:
    try:
        with open_bytes(path) as file:
            head = file.read(256)
    except READ_ERRORS:
        return True  # the JSON reader says why it cannot be read
    return not set(head) & {*range(9), *range(14, 32)}


def _load_json(path: Path, format: str) -> Iterator[LoadedRecord]:
    pieces = json_pieces(path)
    first = next(pieces, None)
    if first is None:
        yield refused(path, "the file is empty")
        return
    second = next(pieces, None) if first.error is not None or not is_trace(first.value) else None
    if format == "auto" and any(piece is not None and is_trace(piece.value) for piece in (first, second)):
        yield from read_traces(path)
        return
    if second is None:
        yield from _load_document(first, path, format)
        return
    for piece in chain((first, second), pieces):
        yield _load_piece(piece, f"{path}:{piece.line}", format)


def _load_document(piece: JsonPiece, path: Path, format: str) -> Iterator[LoadedRecord]:
    if not isinstance(piece.value, list):
        yield _load_piece(piece, str(path), format)
    elif not piece.value:
        yield refused(path, "the list holds no trajectory")
    elif format == "auto" and all(_reader_of(item, format) is None for item in piece.value):
        yield refused(path, _why_unknown(piece.value[0], "the first item"))
    else:
        for position, item in enumerate(piece.value):
            yield _load_piece(JsonPiece(piece.line, value=item), f"{path}#{position}", format)


def _load_piece(piece: JsonPiece, source: str, format: str) -> LoadedRecord:
    """The run in a JSON value, or why there is none."""
    if piece.error is not None:
        return refused(source, f"line {piece.line}: {piece.error}")
    reader = _reader_of(piece.value, format)
    if reader is None:
        return refused(source, _why_unknown(piece.value, f"line {piece.line}", format))
    return read_record(source, partial(reader, piece.value, source))


def _reader_of(value: object, format: str) -> _Reader | None:
    if not isinstance(value, Mapping):
        return None
    readers: dict[str, _Reader | None] = {
        "trajectory": _read_own,
        "whowhen": read_whowhen if "history" in value else None,
        "aegis": read_aegis if _is_aegis(value) else None,
    }
    if format != "auto":
        return readers[format]
    if isinstance(value.get("trajectory"), Mapping) or {"run_id", "steps"} <= value.keys():
        return _read_own
    return readers["whowhen"] or readers["aegis"] or _paired_reader_of(value)


def _paired_reader_of(value: Mapping[str, Any]) -> _Reader | None:
    if is_trail_row(value) or is_trail_trace(value):
        return read_trail
    return read_agentrx if is_agentrx_trajectory(value) else None


def _is_aegis(value: Mapping[str, Any]) -> bool:
    given = value.get("input")
    return "trajectory" in value or (isinstance(given, Mapping) and "conversation_history" in given)


def _read_own(data: Mapping[str, Any], source: str) -> LoadedRecord:
    if "trajectory" in data:
        labeled = from_dict(dict(data), LabeledTrajectory)
        return LoadedRecord(source=source, trajectory=labeled.trajectory, labeled=labeled)
    beside = data.get(KEPT_BESIDE)
    stored = beside if isinstance(beside, Mapping) else None
    return LoadedRecord(source=source, trajectory=from_dict(dict(data), Trajectory), stored=stored)


def _why_unknown(value: object, place: str, format: str = "auto") -> str:
    wanted = _EXPECTED if format == "auto" else f"expected a record of format {format!r}"
    if not isinstance(value, Mapping):
        return f"unknown format: {place} holds {type(value).__name__}, {wanted}"
    return f"unknown format: {place} has the keys {[str(key)[:40] for key in value][:6]}, {wanted}"


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
        rows = _load_parquet(self.path, group=self.start, first=self.first)
        return read_each(self.path, self._lines() if self.stop is not None else rows)

    def _lines(self) -> Iterator[LoadedRecord]:
        assert self.stop is not None
        for piece in json_lines(self.path, start=self.start, stop=self.stop, first=self.first):
            yield _load_piece(piece, f"{self.path}:{piece.line}", self.format)


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
