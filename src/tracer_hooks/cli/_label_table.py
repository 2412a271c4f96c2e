"""Labels from a table of comma-separated values."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracer_hooks.errors import ConfigError, TracerHooksError
from tracer_hooks.schema import ErrorMode, Trajectory

_NEEDED = ("run", "agent", "step")


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """One good row."""

    line: int
    trajectory: Trajectory
    agent: str
    step: int
    mode: ErrorMode | None


def read_table(path: Path, runs: Mapping[str, Sequence[Trajectory]]) -> tuple[list[TableRow], list[str]]:
    """The good rows, and what is wrong with the others, by line number.

    Args:
        path: The table, with a head line ``run,agent,step`` or ``run,agent,step,mode``.
        runs: The runs that may be labelled, by every name that a row may call them.

    Raises:
        ConfigError: There is no such head line.
        TracerHooksError: The file cannot be read.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, skipinitialspace=True)
            missing = [name for name in _NEEDED if name not in (reader.fieldnames or ())]
            if missing:
                raise ConfigError(
                    f"{str(path)!r} has no column {missing[0]!r} in its first line, expected run,agent,step and, if "
                    "you like, mode"
                )
            return _sorted(reader, runs)
    except (OSError, UnicodeError, csv.Error) as error:
        raise TracerHooksError(f"cannot read {str(path)!r}: {error}; expected a table as UTF-8 text") from error


def _sorted(reader: csv.DictReader[str], runs: Mapping[str, Sequence[Trajectory]]) -> tuple[list[TableRow], list[str]]:
    rows: list[TableRow] = []
    problems: list[str] = []
    seen: dict[int, int] = {}
    for cells in reader:
        line = reader.line_num
        found = _row(line, {key: (cells.get(key) or "").strip() for key in (*_NEEDED, "mode")}, runs)
        if isinstance(found, str):
            problems.append(f"line {line}: {found}")
        elif id(found.trajectory) in seen:
            problems.append(f"line {line}: the run is labelled in line {seen[id(found.trajectory)]} already")
        else:
            seen[id(found.trajectory)] = line
            rows.append(found)
    return rows, problems


def _row(line: int, cells: Mapping[str, str], runs: Mapping[str, Sequence[Trajectory]]) -> TableRow | str:
    """The row, or what is wrong with it."""
    named = runs.get(cells["run"], ())
    if len(named) != 1:
        return f"{len(named) or 'no'} runs are named {cells['run']!r}, expected one: an id, or file#record from 0"
    (trajectory,) = named
    if cells["agent"] not in {step.agent for step in trajectory.steps}:
        return f"no step of the run is one of {cells['agent']!r}, expected {_listed(s.agent for s in trajectory.steps)}"
    text = cells["step"]
    own = [step.index for step in trajectory.steps if step.agent == cells["agent"]]
    if not (text.isascii() and text.isdigit()) or int(text) not in own:
        return f"step {text!r} is none of {cells['agent']!r}, expected {_listed(map(str, own))}"
    mode = mode_named(cells["mode"])
    if cells["mode"] and mode is None:
        return f"unknown error mode {cells['mode']!r}, expected a code such as 'FM-2.6', or nothing"
    return TableRow(line=line, trajectory=trajectory, agent=cells["agent"], step=int(text), mode=mode)


def mode_named(text: str) -> ErrorMode | None:
    """The error mode with this code, with or without ``FM-``."""
    wanted = text.strip().upper().removeprefix("FM-")
    return next((mode for mode in ErrorMode if mode.value == f"FM-{wanted}"), None)


def _listed(names: object) -> str:
    unique = list(dict.fromkeys(names))  # type: ignore[call-overload]
    return ", ".join(unique[:12]) + (", ..." if len(unique) > 12 else "")
