"""Scoring with a loaded encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from tracer_hooks._atomic_files import write_files
from tracer_hooks.attribution.encoder._given import Reading, read
from tracer_hooks.attribution.encoder._stack import stack
from tracer_hooks.attribution.encoder._tokens import TOKENIZER, StepTokenizer
from tracer_hooks.attribution.encoder._weights import CONFIG, WEIGHTS, load_model
from tracer_hooks.schema import Trajectory


@dataclass(frozen=True, slots=True)
class Scored:
    """What the encoder says of one trajectory with n candidate steps and A agents."""

    reading: Reading
    pointer: NDArray[np.float64]
    """(n,): the shipped pointer's logit of each candidate step."""
    states: NDArray[np.float64]
    """(n, width): what the pointer reads."""
    agents: NDArray[np.float64]
    """(A,): log-odds that each agent is at fault."""
    modes: NDArray[np.float64]
    """(A, 14): log-odds of each pair of agent and mode."""


class Engine:
    """An encoder in memory.

    Args:
        directory: The folder with its weights.
        device: Where to compute.

    Raises:
        AttributionError: The weights are missing, damaged, or not the expected ones.
    """

    def __init__(self, directory: Path, *, device: str = "cpu") -> None:
        self._directory = directory
        self._model, config = load_model(directory)
        self._model.to(device)
        self._tokenizer = StepTokenizer(directory)
        self.mode_threshold = float(config.get("mode_threshold", 0.0))
        """Log-odds above which a pair of agent and mode is named."""

    def features_with(self, more: Sequence[str]) -> tuple[str, ...]:
        """Names of the structural features that the head reads, then those of ``more`` that it does not."""
        return tuple(dict.fromkeys((*self._model.head.config.features, *more)))

    def save(self, directory: Path) -> None:
        """Copy the weights to another folder."""
        names = (WEIGHTS, CONFIG, TOKENIZER)
        others = [name for name in names if (directory / name).resolve() != (self._directory / name).resolve()]
        write_files({directory / name: (self._directory / name).read_bytes() for name in others})

    def score(self, trajectory: Trajectory, features: Sequence[str] = ()) -> Scored | None:
        """Score a trajectory; None for one without a step by an agent that has anything to read.

        Args:
            trajectory: What happened.
            features: Structural features that a fitted pointer reads; those of the head come first in any case.
        """
        if not trajectory.steps:
            return None
        reading = read(trajectory, self._tokenizer, self.features_with(features))
        if not any(reading.text.steps[k].own for k in reading.steps):
            return None
        with torch.inference_mode():
            given = stack([reading], self._model.vectors([reading]))
            given = given._replace(features=given.features[..., : len(self._model.head.config.features)])
            states, output = self._model.head.states(given)
        return Scored(
            reading=reading,
            pointer=output.steps[0].double().cpu().numpy(),
            states=states[0].double().cpu().numpy(),
            agents=output.agents[0].double().cpu().numpy(),
            modes=output.modes[0].double().cpu().numpy(),
        )
