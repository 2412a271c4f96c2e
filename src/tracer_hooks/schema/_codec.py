"""JSONL files of records, with the version of each line and migrations from older ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from tracer_hooks._reading import brief, first_problem, json_pieces, parse_json
from tracer_hooks.errors import TrajectoryError
from tracer_hooks.schema._attribution import Attribution, LabeledTrajectory
from tracer_hooks.schema._trajectory import SCHEMA_VERSION, Record, Trajectory

R = TypeVar("R", Trajectory, Attribution, LabeledTrajectory)
Migration = Callable[[dict[str, Any]], dict[str, Any]]

MIGRATIONS: dict[int, Migration] = {1: lambda data: {**data, "schema_version": 2}}
"""``MIGRATIONS[n]`` turns a record of version n into one of version n + 1. Version 2 added what has a default: findings
and explanation of a diagnosis, operands of a value's origin, cached and reasoning tokens."""

KEPT_BESIDE = "stored"
"""In a trajectory's JSON: what the run store keeps beside the trajectory, which is no part of it."""


def to_json(record: Record) -> str:
    """``record`` as one line of JSON."""
    return record.model_dump_json(exclude_defaults=False)


def from_json(line: str | bytes, kind: type[R]) -> R:
    """Read one record that :func:`to_json` wrote, in this version or an older one.

    Raises:
        TrajectoryError: The text is not JSON, is of a newer version, or does not fit ``kind``.
    """
    try:
        data = parse_json(line)
    except ValueError as error:
        raise TrajectoryError(f"not valid JSON: {error}") from error
    return from_dict(data, kind)


def from_dict(data: object, kind: type[R]) -> R:
    """Read one record from plain data; see :func:`from_json`."""
    if not isinstance(data, dict):
        raise TrajectoryError(f"expected a JSON object for a {kind.__name__}, got {type(data).__name__}")
    if kind is Trajectory:
        data = {name: value for name, value in data.items() if name != KEPT_BESIDE}
    try:
        migrated = _migrate(data, kind)
        inner = migrated.get("trajectory")
        if kind is LabeledTrajectory and isinstance(inner, dict):  # a record inside a record has a version of its own
            migrated = {**migrated, "trajectory": _migrate(inner, Trajectory)}
        return kind.model_validate(migrated)
    except ValidationError as error:
        where, what = first_problem(error, whole="record")
        raise TrajectoryError(f"not a valid {kind.__name__}: {where!r}: {what}") from error


def _migrate(data: dict[str, Any], kind: type[Record]) -> dict[str, Any]:
    version = data.get("schema_version", SCHEMA_VERSION)
    if not isinstance(version, int) or isinstance(version, bool):
        raise TrajectoryError(f"schema_version of a {kind.__name__} must be a whole number, got {version!r}")
    if version > SCHEMA_VERSION:
        raise TrajectoryError(
            f"{kind.__name__} has schema_version {version}, this version reads up to {SCHEMA_VERSION}. "
            "Run: pip install --upgrade tracer-hooks"
        )
    while version < SCHEMA_VERSION:
        if version not in MIGRATIONS:
            raise TrajectoryError(
                f"{kind.__name__} has unknown schema_version {version}, expected 1 to {SCHEMA_VERSION}"
            )
        data, version = MIGRATIONS[version](data), version + 1
    return data


def save_jsonl(path: str | Path, records: Iterable[Record]) -> None:
    """Write records to ``path``, one a line, in UTF-8."""
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(to_json(record) + "\n" for record in records)


def load_jsonl(path: str | Path, kind: type[R]) -> Iterator[R]:
    """Read records from ``path``, one a line; empty lines are passed over.

    Raises:
        TrajectoryError: The file cannot be read, or a line is not a valid record; the message names the line.
    """
    for piece in json_pieces(Path(path)):
        try:
            if piece.error is not None:
                raise TrajectoryError(piece.error)
            yield from_dict(piece.value, kind)
        except TrajectoryError as error:
            raise TrajectoryError(f"{str(path)!r}, line {piece.line}: {brief(str(error))}") from error
