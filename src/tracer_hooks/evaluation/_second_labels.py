"""Labels of the same runs by another team of labellers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tracer_hooks._reading import json_pieces
from tracer_hooks.errors import ConfigError, TrajectoryError
from tracer_hooks.evaluation._cases import SecondLabel
from tracer_hooks.schema import to_text

_FILE, _ROOT = "whowhen_file", "agentrx_root"


def is_label_file(path: Path) -> bool:
    """Tell whether a file is a list of labels, which name their runs' files, and holds no run."""
    try:
        values = list(_values(path))
    except TrajectoryError:
        return False
    return bool(values) and all(isinstance(value, Mapping) and _FILE in value for value in values)


def read_second_labels(path: Path) -> tuple[SecondLabel, ...]:
    """The labels of a file.

    Each is an object with ``whowhen_file``, ``agentrx_root`` (``agent``, ``step0``) and, if there are any,
    ``trajectory_id`` and ``agentrx_all_step0``; steps count from 0. Objects without ``agentrx_root`` are runs that the
    second team did not label, and are passed over.

    Raises:
        ConfigError: The file cannot be read or is no list of labels.
    """
    try:
        values = list(_values(path))
    except TrajectoryError as error:
        raise ConfigError(f"--labels: {error}") from error
    labelled = [value for value in values if not isinstance(value, Mapping) or _ROOT in value]
    if not labelled:
        raise ConfigError(f"--labels is {str(path)!r}, which holds no label; {_EXPECTED}")
    return tuple(_label(value, path) for value in labelled)


_EXPECTED = "expected a list of objects with 'whowhen_file' and 'agentrx_root' {'agent', 'step0'}"


def _values(path: Path) -> Iterator[Any]:
    for piece in json_pieces(path):
        if piece.error is not None:
            raise TrajectoryError(f"{str(path)!r}, line {piece.line}: {piece.error}")
        if isinstance(piece.value, list):
            yield from piece.value
        else:
            yield piece.value


def _label(value: Any, path: Path) -> SecondLabel:
    try:
        root = value[_ROOT]
        return SecondLabel(
            file=to_text(value[_FILE]),
            question=to_text(value["trajectory_id"]) if value.get("trajectory_id") else None,
            agent=to_text(root["agent"]),
            step=int(root["step0"]),
            every_step=tuple(int(step) for step in value.get("agentrx_all_step0") or ()),
        )
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise ConfigError(f"--labels is {str(path)!r} with the record {str(value)[:120]!r}; {_EXPECTED}") from error
