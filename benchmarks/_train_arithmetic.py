"""What a judge takes to train: memory and time, computed from the model's shape and the options of the run.

The memory follows what autograd keeps in transformers' layers of the Llama and Qwen3 kind (``benchmarks/train_plan.py
--check`` counts it), as trained here: in bfloat16 by autocast over float32 weights, or with a LoRA adapter over frozen
bfloat16 weights, with the loss of trl that never holds the logits of all tokens.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

GB = 1e9
_FLOAT, _HALF = 4, 2
_TILE_TOKENS, _TILE_WORDS = 4096, 32_768
"""The part of the logits that trl computes at a time."""
_TILE_ON_CPU = 31
"""Bytes for each of its numbers where there is no Triton: itself and seven copies in float32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The shape of a language model, from its ``config.json``."""

    layers: int
    width: int
    inner: int
    """Width of the feed-forward part."""
    heads: int
    kv_heads: int
    head_width: int
    vocabulary: int
    tied: bool
    """Whether the words' vectors are also the head's weights."""
    query_norm: bool = False
    """Whether queries and keys are normalised, as in Qwen3."""

    @classmethod
    def read(cls, folder: Path) -> Shape:
        """The shape of a model in a folder."""
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        heads = int(config["num_attention_heads"])
        return cls(
            layers=int(config["num_hidden_layers"]),
            width=int(config["hidden_size"]),
            inner=int(config["intermediate_size"]),
            heads=heads,
            kv_heads=int(config.get("num_key_value_heads") or heads),
            head_width=int(config.get("head_dim") or config["hidden_size"] // heads),
            vocabulary=int(config["vocab_size"]),
            tied=bool(config.get("tie_word_embeddings", False)),
            query_norm=config.get("model_type") == "qwen3",
        )

    @property
    def queries(self) -> int:
        """Width of all queries together."""
        return self.heads * self.head_width

    @property
    def keys(self) -> int:
        """Width of all keys together, and of all values."""
        return self.kv_heads * self.head_width

    @property
    def linear_shapes(self) -> tuple[tuple[int, int], ...]:
        """Inputs and outputs of a layer's seven linear parts."""
        h, q, k, f = self.width, self.queries, self.keys, self.inner
        return (h, q), (h, k), (h, k), (q, h), (h, f), (h, f), (f, h)

    @property
    def linear(self) -> int:
        """Weights of the linear parts of all layers."""
        return self.layers * sum(a * b for a, b in self.linear_shapes)

    @property
    def embedding(self) -> int:
        """Weights of the words' vectors."""
        return self.vocabulary * self.width

    @property
    def parameters(self) -> int:
        """All weights."""
        norms = 2 * self.width + (2 * self.head_width if self.query_norm else 0)
        return self.linear + self.layers * norms + self.width + self.embedding * (1 if self.tied else 2)

    def adapter(self, rank: int) -> int:
        """Weights of a LoRA adapter on all linear parts."""
        return self.layers * sum(rank * (a + b) for a, b in self.linear_shapes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The options of a run that decide what it takes."""

    tokens: int
    """Tokens of a row, prompt and reply."""
    reply_tokens: int = 512
    batch: int = 1
    lora_rank: int = 0
    checkpointing: bool = False
    devices: int = 1
    """Over which weights, gradients and optimiser are sharded."""
    scores_every_token: bool = False
    """trl's loss looks at the tokens of replies on a GPU, and at all of them on a processor."""


def training_memory(shape: Shape, run: Run) -> dict[str, float]:
    """Bytes on each device at the worst moment of a step after the first one, part by part.

    Gradients of earlier batches of the same step are there throughout. The worst moment is the end of the way forth,
    the loss on the way back, or a layer on the way back.
    """
    lora, shards = run.lora_rank > 0, run.devices
    trained = shape.adapter(run.lora_rank) if lora else shape.parameters
    held = {
        "weights": (_HALF * shape.parameters + _FLOAT * trained if lora else _FLOAT * trained) / shards,
        "gradients": _FLOAT * trained / shards,
        "optimiser": 2 * _FLOAT * trained / shards,
    }
    return held | max(_moments(shape, run), key=lambda parts: sum(parts.values()))


def _moments(shape: Shape, run: Run) -> list[dict[str, float]]:
    lora, tokens = run.lora_rank > 0, run.batch * run.tokens
    layer = tokens * kept_per_token(shape, lora_rank=run.lora_rank)
    residual = tokens * shape.width * (_HALF if lora else _FLOAT)
    kept = shape.layers * (residual if run.checkpointing else layer)
    # Autocast keeps a bfloat16 copy of each weight that is trained: until the way forth ends, and then as long as the
    # layers' inputs are kept. FSDP casts its shards, and gathers two layers at a time and the head.
    copies = _HALF * (shape.adapter(run.lora_rank) if lora else shape.linear)
    forth = back = float(copies)
    if run.devices > 1:
        forth = back = 2 * _HALF * shape.linear / shape.layers + _FLOAT * shape.embedding
    elif run.checkpointing:
        back = copies / shape.layers
    again = layer if run.checkpointing else 0
    inner = tokens * (3 * _HALF * shape.inner + 2 * _FLOAT * shape.width)
    tile, grads = _head(shape, run)
    return [
        {"bfloat16 copies": forth, "activations": kept, "head": tile},
        {"bfloat16 copies": back, "activations": kept, "head": tile + grads},
        {"bfloat16 copies": back, "activations": kept + again + inner, "head": 0.0},
    ]


def kept_per_token(shape: Shape, *, lora_rank: int) -> int:
    """Bytes that autograd keeps of one layer for each token."""
    h, q, k, f = shape.width, shape.queries, shape.keys, shape.inner
    if lora_rank:
        # float32 copies in the two norms, an input for each adapter, what attention takes and gives
        found = 8 * h + 10 * h + 2 * q + 4 * q + 4 * k + 8 * f + 7 * _HALF * lora_rank
        normed = 4 * q + 4 * k
    else:
        # both norms in float32, an input for each linear part, what attention takes and gives
        found = 16 * h + 10 * h + 2 * q + 2 * q + 4 * k + 8 * f
        normed = 6 * q + 6 * k
    sums = 8 + 4 * shape.heads + (4 * (shape.heads + shape.kv_heads) if shape.query_norm else 0)
    return found + (normed if shape.query_norm else 0) + sums


def cache_per_token(shape: Shape) -> int:
    """Bytes of keys and values that generating keeps for each token of each reply."""
    return 2 * shape.layers * shape.keys * _HALF


def rollout_memory(shape: Shape, run: Run, *, at_once: int) -> dict[str, float]:
    """Bytes on each device while replies are generated.

    Args:
        shape: Of the model.
        run: As for training.
        at_once: Replies that a device generates at a time.
    """
    training = training_memory(shape, run)
    held = {name: training[name] for name in ("weights", "optimiser", "gradients")}
    logits = at_once * shape.vocabulary * (_HALF + 2 * _FLOAT)
    # A cache that grows is copied, one layer at a time.
    cache = at_once * run.tokens * cache_per_token(shape)
    # Prompts are read together; of a layer that keeps nothing, the widest moment counts.
    reading = at_once * (run.tokens - run.reply_tokens) * (3 * shape.inner + 4 * shape.width) * _HALF
    return {**held, "cache": cache + cache / shape.layers, "reading": float(reading), "logits": float(logits)}


def training_flops(shape: Shape, run: Run) -> float:
    """Floating point operations of one row: forth, back, and forth again with checkpointing."""
    attention = shape.layers * shape.queries * run.tokens  # half of the square, for scores and for values
    head = shape.embedding * min(run.reply_tokens / run.tokens, 1.0)
    back = 1 if run.lora_rank else 2  # frozen weights have no gradient of their own
    again = 1 if run.checkpointing else 0
    per_token = shape.linear * (1 + back + again) + attention * (3 + again) + head * (2 + back)
    return 2.0 * run.tokens * per_token


def rollout_seconds(shape: Shape, run: Run, *, at_once: int, bytes_per_s: float, flops_per_s: float) -> float:
    """Seconds for ``at_once`` replies on one device: reading the prompts, then weights and cache for every token.

    Args:
        shape: Of the model.
        run: As for training; the prompt is what the reply leaves of ``tokens``.
        at_once: Replies that a device generates at a time.
        bytes_per_s: What is really reached.
        flops_per_s: What is really reached.
    """
    prompt = run.tokens - run.reply_tokens
    reading = at_once * 2.0 * prompt * (shape.linear + shape.layers * shape.queries * prompt) / flops_per_s
    weights = _HALF * (shape.linear + shape.embedding)
    cache = at_once * cache_per_token(shape) * (prompt + run.reply_tokens / 2)
    return reading + run.reply_tokens * (weights + cache) / bytes_per_s


def _head(shape: Shape, run: Run) -> tuple[float, float]:
    """Bytes of a tile of the logits, and of the gradients of what made it: its inputs, and weights if trained."""
    scored = run.batch * (run.tokens if run.scores_every_token else run.reply_tokens)
    tile = min(scored, _TILE_TOKENS) * min(_TILE_WORDS, shape.vocabulary)
    inputs = scored * shape.width * _FLOAT
    return tile * (_TILE_ON_CPU if run.scores_every_token else _HALF), inputs + (
        0 if run.lora_rank else _FLOAT * shape.embedding
    )
