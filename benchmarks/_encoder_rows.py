"""Aegis trajectories as the encoder and as the agent head of `structural` read them, dealt out for a study."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from _agent_head_fit import AgentExample, example_of, part_of
from torch import Tensor

from tracer_hooks.attribution.encoder import EncoderModel, StepTokenizer, read
from tracer_hooks.schema import LabeledTrajectory
from tracer_hooks.training._evaluation import vectors_of
from tracer_hooks.training._examples import ARCHITECTURES, Example, architecture_of, labels_of
from tracer_hooks.training.data import read_labeled

FOLDS = 5
"""Parts of the questions, each of which is tested on once."""


@dataclass(frozen=True, slots=True)
class StudyRow:
    """One trajectory in both readings."""

    encoder: Example
    structural: AgentExample


@dataclass(frozen=True, slots=True)
class Part:
    """What is trained on and what is tested on, by the rows' places."""

    name: str
    train: tuple[int, ...]
    test: tuple[int, ...]


def study_rows(paths: Sequence[Path], tokenizer: StepTokenizer, features: Sequence[str], count: int) -> list[StudyRow]:
    """At most ``count`` trajectories of each architecture, always the same ones, less those without a faulty agent."""
    found = []
    for labeled in _drawn([row.labeled for row in read_labeled(tuple(paths), bad_rows="skip").rows], count):
        kind = architecture_of(labeled.trajectory.agent_names)
        reading = read(labeled.trajectory, tokenizer, features)
        labels = labels_of(labeled, reading)
        agents = example_of(labeled, kind=kind)
        if labels.useful and agents.at_fault.any():
            question = labeled.question_id or labeled.trajectory.task
            found.append(StudyRow(Example(reading, labels, question, kind), agents))
    return found


def _drawn(labeled: Sequence[LabeledTrajectory], count: int) -> list[LabeledTrajectory]:
    groups: dict[str, list[LabeledTrajectory]] = {}
    for one in labeled:
        groups.setdefault(architecture_of(one.trajectory.agent_names), []).append(one)
    chance, picked = random.Random(0), []
    for name in sorted(groups):
        chance.shuffle(groups[name])
        picked += groups[name][:count]
    return picked


def architectures_left_out(rows: Sequence[StudyRow]) -> Iterator[Part]:
    """A part for every architecture: all others are trained on."""
    kinds = [row.encoder.architecture for row in rows]
    for name in ARCHITECTURES:
        if name in kinds:
            yield _part(name, [kind == name for kind in kinds])


def questions_left_out(rows: Sequence[StudyRow]) -> Iterator[Part]:
    """A part for every fifth of the questions: the other four are trained on."""
    parts = [part_of(row.encoder.question, FOLDS) for row in rows]
    for fold in range(FOLDS):
        yield _part(f"questions-{fold}", [part == fold for part in parts])


def _part(name: str, tested: Sequence[bool]) -> Part:
    places = range(len(tested))
    return Part(name, tuple(k for k in places if not tested[k]), tuple(k for k in places if tested[k]))


def step_vectors(model: EncoderModel, rows: Sequence[StudyRow], cache: Path) -> list[Tensor]:
    """The vectors of every trajectory's steps, from the cache where it is of these rows."""
    lengths = [len(row.encoder.reading.steps) for row in rows]
    if cache.is_file():
        kept = np.load(cache)["vectors"]
        if len(kept) != sum(lengths):
            raise SystemExit(f"{str(cache)!r} is of other data: delete it, or name another --out")
        return list(torch.split(torch.from_numpy(kept.astype(np.float32)), lengths))
    found = vectors_of(model, [row.encoder for row in rows])
    np.savez(cache, vectors=torch.cat(found).numpy().astype(np.float16))
    return found
