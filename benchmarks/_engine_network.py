"""The forward pass of a Llama or Qwen2 decoder over pieces of many sequences: the model read, its layers, the pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

FAMILIES = ("llama", "qwen2")

# Names of a GGUF file, and those of transformers.
_OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_INNER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


class ModelError(ValueError):
    """The model cannot be served."""


@dataclass(frozen=True)
class Model:
    """A model as read: its settings, its tensors under the names of transformers, its tokenizer."""

    config: Any
    tensors: dict[str, torch.Tensor]
    tokenizer: Any


def read_model(path: Path, dtype: torch.dtype) -> Model:
    """Read ``path``.

    Args:
        path: A folder as transformers saves it, or a ``.gguf`` file.
        dtype: What the tensors become.

    Raises:
        ModelError: There is no model, or one of another family than Llama and Qwen2.
    """
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    if path.suffix == ".gguf" and path.is_file():
        source, named = str(path.parent), {"gguf_file": path.name}
    elif path.is_dir():
        source, named = str(path), {}
    else:
        raise ModelError(f"no model at {str(path)!r}: expected a folder with config.json or a .gguf file")
    config = AutoConfig.from_pretrained(source, **named)
    if config.model_type not in FAMILIES:
        raise ModelError(f"{str(path)!r} is a {config.model_type!r} model; expected one of {', '.join(FAMILIES)}")
    tokenizer = AutoTokenizer.from_pretrained(source, **named)
    if named:
        tensors = _read_gguf(path, config, dtype)
    else:
        network = AutoModelForCausalLM.from_pretrained(source, dtype=dtype)
        tensors = {name: tensor.detach() for name, tensor in network.state_dict().items()}
    return Model(config=config, tensors=tensors, tokenizer=tokenizer)


def write_model(model: Model, folder: Path) -> None:
    """Write ``model`` as a folder that transformers reads; it loads much faster than a GGUF file."""
    from safetensors.torch import save_file

    tensors = dict(model.tensors)
    tied = tensors["lm_head.weight"].data_ptr() == tensors["model.embed_tokens.weight"].data_ptr()
    if tied:
        del tensors["lm_head.weight"]
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    model.config.tie_word_embeddings = tied
    model.config.dtype = str(next(iter(tensors.values())).dtype).removeprefix("torch.")
    model.config.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)


def _read_gguf(path: Path, config: Any, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    import gguf

    tensors: dict[str, torch.Tensor] = {}
    for entry in gguf.GGUFReader(str(path)).tensors:
        name = gguf_name(entry.name)
        if name is None:
            continue
        tensor = torch.from_numpy(gguf.dequantize(entry.data, entry.tensor_type).copy())
        if config.model_type == "llama" and (".q_proj." in name or ".k_proj." in name):
            heads = config.num_attention_heads if ".q_proj." in name else config.num_key_value_heads
            tensor = _halves_apart(tensor, heads)
        tensors[name] = tensor.to(dtype)
    tensors.setdefault("lm_head.weight", tensors["model.embed_tokens.weight"])
    return tensors


def gguf_name(name: str) -> str | None:
    """The transformers name of a tensor of a GGUF file; ``None`` for those a forward pass does not need."""
    stem, _, kind = name.rpartition(".")
    if stem in _OUTER:
        return f"{_OUTER[stem]}.{kind}"
    inner = re.fullmatch(r"blk\.(\d+)\.(\w+)", stem)
    if inner is None or inner[2] not in _INNER:
        return None
    return f"model.layers.{inner[1]}.{_INNER[inner[2]]}.{kind}"


def _halves_apart(tensor: torch.Tensor, heads: int) -> torch.Tensor:
    """Undo llama.cpp's order of the rotary dimensions of a Llama model."""
    half = tensor.shape[0] // heads // 2
    return tensor.reshape(heads, half, 2, *tensor.shape[1:]).transpose(1, 2).reshape(tensor.shape)


Linear = Callable[[torch.Tensor], torch.Tensor]

FORMATS = ("float32", "bfloat16", "int8")


def linear(weight: torch.Tensor, bias: torch.Tensor | None, number_format: str) -> Linear:
    """A function from rows ``[n, in]`` to rows ``[n, out]``.

    Args:
        weight: ``[out, in]``.
        bias: ``[out]``, if the layer has one.
        number_format: One of ``FORMATS``.
    """
    if number_format == "int8":
        return Int8Linear(weight, bias)
    if number_format == "bfloat16" and torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return PackedLinear(weight.bfloat16(), bias)
    return PlainLinear(weight, bias)


class PlainLinear:
    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        self._weight = weight
        self._bias = bias

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        return functional.linear(rows, self._weight, self._bias)


class PackedLinear:
    """Weights in oneDNN's own order: plain ``linear`` would put them into that order again at each call."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), 16)
        self._bias = None if bias is None else bias.bfloat16()

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = torch.ops.mkldnn._linear_pointwise(rows, self._weight, self._bias, "none", [], "")
        return out


class Int8Linear:
    """Both sides in eight bits: one scale for each output channel, and one for each row at the time of the call.

    Rows go in and come out in float32. A row becomes unsigned with a zero point of 128, which is what the CPU's
    instruction for dot products of bytes takes. A CPU without it (VNNI) adds two products at a time in sixteen bits,
    which hold them only if the weights have seven.
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        full = weight.float()
        most = 127 if torch.cpu._is_vnni_supported() else 63
        self._scale = full.abs().amax(1).clamp_min(1e-8) / most
        whole = (full / self._scale[:, None]).round_().clamp_(-most, most).to(torch.int8)
        self._weight = torch.ops.onednn.qlinear_prepack(whole, None)
        self._zero = torch.zeros(len(full), dtype=torch.int32)
        self._bias = None if bias is None else bias.float()

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        scale = rows.abs().amax(1, keepdim=True).clamp_min_(1e-8).div_(127)
        # The conversion cuts the fraction off, so that adding 128.5 rounds.
        whole = torch.mul(rows, scale.reciprocal()).add_(128.5).to(torch.uint8)
        out: torch.Tensor = torch.ops.onednn.qlinear_pointwise(
            whole, 1.0, 128, self._weight, self._scale, self._zero, None, 1.0, 0, torch.float32, "none", [], ""
        )
        out.mul_(scale)
        return out if self._bias is None else out.add_(self._bias)


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
