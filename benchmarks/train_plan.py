"""Memory and time that training a judge takes on a machine, computed before anything is rented.

    python benchmarks/train_plan.py --shape qwen3-8b --machine 1x24 --config configs/judge-sft-1x24gb.toml --rows 400
    python benchmarks/train_plan.py --model Qwen3-8B --machine 1x80 --config configs/judge-grpo-1x80gb.toml --rows 400
    python benchmarks/train_plan.py --check                  # computed beside measured, on this processor

Memory is arithmetic over the model's shape (``_train_arithmetic.py``); ``--check`` trains models with random weights in
processes of their own and measures it. Times of GPUs are computed from the makers' figures and an assumed share of
them; no GPU has been measured.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _train_arithmetic import (
    GB,
    Run,
    Shape,
    rollout_memory,
    rollout_seconds,
    training_flops,
    training_memory,
)

QWEN3: dict[str, Shape] = {
    "qwen3-8b": Shape(
        layers=36, width=4096, inner=12_288, heads=32, kv_heads=8, head_width=128, vocabulary=151_936, tied=False,
        query_norm=True,
    ),
    "qwen3-4b": Shape(
        layers=36, width=2560, inner=9_728, heads=32, kv_heads=8, head_width=128, vocabulary=151_936, tied=True,
        query_norm=True,
    ),
}  # fmt: skip
CHECKS = (("30M", 1024), ("135M", 512))
"""Shapes that are measured, and the tokens of a row."""
CHECK_RANK = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One or several GPUs of a kind."""

    gpu: str
    devices: int
    memory: float
    """Bytes of each."""
    flops_per_s: float
    """Dense bfloat16 with sums in float32, by the maker's data sheet."""
    bytes_per_s: float
    """Of its memory, by the same."""
    compute_share: float = 0.35
    """What training reaches of it: assumed."""
    memory_share: float = 0.25
    """What generating with transformers reaches of it: assumed; vLLM reaches more."""


MACHINES: dict[str, Machine] = {
    "1x24": Machine(gpu="RTX 4090", devices=1, memory=24 * 2**30, flops_per_s=165e12, bytes_per_s=1.008e12),
    "1x80": Machine(gpu="A100 80 GB SXM", devices=1, memory=80 * 2**30, flops_per_s=312e12, bytes_per_s=2.039e12),
    "8x80": Machine(
        gpu="8 x H100 80 GB SXM", devices=8, memory=80 * 2**30, flops_per_s=989e12, bytes_per_s=3.35e12,
        compute_share=0.3,
    ),
}  # fmt: skip
MARGIN, FIXED = 0.1, 1.5 * GB
"""What is kept free: a share for what is allocated and not used, and what CUDA takes for itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run takes on a machine."""

    memory: dict[str, dict[str, float]]
    """Bytes on each device, part by part: of ``training``, and for GRPO of ``rollouts``."""
    needed: float
    """Bytes that a device should have: the larger sum with the margin."""
    fits: bool
    row_seconds: float
    """For one row of SFT, or for one prompt of GRPO with all its replies, on the whole machine."""
    hours: float
    """For all rows, as often as they are gone through."""


