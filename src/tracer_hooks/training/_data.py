"""Files of labelled trajectories as training examples, split by question."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from tracer_hooks.attribution.encoder import StepTokenizer, read
from tracer_hooks.datasets import load
from tracer_hooks.errors import TrainingError
from tracer_hooks.schema import LabeledTrajectory
from tracer_hooks.training._examples import Example, architecture_of, labels_of

_HELD_OUT = 10
"""One question of so many is held out to validate."""


def labeled_in(paths: Iterable[Path]) -> Iterator[LabeledTrajectory]:
    """Every labelled trajectory of some files and folders, unreadable and unlabelled records left out.

    Raises:
        TrainingError: A path does not exist.
    """
    for path in paths:
        if not path.exists():
            raise TrainingError(f"{str(path)!r} does not exist: --data wants files or folders of labelled trajectories")
        for record in load(path):
            if record.labeled is not None and record.labeled.trajectory.steps:
                yield record.labeled


def drawn(labeled: Iterable[LabeledTrajectory], count: int | None, seed: int) -> Iterable[LabeledTrajectory]:
    """At most ``count`` of each architecture, drawn by the seed; all of them when it is None."""
    if count is None:
        return labeled
    groups: dict[str, list[LabeledTrajectory]] = {}
    for one in labeled:
        groups.setdefault(architecture_of(one.trajectory.agent_names), []).append(one)
    chance = random.Random(seed)
    picked = []
    for name in sorted(groups):
        chance.shuffle(groups[name])
        picked += groups[name][:count]
    return picked


def examples_of(
    labeled: Iterable[LabeledTrajectory],
    tokenizer: StepTokenizer,
    features: Sequence[str],
    *,
    tick: Callable[[], None] = lambda: None,
) -> list[Example]:
    """Those that have agents to point at, read.

    Args:
        labeled: Labelled trajectories.
        tokenizer: Cuts the steps' texts.
        features: Names of the structural features to compute.
        tick: Called for each one.
    """
    found = []
    for one in labeled:
        tick()
        reading = read(one.trajectory, tokenizer, features)
        labels = labels_of(one, reading)
        if labels.useful:
            question = one.question_id or one.trajectory.task
            found.append(Example(reading, labels, question, architecture_of(one.trajectory.agent_names)))
    return found


def split(examples: Sequence[Example], leave_out: Sequence[str]) -> tuple[list[Example], list[Example], list[Example]]:
    """Examples to train on, to validate on (other questions), and of the architectures that are left out."""
    train, valid, out = [], [], []
    for example in examples:
        if example.architecture in leave_out:
            out.append(example)
        elif is_held_out(example.question):
            valid.append(example)
        else:
            train.append(example)
    return train, valid, out


def is_held_out(question: str) -> bool:
    """Whether a question belongs to the validation part; the same on every machine and in every run."""
    return int(hashlib.sha256(question.encode("utf-8", "replace")).hexdigest(), 16) % _HELD_OUT == 0
