"""Labelled files, which ``tracer-hooks label`` adds to and ``fit`` and ``eval`` read, and tables of labels."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracer_hooks._files import locked
from tracer_hooks.errors import ConfigError, DatasetError, TracerHooksError, TrajectoryError
from tracer_hooks.journal import write_atomically
from tracer_hooks.schema import DecisiveStep, ErrorMode, LabeledTrajectory, LabelSource, Trajectory, load_jsonl, to_json

_NEEDED = ("run", "agent", "step")


class LabelFile:
    """Labelled runs in a JSON-lines file, written after each label so that an interrupted session loses none.

    Several sessions may add to one file at the same time: each reads, changes and replaces it while the others wait,
    and none touches a label that another one gave.

    Args:
        path: The file, which need not be there.
        option: What names it on the command line, for errors.

    Raises:
        DatasetError: The file cannot be read, or is another one.
    """

    def __init__(self, path: Path, *, option: str = "--out") -> None:
        self.path = path
        self._option = option
        self.labels: Mapping[str, LabeledTrajectory] = self._read()
        """The labelled runs by :func:`key_of`, as far as this session knows them."""

    def look(self) -> None:
        """Learn what other sessions have added."""
        self.labels = self._read()

    def add(self, label: LabeledTrajectory) -> LabeledTrajectory | None:
        """Add a label, or put it in place of one that this session knew.

        Returns:
            The label that another session gave the same run meanwhile, which stays; None when this one was added.

        Raises:
            DatasetError: The file cannot be read or written; it is as it was.
        """
        key = key_of(label.trajectory)
        with self._alone():
            there = self._read()
            standing = there.get(key)
            other = None if standing is None or self._knows(key, standing) else standing
            if other is None:
                there[key] = label
                self._write(there)
            self.labels = there
        return other

    def remove(self, key: str) -> None:
        """Take a label back, unless another session has put one in its place."""
        with self._alone():
            there = self._read()
            if key in there and self._knows(key, there[key]):
                del there[key]
                self._write(there)
            self.labels = there

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(locked(self.path))
            except OSError as error:
                raise DatasetError(
                    f"cannot lock {str(self.path)!r}: {error.strerror or error}. The file is as it was; give another "
                    f"one with {self._option}"
                ) from error
            yield

    def _knows(self, key: str, label: LabeledTrajectory) -> bool:
        known = self.labels.get(key)
        return known is not None and to_json(known) == to_json(label)  # a label that was read back is another object

    def _read(self) -> dict[str, LabeledTrajectory]:
        if not self.path.exists():
            return {}
        try:
            found = list(load_jsonl(self.path, LabeledTrajectory))
        except (TrajectoryError, OSError, UnicodeError) as error:
            raise DatasetError(
                f"{str(self.path)!r} is no file of labelled runs, expected a new file or one that this command "
                f"wrote: {error}. Next: give another file with {self._option}"
            ) from error
        return {key_of(label.trajectory): label for label in found}

    def _write(self, labels: Mapping[str, LabeledTrajectory]) -> None:
        lines = "".join(to_json(label) + "\n" for label in labels.values())
        write_atomically({self.path: lines.encode()})


def key_of(trajectory: Trajectory) -> str:
    """Return what tells runs apart: records of different sets may bear the same id, such as "1"."""
    return f"{trajectory.run_id}\n{trajectory.task}"


def labelled(
    trajectory: Trajectory, agent: str, step: int, mode: ErrorMode | None, *, question_id: str | None
) -> LabeledTrajectory:
    """``trajectory`` with a person's label."""
    return LabeledTrajectory(
        trajectory=trajectory,
        decisive=DecisiveStep(agent=agent, step=step, error_mode=mode),
        label_source=LabelSource.HUMAN,
        question_id=question_id,
    )


def labelled_place(label: LabeledTrajectory) -> tuple[str, int] | None:
    """Agent and step of a label."""
    return None if label.decisive is None else (label.decisive.agent, label.decisive.step)


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """One good row."""

    line: int
    trajectory: Trajectory
    agent: str
    step: int
    mode: ErrorMode | None


def read_table(path: Path, runs: Mapping[str, Sequence[Trajectory]]) -> tuple[list[TableRow], list[str]]:
    """The good rows, and what is wrong with the others, by line number."""
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
    indices = [step.index for step in trajectory.steps if step.agent == cells["agent"]]
    if not (text.isascii() and text.isdigit()) or int(text) not in indices:
        return f"step {text!r} is none of {cells['agent']!r}, expected {_listed(map(str, indices))}"
    mode = mode_named(cells["mode"])
    if cells["mode"] and mode is None:
        return f"unknown error mode {cells['mode']!r}, expected a code such as 'FM-2.6', or nothing"
    return TableRow(line=line, trajectory=trajectory, agent=cells["agent"], step=int(text), mode=mode)


def mode_named(text: str) -> ErrorMode | None:
    """The error mode with this code, with or without ``FM-``."""
    wanted = text.strip().upper().removeprefix("FM-")
    return next((mode for mode in ErrorMode if mode.value == f"FM-{wanted}"), None)


def _listed(names: Iterable[str]) -> str:
    unique = list(dict.fromkeys(names))
    return ", ".join(unique[:12]) + (", ..." if len(unique) > 12 else "")
