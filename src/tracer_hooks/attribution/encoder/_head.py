"""A trajectory transformer over steps, with heads for the decisive step, the faulty agents, and their modes."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

MODES = 14
_FREQUENCIES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadConfig:
    """The shape of a :class:`Tower`."""

    vectors: int = 768
    """Width of a step vector; 0 for a tower that reads no words."""
    width: int = 192
    layers: int = 2
    heads: int = 4
    dropout: float = 0.1
    features: tuple[str, ...] = ()
    """Names of the structural features that join at the head; none by default."""

    def as_json(self) -> dict[str, Any]:
        """The fields as plain JSON."""
        return {**asdict(self), "features": list(self.features)}

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> HeadConfig:
        """The reverse of :meth:`as_json`."""
        return cls(**{**data, "features": tuple(data["features"])})


class HeadInput(NamedTuple):
    """A batch of B trajectories, padded to T candidate steps; people's steps are left out beforehand."""

    vectors: Tensor
    """(B, T, vectors): the step vectors."""
    features: Tensor
    """(B, T, features): structural features, normalised within the trajectory."""
    speakers: Tensor
    """(B, T): which agent acted, counted from 0 in each trajectory; -1 is padding."""
    positions: Tensor
    """(B, T): place in the run, from 0 to 1."""
    reporters: Tensor
    """(B, T): 1 where a step only says what a machine printed."""


class HeadOutput(NamedTuple):
    """Logits; those of padding are -inf (steps) or to be ignored (agents, modes)."""

    steps: Tensor
    """(B, T): the pointer to the decisive step."""
    agents: Tensor
    """(B, A): log-odds that each agent is at fault."""
    modes: Tensor
    """(B, A, 14): log-odds of each error mode of each agent."""


class _Layer(nn.Module):
    """A pre-norm transformer layer whose attention knows which steps are by the same agent and which come earlier."""

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.norm_attention, self.norm_forward = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        # For each head, what it adds for: the same agent, an earlier step, the neighbour before, the one after.
        self.relation = nn.Parameter(torch.zeros(config.heads, 4))
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, relations: Tensor, blocked: Tensor) -> Tensor:
        batch, length, width = x.shape
        query, key, value = self.qkv(self.norm_attention(x)).view(batch, length, 3, self.heads, -1).unbind(2)
        bias = torch.einsum("btsr,hr->bhts", relations, self.relation).masked_fill(blocked[:, None, None, :], -1e4)
        mixed = functional.scaled_dot_product_attention(
            query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), attn_mask=bias.to(query.dtype)
        )
        x = x + self.drop(self.mix(mixed.transpose(1, 2).reshape(batch, length, width)))
        out: Tensor = x + self.drop(self.down(functional.gelu(self.up(self.norm_forward(x)))))
        return out


class Tower(nn.Module):
    """Steps attend to each other; agents are pooled from their own steps, so that any roster can be scored.

    An agent has no embedding of its own: what it is called, and when it first spoke, would be learnt by heart for the
    architectures of the training data. The attention only knows which steps share an agent.
    """

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.norm = nn.LayerNorm(config.vectors, elementwise_affine=False) if config.vectors else None
        self.read = nn.Linear(2 * config.vectors, width) if config.vectors else None
        self.read_place = nn.Linear(2 * _FREQUENCIES + 1, width)
        self.read_features = nn.Linear(len(config.features), width) if config.features else None
        self.layers = nn.ModuleList(_Layer(config) for _ in range(config.layers))
        self.norm_out = nn.LayerNorm(width)
        self.point = nn.Linear(width, 1)
        self.judge = nn.Sequential(nn.Linear(3 * width, width), nn.GELU(), nn.Dropout(config.dropout))
        self.fault, self.mode = nn.Linear(width, 1), nn.Linear(width, MODES)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, given: HeadInput) -> HeadOutput:
        """Logits for a batch."""
        hidden = self.hidden(given)
        return self.outputs(*hidden, given)

    def hidden(self, given: HeadInput) -> tuple[Tensor, Tensor]:
        """What the linear heads read: (B, T, width) for the steps and (B, A, width) for the agents."""
        real = given.speakers >= 0
        steps = self._steps(given, real)
        return steps, self._agents(steps, given.speakers, real)

    def outputs(self, steps: Tensor, agents: Tensor, given: HeadInput) -> HeadOutput:
        """The linear heads alone."""
        pointer = self.point(steps).squeeze(-1).masked_fill(given.speakers < 0, -math.inf)
        return HeadOutput(pointer, self.fault(agents).squeeze(-1), self.mode(agents))

    def _steps(self, given: HeadInput, real: Tensor) -> Tensor:
        x = self.read_place(_places(given))
        if self.norm is not None and self.read is not None:
            vectors = self.norm(given.vectors)
            count = real.sum(1, keepdim=True).clamp(min=1)[..., None]
            # How a step differs from its trajectory's mean transfers better between teams than what it is about.
            apart = vectors - (vectors * real[..., None]).sum(1, keepdim=True) / count
            x = x + self.read(self.drop(torch.cat([vectors, apart], -1)))
        if self.read_features is not None:
            x = x + self.read_features(given.features)
        relations = _relations(given.speakers)
        for layer in self.layers:
            x = layer(x, relations, ~real)
        out: Tensor = self.norm_out(x)
        return out

    def _agents(self, steps: Tensor, speakers: Tensor, real: Tensor) -> Tensor:
        roster = torch.arange(max(1, int(speakers.max()) + 1), device=speakers.device)
        own = speakers[:, None, :] == roster[None, :, None]
        weight = self.point(steps).squeeze(-1)[:, None, :].masked_fill(~own, -1e4).softmax(-1) * own
        mean = own.to(steps.dtype) / own.sum(-1, keepdim=True).clamp(min=1)
        pooled = torch.cat([weight @ steps, mean @ steps], -1)
        everyone = (steps * real[..., None]).sum(1, keepdim=True) / real.sum(1).clamp(min=1)[:, None, None]
        out: Tensor = self.judge(torch.cat([pooled, (mean @ steps) - everyone], -1))
        return out


def _relations(speakers: Tensor) -> Tensor:
    length = speakers.shape[1]
    place = torch.arange(length, device=speakers.device)
    gap = (place[:, None] - place[None, :]).expand(speakers.shape[0], -1, -1)
    return torch.stack([speakers[:, :, None] == speakers[:, None, :], gap > 0, gap == 1, gap == -1], -1).float()


def _places(given: HeadInput) -> Tensor:
    scale = math.pi * 2.0 ** torch.arange(_FREQUENCIES, device=given.positions.device).float() / 2
    angle = given.positions[..., None] * scale
    return torch.cat([angle.sin(), angle.cos(), given.reporters[..., None].float()], -1)
