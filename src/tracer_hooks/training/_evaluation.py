"""Figures of a trained encoder on examples that it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tracer_hooks.attribution.encoder import EncoderModel
from tracer_hooks.training._examples import Example
from tracer_hooks.training._metrics import area_within, pair_f1

_BATCH = 16
_LEAST = 5


@dataclass(frozen=True, slots=True)
class Scores:
    """What a model says of some examples, in their order."""

    agents: list[NDArray[np.float32]]
    modes: list[NDArray[np.float32]]


def scores_of(model: EncoderModel, examples: Sequence[Example], tick: Callable[[], None] = lambda: None) -> Scores:
    """Log-odds of every agent, and of every pair of agent and mode."""
    model.eval()
    found = Scores([], [])
    with torch.inference_mode():
        for start in range(0, len(examples), _BATCH):
            batch = examples[start : start + _BATCH]
            output = model([example.reading for example in batch])
            tick()
            for row, example in enumerate(batch):
                count = len(example.labels.agents)
                found.agents.append(output.agents[row, :count].cpu().numpy())
                found.modes.append(output.modes[row, :count].cpu().numpy())
    return found


def vectors_of(
    model: EncoderModel, examples: Sequence[Example], tick: Callable[[], None] = lambda: None
) -> list[Tensor]:
    """For each example, (n, width): the vectors of its candidate steps."""
    model.eval()
    found: list[Tensor] = []
    with torch.no_grad():
        for start in range(0, len(examples), _BATCH):
            found += model.vectors([example.reading for example in examples[start : start + _BATCH]])
            tick()
    return found


def figures_of(examples: Sequence[Example], scores: Scores, mode_threshold: float) -> dict[str, Any]:
    """Area under the ROC curve of faulty against other agents within a trajectory, and pair micro-F1, by architecture.

    An architecture with fewer than five trajectories is counted under ``all`` only.
    """
    groups = {"all": list(range(len(examples)))}
    for name in sorted({example.architecture for example in examples}):
        rows = [k for k, example in enumerate(examples) if example.architecture == name]
        if len(rows) >= _LEAST:
            groups[name] = rows
    return {name: _figures(examples, scores, rows, mode_threshold) for name, rows in groups.items()}


def mode_threshold_of(examples: Sequence[Example], scores: Scores) -> float:
    """The log-odds of a pair of agent and mode above which naming it gives the best micro-F1 on these examples."""
    choices = np.quantile(np.concatenate([one.ravel() for one in scores.modes]), np.linspace(0.5, 0.995, 100))
    truth = [example.labels.modes for example in examples]
    return float(max(choices, key=lambda threshold: pair_f1(scores.modes, truth, float(threshold))))


def _figures(examples: Sequence[Example], scores: Scores, rows: list[int], threshold: float) -> dict[str, Any]:
    labels = [examples[k].labels for k in rows]
    return {
        "trajectories": len(rows),
        "agent_auc": area_within([scores.agents[k] for k in rows], [one.agents for one in labels]),
        "pair_micro_f1": pair_f1([scores.modes[k] for k in rows], [one.modes for one in labels], threshold),
    }
