"""Data sets that keep runs and their annotations in different files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tracer_hooks._json_files import json_pieces
from tracer_hooks.datasets._agentrx import (
    agentrx_key,
    is_agentrx_annotation,
    is_agentrx_trajectory,
    read_agentrx,
)
from tracer_hooks.datasets._boundary import read_record, refused
from tracer_hooks.datasets._record import LoadedRecord
from tracer_hooks.datasets._trail import (
    is_trail_annotation,
    is_trail_row,
    is_trail_trace,
    read_trail,
    trail_key,
)
from tracer_hooks.errors import TrajectoryError

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
            yield _read(layout, item, None if found is None else found.value)
    for key, item in annotations.items():
        yield refused(item.source, f"there is no run {key!r} to this annotation")


def _annotations(files: Iterable[Path], layout: _Layout) -> Iterator[tuple[str, _Item]]:
    for item in _items(files):
        value = item.value
        if isinstance(value, Mapping) and layout.is_annotation(value) and not layout.is_run(value):
            yield layout.key(value) or item.path.stem, item


def _read(layout: _Layout, item: _Item, annotation: _Data | None) -> LoadedRecord:
    return read_record(item.source, partial(layout.read, item.value, item.source, annotation))


def _items(files: Iterable[Path]) -> Iterator[_Item]:
    for path in files:
        found = False
        try:
            for item in _pieces(path):
                for one in _opened(item):
                    found = True
                    yield one
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
