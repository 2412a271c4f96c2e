"""Peak memory of steps of ``train sft`` on a model with random weights, measured in a process of its own."""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import re
import tempfile
from pathlib import Path
from typing import Any

STEPS, ACCUMULATION = 2, 2
"""The second step has the optimiser's state, and its second batch the gradients of the first."""
SHAPES: dict[str, dict[str, Any]] = {
    "30M": {
        "layers": 8, "width": 448, "inner": 1216, "heads": 7, "kv_heads": 7, "vocabulary": 16_384, "kind": "llama",
    },
    "135M": {
        "layers": 30, "width": 576, "inner": 1536, "heads": 9, "kv_heads": 3, "vocabulary": 49_152, "kind": "llama",
    },
}  # fmt: skip


def write_shape(folder: Path, name: str) -> None:
    """Write ``config.json`` and a tokenizer; the weights are random in any case."""
    import tokenizers
    import transformers

    shape = SHAPES[name]
    made = {"llama": transformers.LlamaConfig, "qwen3": transformers.Qwen3Config}[shape["kind"]](
        vocab_size=shape["vocabulary"],
        hidden_size=shape["width"],
        intermediate_size=shape["inner"],
        num_hidden_layers=shape["layers"],
        num_attention_heads=shape["heads"],
        num_key_value_heads=shape["kv_heads"],
        head_dim=64,
        max_position_embeddings=8192,
        tie_word_embeddings=shape["kind"] == "llama",
        eos_token_id=0,
        pad_token_id=1,
        bos_token_id=None,
    )
    made.save_pretrained(folder)
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<end>": 0, "<pad>": 1, "?": 2}, unk_token="?"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<end>", pad_token="<pad>")
    tokenizer.save_pretrained(folder)


def train_some(folder: Path, *, tokens: int, rank: int, checkpointing: bool) -> float:
    """Train for a few steps of full rows in bfloat16; gives the seconds of a step."""
    import torch

    from tracer_hooks.training import SFTConfig
    from tracer_hooks.training._language_model import load_language_model
    from tracer_hooks.training.sft import _trainer

    config = SFTConfig(
        data=(folder,),
        out=folder / "out",
        model=folder,
        init="random",
        context_tokens=max(1024, tokens),
        lora_rank=rank,
        merge=bool(rank),
        gradient_checkpointing=checkpointing,
        batch=1,
        accumulation=ACCUMULATION,
        max_steps=STEPS,
        checkpoint_every=10**9,
        tensorboard=False,
        precision="bfloat16",
    )
    language = load_language_model(config)
    words = int(language.model.config.vocab_size)
    chance = torch.Generator().manual_seed(0)
    rows = torch.randint(2, words, (STEPS * ACCUMULATION, tokens), generator=chance).tolist()
    trainer = _trainer(config, language, [{"input_ids": row, "labels": row} for row in rows], [])
    trainer.args.save_strategy = "no"
    return float(trainer.train().metrics["train_runtime"]) / STEPS


def measure(name: str, *, tokens: int, rank: int, checkpointing: bool) -> dict[str, Any]:
    """Peak resident memory above that of a process that has trained something tiny already."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        SHAPES["tiny"] = {**SHAPES["30M"], "layers": 1, "width": 64, "inner": 64, "heads": 1, "kv_heads": 1}
        for one in ("tiny", name):
            (folder / one).mkdir()
            write_shape(folder / one, one)
        train_some(folder / "tiny", tokens=64, rank=rank, checkpointing=checkpointing)
        gc.collect()
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak counts from here
        before = _resident("VmRSS")
        seconds = train_some(folder / name, tokens=tokens, rank=rank, checkpointing=checkpointing)
        return {"peak": _resident("VmHWM") - before, "seconds_per_step": round(seconds, 2)}


def _resident(which: str) -> int:
    found = re.search(rf"^{which}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"), re.MULTILINE)
    assert found is not None, "Linux only"
    return 1024 * int(found[1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shape", choices=[*SHAPES])
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--checkpointing", action="store_true")
    given = parser.parse_args()
    found = measure(given.shape, tokens=given.tokens, rank=given.rank, checkpointing=given.checkpointing)
    print(json.dumps(found))
