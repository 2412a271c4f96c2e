"""What a run is trained and judged on: labelled trajectories, read and dealt out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from tracer_hooks.training._config import RunConfig
from tracer_hooks.training._progress import Progress
from tracer_hooks.training.data import LabeledRows, Splits, read_labeled, split_rows


@dataclass(frozen=True, slots=True)
class Material:
    """Labelled trajectories, read and dealt out."""

    found: LabeledRows
    splits: Splits
    left_out: Counter[str]
    """What was left out or completed; builders add to it."""


def read_material(
    config: RunConfig, progress: Progress, drawn: Callable[[LabeledRows], LabeledRows] = lambda found: found
) -> Material:
    """Read and deal out the rows of a run.

    Args:
        config: Which rows, and how they are dealt out.
        progress: Told of it.
        drawn: Which of the rows are dealt out; all by default.

    Raises:
        TrainingError: There is nothing to train on, or a row cannot be used.
    """
    with progress.phase("reading"):
        found = drawn(read_labeled(config.data, bad_rows=config.bad_rows))
        splits = split_rows(found, config.splits)
    left_out = Counter(found.left_out)
    if splits.near_duplicates:
        left_out["near-duplicate of a row of another part"] = splits.near_duplicates
    return Material(found, splits, left_out)
