"""The labelled file: what ``tracer-hooks label`` adds to, and ``fit`` and ``eval`` read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tracer_hooks.datasets import write_atomically
from tracer_hooks.errors import DatasetError, TrajectoryError
from tracer_hooks.schema import (
    DecisiveStep,
    ErrorMode,
    LabeledTrajectory,
    LabelSource,
    Trajectory,
    load_jsonl,
    to_json,
)


class LabelFile:
    """Labelled runs in a JSON-lines file, written after each label so that an interrupted session loses none.

    Args:
        path: The file; it may be missing.

    Raises:
        DatasetError: The file holds something else than labelled runs, or cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._labels = self._read()

    @property
    def labels(self) -> Mapping[str, LabeledTrajectory]:
        """The labelled runs by :func:`key_of`."""
        return self._labels

    def add(self, label: LabeledTrajectory) -> None:
        """Add a label, or put it in place of an earlier one of the same run."""
        self._labels = {**self._read(), key_of(label.trajectory): label}  # another session may have added some
        self._write()

    def remove(self, key: str) -> None:
        """Take a label back."""
        self._labels = {each: label for each, label in self._read().items() if each != key}
        self._write()

    def _read(self) -> dict[str, LabeledTrajectory]:
        if not self._path.exists():
            return {}
        try:
            found = list(load_jsonl(self._path, LabeledTrajectory))
        except (TrajectoryError, OSError, UnicodeError) as error:
            raise DatasetError(
                f"{str(self._path)!r} is no file of labelled runs, expected a new file or one that this command "
                f"wrote: {error}. Next: give another file with --out"
            ) from error
        return {key_of(label.trajectory): label for label in found}

    def _write(self) -> None:
        lines = "".join(to_json(label) + "\n" for label in self._labels.values())
        write_atomically({self._path: lines.encode()})


def key_of(trajectory: Trajectory) -> str:
    """What tells runs apart: records of different sets may bear the same id, such as "1"."""
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


def told_apart(label: LabeledTrajectory) -> tuple[str, int] | None:
    """Agent and step of a label."""
    return None if label.decisive is None else (label.decisive.agent, label.decisive.step)
