"""Choose the next token of one sequence."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch

# A token below e^-18 of the likeliest is only looked at where those above do not make up the nucleus.
_REACH = 18.0


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn: ``temperature`` 0 takes the likeliest; ``seed`` makes the draws repeatable."""

    temperature: float = 1.0
    top_p: float = 1.0
    seed: int | None = None


class Sampler:
    """Draws the tokens of one sequence with a generator of its own."""

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._generator = torch.Generator()
        seed = sampling.seed if sampling.seed is not None else int.from_bytes(os.urandom(7), "big")
        self._generator.manual_seed(seed % 2**63)

    def draw(self, logits: torch.Tensor) -> int:
        """The next token, given the logits ``[vocabulary]`` in float32."""
        sampling = self._sampling
        if sampling.temperature == 0:
            return int(logits.argmax())
        scaled = logits / sampling.temperature
        weights = (scaled - scaled.max()).exp_()
        total = float(weights.sum(dtype=torch.float64))
        chosen = self._nucleus(weights, total) if sampling.top_p < 1 else None
        kept = weights if chosen is None else weights[chosen]
        sums = kept.double().cumsum(0)
        point = torch.rand((), generator=self._generator, dtype=torch.float64) * sums[-1]
        at = min(int(torch.searchsorted(sums, point, right=True)), len(sums) - 1)
        return at if chosen is None else int(chosen[at])

    def _nucleus(self, weights: torch.Tensor, total: float) -> torch.Tensor:
        """The likeliest tokens whose weights together reach ``top_p`` of ``total``."""
        wanted = self._sampling.top_p * total
        near = (weights > torch.e**-_REACH).nonzero()[:, 0]
        if float(weights[near].sum(dtype=torch.float64)) < wanted:
            near = torch.arange(len(weights))
        order = near[weights[near].argsort(descending=True, stable=True)]
        sums = weights[order].double().cumsum(0)
        count = int(torch.searchsorted(sums, wanted)) + 1
        return order[:count]
