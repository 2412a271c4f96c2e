"""Does training make a small language model a better judge of `structural`'s first three steps?

One slice of training, SFT and then GRPO, on labelled runs; both go on where they stopped when the command is run again,
and so do the answers. Beside each other, on the same runs of other questions and of a team that was left out: the model
as it comes, after SFT, after GRPO, the step that `structural` itself puts first, and answers without reading the run.

The runs that are reported are set aside before anything is trained; training itself holds none back and chooses no
checkpoint, so that nothing was chosen on any of them. Which run counts is in `_judge_parts.py`, the figures are in
`_judge_report.py`. What decides is the answer of a model alone over the three orders of the options.

    python benchmarks/judge_training.py --data train.jsonl.xz --model SmolLM2-135M --leave-out dylan --out slice/
    python benchmarks/judge_training.py --report benchmarks/data/judge_training/smollm2-135m.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch
from _judge_answers import Answer, Reader, as_answers, ask_all
from _judge_parts import (
    OTHER_QUESTIONS,
    OTHER_TEAM,
    Choice,
    Dealer,
    Sizes,
    file_of,
    questions_of,
    read_choices,
    write_parts,
)
from _judge_report import GRPO, SFT, ZERO_SHOT, report
from rich.console import Console

from tracer_hooks.training import GRPOConfig, OnConsole, SFTConfig, train_grpo, train_sft
from tracer_hooks.training._config import JudgeConfig
from tracer_hooks.training._language_model import load_language_model
from tracer_hooks.training._run import METRICS
from tracer_hooks.training.data import LabeledRow, read_labeled

REPLY_TOKENS = 32


def main() -> None:
    options = _options()
    if options.report is not None:
        document = json.loads(options.report.read_text(encoding="utf-8"))
    else:
        if options.data is None or options.model is None or options.out is None:
            raise SystemExit("--data, --model and --out are needed, or --report")
        document = _measured(options)
        (options.out / "judge_training.json").write_text(json.dumps(document) + "\n", encoding="utf-8")
    answers = {way: {run: as_answers(told) for run, told in runs.items()} for way, runs in document["answers"].items()}
    print(report(read_choices(document["parts"]), answers, document["parts"]))


def _measured(options: argparse.Namespace) -> dict[str, Any]:
    sft = _sft(options)
    grpo = _grpo(options)
    parts = _parts(options, sft)
    print({name: part["kinds"] for name, part in parts.items()})
    answers: dict[str, dict[str, list[Answer]]] = {}
    ask = partial(_answers, options, sft, read_choices(parts))
    wait = not options.as_it_stands
    training = {SFT: _trained(sft, train_sft, wait=wait), GRPO: _trained(grpo, train_grpo, wait=wait)}
    for way, folder in ((GRPO, grpo.out), (SFT, sft.out), (ZERO_SHOT, options.model)):
        answers[way] = ask(way, folder, training[way]["steps"] if way in training else 0)
    return {
        "model": options.model.name,
        "options": {key: getattr(options, key) for key in _TOLD},
        "training": training,
        "parts": parts,
        "answers": {
            way: {run: [asdict(one) for one in found] for run, found in runs.items()} for way, runs in answers.items()
        },
    }


def _shared(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "task": "shortlist",
        "context_tokens": options.context_tokens,
        "step_chars": options.step_chars,
        "reply_tokens": REPLY_TOKENS,
        "bad_rows": "skip",
        "valid_share": 0.0,
        "lora_rank": options.lora_rank,
        "max_minutes": options.max_minutes,
        "checkpoint_every": options.checkpoint_every,
        "log_every": 1,
        "epochs": 1,
        "seed": options.seed,
        "resume": True,
    }


def _sft(options: argparse.Namespace) -> SFTConfig:
    return SFTConfig(
        **_shared(options),
        data=(options.out / file_of("sft"),),
        model=options.model,
        out=options.out / "sft",
        rate=options.sft_rate,
        accumulation=2,
    )


def _grpo(options: argparse.Namespace) -> GRPOConfig:
    return GRPOConfig(
        **_shared(options),
        data=(options.out / file_of("grpo"),),
        model=options.out / "sft",
        out=options.out / "grpo",
        rate=options.grpo_rate,
        rollouts=options.rollouts,
        batch=options.rollouts,
        accumulation=2,
    )


def _parts(options: argparse.Namespace, config: JudgeConfig) -> dict[str, Any]:
    """The parts as they were dealt out before, else dealt out now."""
    path = options.out / "parts.json"
    if not path.exists():
        sizes = Sizes(sft=options.sft_runs, grpo=options.grpo_runs, tested=options.tested_runs)
        count = load_language_model(config).count_tokens
        dealer = Dealer(config.asked, count, options.seed)
        write_parts(dealer.deal(read_labeled(options.data, bad_rows="skip"), options.leave_out, sizes), options.out)
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _trained(config: Any, train: Callable[[Any, OnConsole], dict[str, Any]], *, wait: bool) -> dict[str, Any]:
    """What ``metrics.json`` says of a training.

    Args:
        config: Of the training.
        train: Goes on with it where it has not come to its end.
        wait: Take only one that has.

    Raises:
        SystemExit: The time was over before its end; the next run goes on.
    """
    path = config.out / METRICS
    metrics = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    if metrics is None or (wait and metrics["training"]["stopped"] != "done"):
        metrics = train(config, OnConsole(Console(stderr=True), every=1))
    told: dict[str, Any] = metrics["training"]
    if wait and told["stopped"] != "done":
        raise SystemExit(f"{config.out}: {told['steps']} of {told['of_steps']} steps are done. Run the command again")
    return told


def _answers(
    options: argparse.Namespace,
    config: JudgeConfig,
    choices: dict[str, list[Choice]],
    way: str,
    folder: Path,
    steps: int,
) -> dict[str, list[Answer]]:
    asked: list[tuple[Choice, Callable[[Reader], Sequence[Any]]]] = []
    for part in (OTHER_QUESTIONS, OTHER_TEAM):
        rows = read_labeled([options.out / file_of(part)], bad_rows="skip").rows
        asked += [
            (choice, partial(_rows, config, row))
            for choice, row in list(zip(choices[part], rows, strict=True))[: options.asked_runs]
        ]
    journal = options.out / f"answers-{way.replace(' ', '_')}-{steps}.jsonl"
    return ask_all(lambda: Reader(folder, torch.bfloat16), asked, journal, REPLY_TOKENS)


def _rows(config: JudgeConfig, row: LabeledRow, reader: Reader) -> Sequence[Any]:
    return questions_of(row, config.asked, lambda text: len(reader.tokenizer.encode(text, add_special_tokens=False)))


_TOLD = (
    "leave_out",
    "sft_runs",
    "grpo_runs",
    "tested_runs",
    "context_tokens",
    "step_chars",
    "lora_rank",
    "sft_rate",
    "grpo_rate",
    "rollouts",
    "seed",
)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs="+", help="labelled trajectories")
    parser.add_argument("--model", type=Path, help="folder of a causal language model")
    parser.add_argument("--out", type=Path, help="folder for parts, models, answers and judge_training.json")
    parser.add_argument("--report", type=Path, help="only print the tables of this judge_training.json")
    parser.add_argument("--leave-out", default="dylan", help="team that is not trained on")
    parser.add_argument("--sft-runs", type=int, default=36)
    parser.add_argument("--grpo-runs", type=int, default=10)
    parser.add_argument("--tested-runs", type=int, default=60, help="of other questions, and of the team left out")
    parser.add_argument("--asked-runs", type=int, help="of each of these two, so many are asked; all by default")
    parser.add_argument("--context-tokens", type=int, default=2048)
    parser.add_argument("--step-chars", type=int, default=300)
    parser.add_argument("--lora-rank", type=int, default=16)
    parser.add_argument("--sft-rate", type=float, default=2e-4)
    parser.add_argument("--grpo-rate", type=float, default=5e-5)
    parser.add_argument("--rollouts", type=int, default=4)
    parser.add_argument("--checkpoint-every", type=int, default=5, help="steps")
    parser.add_argument("--max-minutes", type=float, default=60.0, help="of each of the two trainings")
    parser.add_argument("--as-it-stands", action="store_true", help="report also what the time has cut off")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