def plan(shape: Shape, config: dict[str, Any], machine: Machine, *, rows: int) -> Plan:
    """Compute what a run takes.

    Args:
        shape: Of the model.
        config: Keys of ``SFTConfig``, or of ``GRPOConfig`` where ``rollouts`` is among them; defaults count.
        machine: Where it is to run. A whole model is sharded over its devices, an adapter is not.
        rows: Labelled runs, as many as there are.
    """
    rank = int(config.get("lora_rank", 0))
    run = Run(
        tokens=int(config.get("context_tokens", 8192)),
        reply_tokens=int(config.get("reply_tokens", 512)),
        batch=int(config.get("batch", 1)),
        lora_rank=rank,
        checkpointing=bool(config.get("gradient_checkpointing", False)),
        devices=1 if rank else machine.devices,
    )
    compute = machine.flops_per_s * machine.compute_share
    seconds = training_flops(shape, run) / compute
    memory = {"training": training_memory(shape, run)}
    if "rollouts" in config:
        rollouts = int(config["rollouts"])
        at_once = int(config.get("generated_at_once") or run.batch * int(config.get("accumulation", 8)))
        memory["rollouts"] = rollout_memory(shape, run, at_once=at_once)
        bandwidth = machine.bytes_per_s * machine.memory_share
        made = rollout_seconds(shape, run, at_once=at_once, bytes_per_s=bandwidth, flops_per_s=compute)
        seconds = rollouts * (seconds + made / at_once)
    seconds /= machine.devices
    needed = max(sum(parts.values()) for parts in memory.values()) * (1 + MARGIN) + FIXED
    return Plan(
        memory=memory,
        needed=needed,
        fits=needed <= machine.memory,
        row_seconds=seconds,
        hours=rows * float(config.get("epochs", 2)) * seconds / 3600,
    )


def check() -> list[dict[str, Any]]:
    """Computed and measured memory of the same steps: each shape whole and LoRA, with and without checkpointing."""
    from _train_memory import SHAPES

    found = []
    for name, tokens in CHECKS:
        given = {**SHAPES[name]}
        kind = given.pop("kind")
        shape = Shape(**given, head_width=64, tied=kind == "llama", query_norm=kind == "qwen3")
        for rank in (0, CHECK_RANK):
            for checkpointing in (False, True):
                run = Run(tokens=tokens, lora_rank=rank, checkpointing=checkpointing, scores_every_token=True)
                computed = sum(training_memory(shape, run).values())
                command = [sys.executable, str(Path(__file__).with_name("_train_memory.py")), name]
                command += ["--tokens", str(tokens), "--rank", str(rank), *["--checkpointing"][: int(checkpointing)]]
                said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
                measured = json.loads(said)
                row = {
                    "shape": name,
                    "tokens": tokens,
                    "lora_rank": rank,
                    "checkpointing": checkpointing,
                    "computed_gb": round(computed / GB, 3),
                    "measured_gb": round(measured["peak"] / GB, 3),
                    "computed_over_measured": round(computed / measured["peak"], 3),
                    "seconds_per_step": measured["seconds_per_step"],
                }
                print(json.dumps(row), flush=True)
                found.append(row)
    return found


def main() -> None:
    """Print a plan, or check the arithmetic."""
    options = _options()
    if options.check:
        check()
        return
    config = tomllib.loads(options.config.read_text(encoding="utf-8")) if options.config else {}
    shape = Shape.read(options.model) if options.model else QWEN3[options.shape]
    machine = MACHINES[options.machine]
    found = plan(shape, config, machine, rows=options.rows)
    document = {
        "parameters": shape.parameters,
        "machine": machine.gpu,
        "memory_gb": {
            name: {part: round(value / GB, 2) for part, value in parts.items()} for name, parts in found.memory.items()
        },
        "needed_gb": round(found.needed / GB, 1),
        "has_gb": round(machine.memory / GB, 1),
        "fits": found.fits,
        "row_seconds_computed": round(found.row_seconds, 2),
        "hours_computed": round(found.hours, 2),
    }
    print(json.dumps(document, indent=1))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="folder with config.json")
    parser.add_argument("--shape", choices=[*QWEN3], default="qwen3-8b", help="without --model")
    parser.add_argument("--config", type=Path, help="of tracer-hooks train sft or grpo, in TOML")
    parser.add_argument("--machine", choices=[*MACHINES], default="1x24")
    parser.add_argument("--rows", type=int, default=400, help="labelled runs")
    parser.add_argument("--check", action="store_true", help="measure small models beside what is computed")
    return parser.parse_args()


if __name__ == "__main__":
    main()
