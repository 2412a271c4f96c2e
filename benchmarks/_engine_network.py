"""The forward pass of a Llama or Qwen2 decoder over pieces of many sequences at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from _engine_linear import Linear, linear
from _engine_model import Model
from torch.nn import functional


@dataclass(frozen=True)
class Piece:
    """The next tokens of one sequence: they follow the ``start`` tokens whose keys and values row ``row`` holds."""

    row: int
    start: int
    tokens: Sequence[int]


@dataclass(frozen=True)
class Layer:
    """The parts of one decoder layer."""

    attention_norm: torch.Tensor
    qkv: Linear
    out: Linear
    mlp_norm: torch.Tensor
    gate_up: Linear
    down: Linear


@dataclass(frozen=True)
class Places:
    """What every layer of one pass shares.

    Attributes:
        slots: Where the keys and values of each token go, as an index into rows times context.
        cos: Rotary cosines, ``[tokens, 1, head / 2]``; ``sin`` likewise.
        masks: For each piece what its tokens may attend to; ``None`` where a piece is one token.
    """

    slots: torch.Tensor
    cos: torch.Tensor
    sin: torch.Tensor
    masks: list[torch.Tensor | None]


class Network:
    """A decoder with room for the keys and values of ``rows`` sequences of ``context`` tokens.

    Attributes:
        store: Keys and values, ``[layers, 2, rows, context, kv heads, head]``. Memory is only taken as it is written.
    """

    def __init__(self, model: Model, number_format: str, rows: int, context: int) -> None:
        config = model.config
        self.heads: int = config.num_attention_heads
        self.kv_heads: int = config.num_key_value_heads
        self.size: int = getattr(config, "head_dim", None) or config.hidden_size // self.heads
        self._width: int = config.intermediate_size
        self._eps: float = config.rms_norm_eps
        # The int8 layers scale in float32, so that other formats between them would only add conversions.
        self._dtype = torch.bfloat16 if number_format == "bfloat16" else torch.float32
        kept = torch.float32 if number_format == "float32" else torch.bfloat16
        self._embedding = model.tensors["model.embed_tokens.weight"].to(kept)
        self._norm = model.tensors["model.norm.weight"].to(self._dtype)
        self._layers = [self._layer(model, at, number_format) for at in range(config.num_hidden_layers)]
        self._head = linear(model.tensors.pop("lm_head.weight").to(kept), None, number_format)
        self._cos, self._sin = _rotary(config, context, self._dtype)
        # Attention over small heads is twice as fast in float32; over larger ones the memory it reads decides.
        stored = self._dtype if self.size <= 64 else kept
        self.store = torch.empty(len(self._layers), 2, rows, context, self.kv_heads, self.size, dtype=stored)
        self.context = context

    def _layer(self, model: Model, at: int, number_format: str) -> Layer:
        def take(name: str) -> torch.Tensor | None:
            return model.tensors.pop(f"model.layers.{at}.{name}", None)

        def joined(names: Sequence[str]) -> Linear:
            weights = torch.cat([model.tensors.pop(f"model.layers.{at}.{name}.weight") for name in names])
            found = [bias for name in names if (bias := take(f"{name}.bias")) is not None]
            return linear(weights, torch.cat(found).to(self._dtype) if found else None, number_format)

        def norm(name: str) -> torch.Tensor:
            return model.tensors.pop(f"model.layers.{at}.{name}.weight").to(self._dtype)

        return Layer(
            attention_norm=norm("input_layernorm"),
            qkv=joined(["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]),
            out=joined(["self_attn.o_proj"]),
            mlp_norm=norm("post_attention_layernorm"),
            gate_up=joined(["mlp.gate_proj", "mlp.up_proj"]),
            down=joined(["mlp.down_proj"]),
        )

    @torch.inference_mode()
    def forward(self, pieces: Sequence[Piece], wanted: Sequence[int]) -> torch.Tensor:
        """Run all tokens of ``pieces``, and keep their keys and values.

        Args:
            pieces: At most one for each row.
            wanted: Indexes of the pieces whose next token is asked for.

        Returns:
            Logits in float32, ``[len(wanted), vocabulary]``.
        """
        places = self._places(pieces)
        hidden = self._embedding[torch.tensor([token for piece in pieces for token in piece.tokens])].to(self._dtype)
        for at, layer in enumerate(self._layers):
            normed = functional.rms_norm(hidden, (hidden.shape[1],), layer.attention_norm, self._eps)
            hidden = hidden + layer.out(self._attend(at, layer.qkv(normed), pieces, places))
            normed = functional.rms_norm(hidden, (hidden.shape[1],), layer.mlp_norm, self._eps)
            both = layer.gate_up(normed)
            hidden = hidden + layer.down(functional.silu(both[:, : self._width]).mul_(both[:, self._width :]))
        ends = torch.tensor([len(piece.tokens) for piece in pieces]).cumsum(0) - 1
        last = hidden[ends[list(wanted)]]
        return self._head(functional.rms_norm(last, (last.shape[1],), self._norm, self._eps)).float()

    def _places(self, pieces: Sequence[Piece]) -> Places:
        positions = torch.cat([torch.arange(piece.start, piece.start + len(piece.tokens)) for piece in pieces])
        counts = torch.tensor([len(piece.tokens) for piece in pieces])
        rows = torch.tensor([piece.row for piece in pieces]).repeat_interleave(counts)
        return Places(
            slots=rows * self.context + positions,
            cos=self._cos[positions],
            sin=self._sin[positions],
            masks=[_mask(piece, self.store.dtype) for piece in pieces],
        )

    def _attend(self, at: int, qkv: torch.Tensor, pieces: Sequence[Piece], places: Places) -> torch.Tensor:
        split = qkv.view(len(qkv), self.heads + 2 * self.kv_heads, self.size)
        turned = _rotate(split[:, : self.heads + self.kv_heads], places)
        keys, values = self.store[at]
        new = (turned[:, self.heads :], split[:, self.heads + self.kv_heads :])
        for kept, fresh in zip((keys, values), new, strict=True):
            flat = kept.view(-1, self.kv_heads, self.size)
            flat.index_copy_(0, places.slots, fresh.to(kept.dtype))
        queries = turned[:, : self.heads].to(keys.dtype)
        out = torch.empty(len(qkv), self.heads * self.size, dtype=self._dtype)
        begin = 0
        for piece, mask in zip(pieces, places.masks, strict=True):
            count = len(piece.tokens)
            end = piece.start + count
            part = _attention(queries[begin : begin + count], keys[piece.row, :end], values[piece.row, :end], mask)
            out[begin : begin + count] = part
            begin += count
        return out


def _attention(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor | None
) -> torch.Tensor:
    """Attention of the queries ``[n, heads, size]`` of one sequence over its keys ``[length, kv heads, size]``."""
    count, heads, size = queries.shape
    kv_heads = keys.shape[1]
    keys, values = keys.transpose(0, 1)[None], values.transpose(0, 1)[None]
    if mask is None:
        # The heads that share keys stand where several tokens would: keys are read once.
        found = functional.scaled_dot_product_attention(
            queries.view(1, kv_heads, heads // kv_heads, size), keys, values
        )
        return found.reshape(1, heads * size)
    shared = heads // kv_heads
    folded = queries.view(count, kv_heads, shared, size).permute(1, 2, 0, 3).reshape(1, kv_heads, shared * count, size)
    found = functional.scaled_dot_product_attention(folded, keys, values, attn_mask=mask.repeat(shared, 1))
    return found.view(kv_heads, shared, count, size).permute(2, 0, 1, 3).reshape(count, heads * size)


def _mask(piece: Piece, dtype: torch.dtype) -> torch.Tensor | None:
    count = len(piece.tokens)
    if count == 1:
        return None
    later = torch.ones(count, piece.start + count, dtype=torch.bool).triu_(piece.start + 1)
    return torch.zeros(later.shape, dtype=dtype).masked_fill_(later, float("-inf"))


def _rotate(heads: torch.Tensor, places: Places) -> torch.Tensor:
    first, second = heads.chunk(2, dim=-1)
    return torch.cat((first * places.cos - second * places.sin, second * places.cos + first * places.sin), dim=-1)


def _rotary(config: Any, context: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines for each position, ``[context, 1, head / 2]``."""
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    cos, sin = LlamaRotaryEmbedding(config=config)(torch.empty(0, dtype=torch.float32), torch.arange(context)[None])
    half = cos.shape[-1] // 2
    return cos[0, :, None, :half].to(dtype), sin[0, :, None, :half].to(dtype)
