"""The step encoder: a small BERT that turns a step's tokens into one vector."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from tracer_hooks._optional import require
from tracer_hooks.attribution.encoder._tokens import StepTokens

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
        transformers = require("transformers", extra="model", feature=_FEATURE)
        self.config = {key: config[key] for key in CONFIG_KEYS}
        self.bert: BertModel = transformers.BertModel(transformers.BertConfig(**self.config), add_pooling_layer=False)

    @classmethod
    def from_base(cls, directory: Path) -> StepEncoder:
        """The encoder of a folder with ``config.json`` and ``model.safetensors``, as sentence-transformers write it."""
        load_file = require("safetensors.torch", extra="model", feature=_FEATURE).load_file
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
