"""Does training make a small language model a better judge of `structural`'s first three steps?

One slice of training, SFT and then GRPO, on labelled runs; both go on where they stopped when the command is run again.
Beside each other, on questions and on teams that were not trained on: the model as it comes, after SFT, after GRPO,
the step that `structural` itself puts first, and an answer without reading: the rank among the three that is right most
often in the training part. Only runs whose labelled step is among the three count, in every row.

    python benchmarks/judge_training.py --data labels/ --model SmolLM2-135M --leave-out Magentic-One --max-minutes 60 \
        --out judge_training/
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from tracer_hooks.training import GRPOConfig, OnConsole, SFTConfig, train_grpo, train_sft
from tracer_hooks.training._answers import figures_of
from tracer_hooks.training._language_model import load_language_model
from tracer_hooks.training.data import Candidates, LabeledRow, prompt_rows, read_labeled, split_rows

_THREE = 3


def main() -> None:
    options = _options()
    shared: dict[str, Any] = {
        "data": tuple(options.data),
        "task": "shortlist",
        "context_tokens": options.context_tokens,
        "reply_tokens": 64,
        "bad_rows": "skip",
        "valid_share": 0.2,
        "leave_out_teams": tuple(options.leave_out or ()),
        "lora_rank": options.lora_rank,
        "max_minutes": options.max_minutes,
        "seed": options.seed,
        "resume": True,
    }
    sft = SFTConfig(**shared, model=options.model, out=options.out / "sft", epochs=2)
    grpo_model = options.out / "sft"
    grpo = GRPOConfig(**shared, model=grpo_model, out=options.out / "grpo", epochs=1)
    splits = split_rows(read_labeled(sft.data, bad_rows="skip"), sft.splits)
    parts = {"other questions": splits.valid, "teams left out": splits.left_out}
    rank = _usual_rank(splits.train)
    told = {name: _untrained(rows, sft, rank) for name, rows in parts.items() if rows}
    progress = OnConsole(Console(stderr=True))
    for way, metrics in (("SFT", train_sft(sft, progress)), ("SFT, then GRPO", train_grpo(grpo, progress))):
        for name in told:
            told[name][way] = metrics["figures"][name]
    document = {"model": options.model.name, "seed": options.seed, "usual_rank": rank, "figures": told}
    (options.out / "judge_training.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(_table(told))


def _untrained(rows: Sequence[LabeledRow], config: SFTConfig, rank: int) -> dict[str, Any]:
    language = load_language_model(config)
    asked = prompt_rows(rows, config.asked, language.count_tokens).rows
    counted = [row for row in rows if _rank_of(row) is not None]
    zero = figures_of(language.model, language.tokenizer, asked[:100], max_tokens=config.reply_tokens)
    return {
        "as it comes": None if zero is None else {"questions": zero.questions, "valid": zero.valid, "step": zero.step},
        "structural's first": {"questions": len(counted), "valid": 1.0, "step": _share(counted, 0)},
        "without reading": {"questions": len(counted), "valid": 1.0, "step": _share(counted, rank)},
    }


def _usual_rank(rows: Sequence[LabeledRow]) -> int:
    """The rank that is right most often."""
    found = Counter(rank for row in rows if (rank := _rank_of(row)) is not None)
    return found.most_common(1)[0][0] if found else 0


def _rank_of(row: LabeledRow) -> int | None:
    first = list(Candidates(row.trajectory).first(_THREE))
    return first.index(row.gold.step) if row.gold.step in first else None


def _share(rows: Sequence[LabeledRow], rank: int) -> float | None:
    return sum(_rank_of(row) == rank for row in rows) / len(rows) if rows else None


def _table(told: dict[str, dict[str, Any]]) -> str:
    lines = ["| part | answer | questions | valid | exact step |", "|---|---|---|---|---|"]
    for part, ways in told.items():
        for way, one in ways.items():
            if one is not None:
                step = "-" if one["step"] is None else f"{one['step']:.3f}"
                lines.append(f"| {part} | {way} | {one['questions']} | {one['valid']:.3f} | {step} |")
    return "\n".join(lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="labelled trajectories with steps")
    parser.add_argument("--model", type=Path, required=True, help="folder of a causal language model")
    parser.add_argument("--out", type=Path, required=True, help="folder for the models and judge_training.json")
    parser.add_argument("--leave-out", action="append", help="team that is not trained on; may be repeated")
    parser.add_argument("--context-tokens", type=int, default=4096)
    parser.add_argument("--lora-rank", type=int, default=16)
    parser.add_argument("--max-minutes", type=float, default=60.0, help="of each of the two trainings")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
