"""Network of the encoder: step encoder, trajectory transformer with its heads, the two towers, batches for them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tracer_hooks.extension import require
from tracer_hooks_models.encoder._texts import EncoderInput, StepTokens

if TYPE_CHECKING:
    from transformers import BertModel

_FEATURE = "the attributor 'encoder'"
CONFIG_KEYS = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_eps",
    "hidden_act",
)
"""What of a BERT configuration decides the shape of the network."""


class StepEncoder(nn.Module):
    """Means over the step's own words and over its context, side by side: (S, 2 * hidden size).

    Args:
        config: Values for :data:`CONFIG_KEYS`.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        transformers = require("transformers", extra="models", feature=_FEATURE)
        self.config = {key: config[key] for key in CONFIG_KEYS}
        self.bert: BertModel = transformers.BertModel(transformers.BertConfig(**self.config), add_pooling_layer=False)

    @classmethod
    def from_base(cls, directory: Path) -> StepEncoder:
        """The encoder of a folder with ``config.json`` and ``model.safetensors``, as sentence-transformers write it."""
        load_file = require("safetensors.torch", extra="models", feature=_FEATURE).load_file
        encoder = cls(json.loads((directory / "config.json").read_text(encoding="utf-8")))
        found = load_file(directory / "model.safetensors")
        wanted = encoder.bert.state_dict()
        encoder.bert.load_state_dict({name: found[name] for name in wanted})
        return encoder

    @property
    def width(self) -> int:
        """Length of a step vector."""
        return 2 * int(self.config["hidden_size"])

    def freeze(self, layers: int) -> None:
        """Keep the embeddings and the lowest ``layers`` layers as they are."""
        lower = [self.bert.embeddings, *self.bert.encoder.layer[:layers]]
        for part in lower:
            part.requires_grad_(False)

    def forward(self, ids: Tensor, mask: Tensor, own: Tensor) -> Tensor:
        """Vectors of S steps.

        Args:
            ids: (S, L) token ids.
            mask: (S, L), 1 where there is a token.
            own: (S, L), 1 where the token is of the step's own words.
        """
        hidden = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        return torch.cat([_mean(hidden, own), _mean(hidden, mask - own)], -1)


def _mean(hidden: Tensor, weight: Tensor) -> Tensor:
    weight = weight.to(hidden.dtype)
    return (hidden * weight[..., None]).sum(1) / weight.sum(1, keepdim=True).clamp(min=1)


def pad(steps: Sequence[StepTokens]) -> tuple[Tensor, Tensor, Tensor]:
    """``ids``, ``mask`` and ``own`` of :meth:`StepEncoder.forward`, padded to the longest step."""
    length = max(len(step.ids) for step in steps)
    ids = torch.zeros(len(steps), length, dtype=torch.long)
    mask, own = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, step in enumerate(steps):
        ids[row, : len(step.ids)] = torch.tensor(step.ids)
        mask[row, : len(step.ids)] = 1
        own[row, step.own[0] : step.own[1]] = 1
    return ids, mask, own


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
        """Return what the linear heads read: (B, T, width) for the steps and (B, A, width) for the agents."""
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


class TrajectoryHead(nn.Module):
    """Logits from step vectors and structural features, which join at the end.

    One tower over both may lean on the vectors, which tell the teams of the training data apart. Two towers, each with
    its own loss, keep what either is worth, and either can be trained again without the other.

    Args:
        config: Of the tower that reads words; with features there is a second tower of the same size for those.
        share: Weight of the words, above 0 and below 1, where there are two towers.
    """

    def __init__(self, config: HeadConfig, share: float = 0.25) -> None:
        super().__init__()
        self.config, self.share = config, share
        self.words = Tower(replace(config, features=()))
        self.signs = Tower(replace(config, vectors=0)) if config.features else None

    @property
    def towers(self) -> list[Tower]:
        """The towers that there are, the words' first."""
        return [self.words] if self.signs is None else [self.words, self.signs]

    def trained(self, given: HeadInput) -> list[HeadOutput]:
        """The own logits of each tower that is being trained."""
        return [tower(given) for tower in self.towers if next(tower.parameters()).requires_grad]

    def forward(self, given: HeadInput) -> HeadOutput:
        """The weighted mean of the towers' logits; what is used."""
        return self.combined([tower(given) for tower in self.towers])

    def combined(self, outputs: list[HeadOutput]) -> HeadOutput:
        """The weighted mean of what the towers gave."""
        if len(outputs) == 1:
            return outputs[0]
        words, signs = outputs
        return HeadOutput(
            *(self.share * one + (1 - self.share) * other for one, other in zip(words, signs, strict=True))
        )

    def states(self, given: HeadInput) -> tuple[Tensor, HeadOutput]:
        """Return what the pointers read, (B, T, width) or twice as wide with two towers, and the logits."""
        hidden = [(tower, tower.hidden(given)) for tower in self.towers]
        outputs = [tower.outputs(steps, agents, given) for tower, (steps, agents) in hidden]
        return torch.cat([steps for _, (steps, _) in hidden], -1), self.combined(outputs)


def stack(readings: Sequence[EncoderInput], vectors: Sequence[Tensor]) -> HeadInput:
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


_CHUNK = 48


class EncoderModel(nn.Module):
    """A step encoder and the trajectory head over its vectors."""

    def __init__(self, backbone: StepEncoder, head: TrajectoryHead) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head
        self.in_bfloat16: bool | None = None
        """Whether steps are encoded in bfloat16; None: where that is fast."""

    @property
    def device(self) -> torch.device:
        """Device that holds the weights."""
        return next(self.head.parameters()).device

    def vectors(self, readings: Sequence[EncoderInput]) -> list[Tensor]:
        """For each trajectory, (n, width): the vectors of its candidate steps; equal steps are encoded once."""
        order: dict[StepTokens, int] = {}
        for reading in readings:
            for tokens in reading.tokens:
                order.setdefault(tokens, 0)
        ranked = sorted(order, key=lambda tokens: len(tokens.ids))  # of like length together: little padding
        order = {tokens: row for row, tokens in enumerate(ranked)}
        if not ranked:
            return [torch.zeros(0, self.backbone.width, device=self.device) for _ in readings]
        found = torch.cat([self._encoded(ranked[k : k + _CHUNK]) for k in range(0, len(ranked), _CHUNK)])
        return [found[[order[tokens] for tokens in reading.tokens]] for reading in readings]

    def forward(self, readings: Sequence[EncoderInput]) -> HeadOutput:
        """Logits of a batch of trajectories."""
        output: HeadOutput = self.head(stack(readings, self.vectors(readings)))
        return output

    def _encoded(self, steps: list[StepTokens]) -> Tensor:
        ids, mask, own = (tensor.to(self.device) for tensor in pad(steps))
        is_half = has_bf16(self.device) if self.in_bfloat16 is None else self.in_bfloat16
        with torch.autocast(self.device.type, torch.bfloat16, enabled=is_half):
            found: Tensor = self.backbone(ids, mask, own)
        return found.float()


def has_bf16(device: torch.device) -> bool:
    """Tell whether matrix products in bfloat16 are faster than in float32 there.

    A processor without instructions for them takes many times longer.
    """
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    checks = (getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    return any(check is not None and check() for check in checks)
