"""Read a Llama or Qwen2 model, from a folder or a GGUF file, as plain tensors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

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
