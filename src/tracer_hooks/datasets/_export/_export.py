"""Writing a labelled set for the tools of other benchmarks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

from tracer_hooks.datasets._export._aegis import aegis_obstacle, to_aegis
from tracer_hooks.datasets._export._report import ExportReport, NotExported
from tracer_hooks.datasets._export._whowhen import to_whowhen, whowhen_obstacle
from tracer_hooks.datasets._labeled import LabeledSet, write_atomically
from tracer_hooks.errors import ConfigError, DatasetError
from tracer_hooks.schema import LabeledTrajectory

ExportFormat = Literal["whowhen", "aegis"]
EXPORT_FORMATS: tuple[str, ...] = get_args(ExportFormat)
"""Names that ``format`` of :func:`export` may have."""

_OBSTACLES: dict[str, Callable[[LabeledTrajectory], str | None]] = {
    "whowhen": whowhen_obstacle,
    "aegis": aegis_obstacle,
}


def export(dataset: LabeledSet, path: str | Path, format: ExportFormat = "whowhen") -> ExportReport:
    """Write ``dataset`` in another benchmark's schema; :func:`load` reads both back.

    Args:
        dataset: The labelled runs and the passing ones.
        path: For ``whowhen`` a folder, which gets ``1.json``, ``2.json`` and so on, in the order of the set; it must
            hold no JSON files yet. For ``aegis`` a file of JSON lines.
        format: The schema.

    Returns:
        What was written, and each run that was not, with the reason.

    Raises:
        ConfigError: ``format`` is not one of :data:`EXPORT_FORMATS`.
        DatasetError: Nothing is left to write, the folder holds other files, or a file cannot be written.
    """
    if format not in EXPORT_FORMATS:
        raise ConfigError(f"format is {format!r}, expected one of {', '.join(EXPORT_FORMATS)}")
    place, items = Path(path), [*dataset.labeled, *dataset.clean]
    reasons = [_OBSTACLES[format](item) for item in items]
    kept = [item for item, reason in zip(items, reasons, strict=True) if reason is None]
    skipped = tuple(
        NotExported(run_id=item.trajectory.run_id, reason=reason)
        for item, reason in zip(items, reasons, strict=True)
        if reason is not None
    )
    if not kept:
        why = f"; the first: {skipped[0].run_id!r}: {skipped[0].reason}" if skipped else ""
        raise DatasetError(f"no run of {str(dataset.path or 'the data set')!r} can be written as {format!r}{why}")
    write_atomically(_whowhen_files(place, kept) if format == "whowhen" else _aegis_file(place, kept))
    return ExportReport(format=format, path=str(place), written=len(kept), skipped=skipped)


def _whowhen_files(folder: Path, items: list[LabeledTrajectory]) -> dict[Path, bytes]:
    if folder.is_dir() and any(folder.glob("*.json")):
        raise DatasetError(f"{str(folder)!r} holds JSON files already: expected a new or empty folder")
    return {folder / f"{number}.json": _json(to_whowhen(item), 4) for number, item in enumerate(items, start=1)}


def _aegis_file(file: Path, items: list[LabeledTrajectory]) -> dict[Path, bytes]:
    if file.is_dir():
        raise DatasetError(f"{str(file)!r} is a folder: expected the name of a .jsonl file")
    return {file: b"".join(_json(to_aegis(item), None) for item in items)}


def _json(value: dict[str, Any], indent: int | None) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=indent) + "\n").encode()
