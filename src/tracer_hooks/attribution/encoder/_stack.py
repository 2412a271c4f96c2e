"""Trajectories as one padded batch for the head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tracer_hooks.attribution.encoder._given import Reading
from tracer_hooks.attribution.encoder._head import HeadInput


def stack(readings: Sequence[Reading], vectors: Sequence[Tensor]) -> HeadInput:
    """A batch for the head.

    Args:
        readings: The trajectories.
        vectors: For each, (n, width): the vectors of its candidate steps.
    """
    longest = max(1, *(len(reading.steps) for reading in readings))
    device = vectors[0].device
    return HeadInput(
        vectors=torch.stack([functional.pad(one, (0, 0, 0, longest - len(one))) for one in vectors]),
        features=padded([reading.features for reading in readings], longest, 0.0, device),
        speakers=padded([reading.speakers for reading in readings], longest, -1, device),
        positions=padded([reading.positions for reading in readings], longest, 0.0, device),
        reporters=padded([reading.reporters for reading in readings], longest, 0.0, device),
    )


def padded(rows: Sequence[NDArray[Any]], length: int, value: float, device: torch.device | str) -> Tensor:
    """(len(rows), length, ...): the rows, each filled up with ``value``."""
    out = np.full((len(rows), length, *rows[0].shape[1:]), value, rows[0].dtype)
    for k, row in enumerate(rows):
        out[k, : len(row)] = row
    return torch.from_numpy(out).to(device)
