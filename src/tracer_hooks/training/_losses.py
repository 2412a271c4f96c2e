"""The training objective: multiple-instance learning over steps, agents and modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from tracer_hooks.attribution.encoder import HeadOutput


class Targets(NamedTuple):
    """Labels of a batch of B trajectories with at most T steps and A agents."""

    agents: Tensor
    """(B, A): 1 for a faulty agent, 0 for another one, -1 for padding."""
    modes: Tensor
    """(B, A, 14): 1 where the agent shows the mode."""
    bag: Tensor
    """(B, T): 1 for every step that may be the decisive one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossWeights:
    """How much each part of the loss counts."""

    agents: float = 1.0
    ranking: float = 1.0
    pointer: float = 0.5
    modes: float = 2.0


def loss_of(output: HeadOutput, targets: Targets, weights: LossWeights | None = None) -> Tensor:
    """Mean loss of a batch; every trajectory counts the same, however many agents and steps it has.

    - agents: binary cross-entropy for every agent that acted;
    - ranking: logistic loss of every pair of a faulty and another agent of the same trajectory;
    - pointer: minus log of the belief that falls on the bag of steps one of which is the decisive one;
    - modes: binary cross-entropy for every pair of agent and mode.
    """
    weights = weights or LossWeights()
    parts = (
        weights.agents * _agents(output.agents, targets.agents),
        weights.ranking * _ranking(output.agents, targets.agents),
        weights.pointer * _pointer(output.steps, targets.bag),
        weights.modes * _modes(output.modes, targets),
    )
    return torch.stack(parts).sum()


def _agents(logits: Tensor, truth: Tensor) -> Tensor:
    real = (truth >= 0).float()
    loss = functional.binary_cross_entropy_with_logits(logits, truth.clamp(min=0), reduction="none")
    return _per_trajectory(loss * real, real)


def _ranking(logits: Tensor, truth: Tensor) -> Tensor:
    pairs = ((truth == 1)[:, :, None] & (truth == 0)[:, None, :]).float()
    loss = functional.softplus(logits[:, None, :] - logits[:, :, None])
    return _per_trajectory(loss * pairs, pairs)


def _pointer(logits: Tensor, bag: Tensor) -> Tensor:
    known = (bag.sum(1) > 0).float()
    logits = logits.clamp(min=-1e4)
    inside = logits.masked_fill(bag == 0, -1e4).logsumexp(1)
    return ((logits.logsumexp(1) - inside) * known).sum() / len(known)


def _modes(logits: Tensor, targets: Targets) -> Tensor:
    real = (targets.agents >= 0).float()[..., None].expand_as(logits)
    loss = functional.binary_cross_entropy_with_logits(logits, targets.modes, reduction="none")
    return _per_trajectory(loss * real, real)


def _per_trajectory(loss: Tensor, counted: Tensor) -> Tensor:
    """A trajectory in which nothing is counted adds nothing: one batch of eight is then as good as eight of one."""
    inner = tuple(range(1, loss.dim()))
    share = loss.sum(inner) / counted.sum(inner).clamp(min=1)
    return share.sum() / len(share)
