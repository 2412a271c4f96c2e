"""Does the trainer keep up with a bare PyTorch loop on the same model and the same rows?

Both train the same randomly initialised model on the same batches of full length, in the same precision, with AdamW;
the bare loop does nothing else, and makes the logits of whole rows, as transformers does. They take turns, so that
whatever else the machine does falls on both. Reported are tokens a second of each turn, after its first steps, and the
trainer's share: the median of the turns and all of them.
On a processor that others use too, ``--processor-seconds`` counts the seconds that the process itself got.

    python benchmarks/train_throughput.py --model shape/ --tokens 2048 --batch 1 --steps 20 --out throughput.json

``--model`` is a folder with ``config.json``, and a tokenizer beside it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tracer_hooks.training import SFTConfig
from tracer_hooks.training._language_model import IGNORED, load_language_model
from tracer_hooks.training._run import computes_in_bfloat16
from tracer_hooks.training.sft import _trainer

WARM = 3
"""Steps that are not timed."""


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        config = SFTConfig(
            data=(Path(folder),),
            out=Path(folder) / "out",
            model=options.model,
            init="random",
            context_tokens=max(1024, options.tokens),
            lora_rank=options.lora_rank,
            merge=bool(options.lora_rank),
            gradient_checkpointing=options.gradient_checkpointing,
            batch=options.batch,
            accumulation=1,
            max_steps=options.steps,
            checkpoint_every=10**9,
            log_every=10**6,
            tensorboard=False,
            precision=options.precision,
        )
        turns = [_turn(config, options, place) for place in range(options.rounds)]
    shares = sorted(turn.share for turn in turns)
    document = {
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "threads": torch.get_num_threads(),
        "parameters": options.parameters,
        "tokens_per_row": options.tokens,
        "labels_per_row": options.reply_tokens or options.tokens,
        "batch": options.batch,
        "seconds": "of the processor" if options.processor_seconds else "elapsed",
        "bfloat16": computes_in_bfloat16(config),
        "bare_tokens_per_s": [round(turn.bare, 1) for turn in turns],
        "trainer_tokens_per_s": [round(turn.ours, 1) for turn in turns],
        "shares": [round(share, 3) for share in shares],
        "share": round(statistics.median(shares), 3),
    }
    print(json.dumps(document, indent=1))
    if options.out is not None:
        options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Turn:
    """Tokens a second of both, one after the other."""

    bare: float
    ours: float

    @property
    def share(self) -> float:
        """Of the bare loop's speed that the trainer reaches."""
        return self.ours / self.bare


def _turn(config: SFTConfig, options: argparse.Namespace, place: int) -> Turn:
    if place % 2:  # whoever goes first may find the machine cooler
        ours = _ours(config, options)
        return Turn(bare=_bare(config, options), ours=ours)
    bare = _bare(config, options)
    return Turn(bare=bare, ours=_ours(config, options))


def _clock(options: argparse.Namespace) -> float:
    return time.process_time() if options.processor_seconds else time.perf_counter()


def _rows(language: Any, options: argparse.Namespace) -> list[dict[str, list[int]]]:
    chance = torch.Generator().manual_seed(0)
    size = len(language.tokenizer)
    made = torch.randint(0, size, (options.batch * options.steps, options.tokens), generator=chance).tolist()
    unlabelled = options.tokens - (options.reply_tokens or options.tokens)
    return [{"input_ids": row, "labels": [IGNORED] * unlabelled + row[unlabelled:]} for row in made]


def _bare(config: SFTConfig, options: argparse.Namespace) -> float:
    from peft import get_peft_model

    language = load_language_model(config)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = language.model if language.adapter is None else get_peft_model(language.model, language.adapter)
    options.parameters = sum(one.numel() for one in model.parameters())
    model = model.to(device).train()
    if options.gradient_checkpointing:
        model.gradient_checkpointing_enable()
        model.enable_input_require_grads()
    trained = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-6, fused=True)  # as transformers' Trainer does
    rows = _rows(language, options)
    half = computes_in_bfloat16(config)
    began = 0.0
    for step in range(options.steps):
        if step == WARM:
            _wait()
            began = _clock(options)
        batch = rows[step * options.batch : (step + 1) * options.batch]
        ids = torch.tensor([row["input_ids"] for row in batch], device=device)
        labels = torch.tensor([row["labels"] for row in batch], device=device)
        with torch.autocast(device.type, torch.bfloat16, enabled=half):
            loss = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    _wait()
    took = _clock(options) - began
    del model, optimizer, language
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return (options.steps - WARM) * options.batch * options.tokens / took


def _ours(config: SFTConfig, options: argparse.Namespace) -> float:
    from transformers import PrinterCallback, TrainerCallback

    class Clock(TrainerCallback):
        began = ended = 0.0

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step in (WARM, options.steps):
                _wait()
                now = _clock(options)
                self.began, self.ended = (now, 0.0) if state.global_step == WARM else (self.began, now)

    language = load_language_model(config)
    trainer = _trainer(config, language, _rows(language, options), [])
    trainer.args.save_strategy = "no"
    trainer.remove_callback(PrinterCallback)
    clock = Clock()
    trainer.add_callback(clock)
    trainer.train()
    return (options.steps - WARM) * options.batch * options.tokens / (clock.ended - clock.began)


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder with config.json and a tokenizer")
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--reply-tokens", type=int, help="labels at the end of each row; default: all of it")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each")
    parser.add_argument("--processor-seconds", action="store_true", help="count those, not the elapsed ones")
    parser.add_argument("--lora-rank", type=int, default=0)
    parser.add_argument("--gradient-checkpointing", action="store_true")
    parser.add_argument("--precision", choices=("auto", "bfloat16", "float32"), default="auto")
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
