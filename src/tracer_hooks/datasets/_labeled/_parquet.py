"""Labelled trajectories in Parquet: columns to filter by, and the whole record in one of them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tracer_hooks._file_bytes import refuse_special
from tracer_hooks._limits import max_file_bytes, too_large
from tracer_hooks._optional import require
from tracer_hooks.datasets._labeled._atomic import write_atomically
from tracer_hooks.datasets._labeled._verification import text_of
from tracer_hooks.errors import DatasetError, TrajectoryError
from tracer_hooks.schema import LabeledTrajectory, from_json, to_json

_RECORD = "record"
_INT64 = 2**63
_BATCH = 64
"""Rows that are unpacked at once."""
_TEXTS = (
    "run_id", "team", "framework", "task", "outcome", "final_output", "agent", "error_mode", "label_source",
    "question_id", "fault_id", "architecture", "suite", "strategy", "kind", "writer", "clean_run_id", _RECORD,
)  # fmt: skip
_NUMBERS = ("step", "n_steps", "seed", "input_tokens", "output_tokens")


def write_parquet(path: str | Path, items: Iterable[LabeledTrajectory]) -> None:
    """Write one row an item: flat columns, and the full record as JSON in the column ``record``.

    Raises:
        DatasetError: The file cannot be written; an old one is as it was.
        MissingExtraError: ``tracer-hooks[parquet]`` is not installed.
    """
    pa, pq = _pyarrow()
    fields = [(name, pa.string()) for name in _TEXTS] + [(name, pa.int64()) for name in _NUMBERS]
    fields.append(("agents", pa.list_(pa.string())))
    table = pa.Table.from_pylist([_row(item) for item in items], schema=pa.schema(fields))
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    write_atomically({Path(path): buffer.getvalue()})


def read_parquet(path: str | Path) -> list[LabeledTrajectory]:
    """The items that :func:`write_parquet` wrote, exactly as they were.

    Raises:
        DatasetError: The file cannot be read, has no column ``record``, or a row of it is no labelled trajectory.
        MissingExtraError: ``tracer-hooks[parquet]`` is not installed.
    """
    return [_item(row, path, number) for number, row in enumerate(parquet_rows(path), start=1)]


def parquet_rows(path: str | Path) -> Iterator[object]:
    """What stands in the column ``record``, row by row, so that a small file never unpacks to all of the memory.

    Raises:
        DatasetError: The file cannot be read, is larger unpacked than is read, or has no such column.
        MissingExtraError: ``tracer-hooks[parquet]`` is not installed.
    """
    pa, pq = _pyarrow()
    left = max_file_bytes()
    try:
        refuse_special(path)
        with pq.ParquetFile(path) as file:
            if _RECORD not in file.schema_arrow.names:
                raise DatasetError(f"{str(path)!r} has no column {_RECORD!r}: it was not written by write_parquet")
            said, found = file.metadata.num_rows, 0
            for batch in file.iter_batches(batch_size=_BATCH, columns=[_RECORD]):
                found += batch.num_rows
                for row in batch.column(0).to_pylist():
                    left -= len(row) if isinstance(row, (str, bytes)) else 0
                    if left < 0:
                        raise DatasetError(f"cannot read {str(path)!r}: {too_large('its column of records')}")
                    yield row
            if found != said:  # where the groups of rows are damaged, none of theirs is given, and nothing is said
                raise DatasetError(f"cannot read {str(path)!r} as Parquet: {found} of its {said} rows can be read")
    except (OSError, ValueError, pa.ArrowException) as error:  # a file that is damaged may say anything of itself
        raise DatasetError(f"cannot read {str(path)!r} as Parquet: {error}") from error


def labeled_row(row: object) -> LabeledTrajectory:
    """The labelled trajectory in a row.

    Raises:
        TrajectoryError: There is none.
    """
    return from_json(row if isinstance(row, str) else "null", LabeledTrajectory)


def _item(row: object, path: str | Path, number: int) -> LabeledTrajectory:
    try:
        return labeled_row(row)
    except TrajectoryError as error:
        raise DatasetError(f"{str(path)!r}, row {number}: {error}") from error


def _row(item: LabeledTrajectory) -> dict[str, Any]:
    run, decisive = item.trajectory, item.decisive
    keys = ("architecture", "suite", "strategy", "kind", "writer", "clean_run_id")
    mode = decisive.error_mode if decisive is not None else None
    return {
        "run_id": run.run_id,
        "team": run.team,
        "framework": run.framework,
        "task": run.task,
        "outcome": run.outcome.value,
        "final_output": run.final_output,
        "agent": decisive.agent if decisive is not None else None,
        "agents": list(dict.fromkeys(fault.agent for fault in item.faults)) or ([decisive.agent] if decisive else []),
        "step": decisive.step if decisive is not None else None,
        "error_mode": mode.value if mode is not None else None,
        "label_source": item.label_source.value,
        "question_id": item.question_id,
        "seed": item.seed if abs(item.seed or 0) < _INT64 else None,  # the record has it in full
        "fault_id": item.fault_id,
        "n_steps": len(run.steps),
        "input_tokens": run.usage.input_tokens,
        "output_tokens": run.usage.output_tokens,
        _RECORD: to_json(item),
        **{key: text_of(item.verification, key) for key in keys},
    }


def _pyarrow() -> tuple[Any, Any]:
    feature = "a data set in Parquet"
    return (
        require("pyarrow", extra="parquet", feature=feature),
        require("pyarrow.parquet", extra="parquet", feature=feature),
    )
