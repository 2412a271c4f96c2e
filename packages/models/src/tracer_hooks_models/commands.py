"""``tracer-hooks train``: training of the models that diagnose runs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tracer_hooks.cli.plugin import err, print_json, require

train_app = typer.Typer(help="Train models that diagnose runs.", no_args_is_help=True)

Config = Annotated[
    Path | None,
    typer.Option("--config", help="TOML, YAML or JSON file with any of the options.", show_default=False),
]
Data = Annotated[
    list[Path] | None,
    typer.Option(help="Labelled trajectories, files or folders; may be repeated.", show_default=False),
]
Out = Annotated[
    Path | None,
    typer.Option(help="Folder for the model, its card, metrics.json and the checkpoints.", show_default=False),
]
Epochs = Annotated[float | None, typer.Option(help="How often the data is gone through.", show_default=False)]
MaxSteps = Annotated[int | None, typer.Option(help="Steps of the optimiser; goes before --epochs.", show_default=False)]
MaxMinutes = Annotated[float | None, typer.Option(help="Stop after so long, with a checkpoint.", show_default=False)]
RunSeed = Annotated[int | None, typer.Option(help="Of everything that is random.", show_default=False)]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the last good checkpoint in --out.")]

_BASE = "Folder of all-MiniLM-L6-v2, of another small BERT, or of an earlier run."


class Architecture(StrEnum):
    """The kinds of team in Aegis."""

    AGENTVERSE = "agentverse"
    DEBATE = "debate"
    DYLAN = "dylan"
    MACNET = "macnet"
    MAGENTIC_ONE = "magentic-one"
    SMOLAGENTS = "smolagents"


@train_app.callback()
def train() -> None:
    """Train models that diagnose runs."""


def _add_judge_command(method: str, help_text: str) -> None:
    """Add a command that trains a judge: ``sft`` and ``grpo`` take the same options."""

    @train_app.command(method, help=help_text)
    def train_judge(
        config: Config = None,
        data: Data = None,
        model: Annotated[
            Path | None,
            typer.Option(help="Folder of a language model, or of an adapter of an earlier run.", show_default=False),
        ] = None,
        out: Out = None,
        epochs: Epochs = None,
        max_steps: MaxSteps = None,
        max_minutes: MaxMinutes = None,
        seed: RunSeed = None,
        resume: Resume = False,
    ) -> None:
        limits = {"epochs": epochs, "max_steps": max_steps, "max_minutes": max_minutes}
        _train(method, config, {"data": data, "model": model, "out": out, **limits, "seed": seed, "resume": resume})


_add_judge_command("sft", "Fine-tune a language model as a judge on labelled trajectories.")
_add_judge_command("grpo", "Train a judge by rewards of its own replies to labelled trajectories.")


@train_app.command()
def contrastive(
    config: Config = None,
    data: Data = None,
    base: Annotated[Path | None, typer.Option(help=_BASE, show_default=False)] = None,
    out: Out = None,
    epochs: Epochs = None,
    max_steps: MaxSteps = None,
    max_minutes: MaxMinutes = None,
    seed: RunSeed = None,
    resume: Resume = False,
) -> None:
    """Train the attributor `encoder` on labelled trajectories, by contrast of faulty and other steps."""
    limits = {"epochs": epochs, "max_steps": max_steps, "max_minutes": max_minutes}
    _train("contrastive", config, {"data": data, "base": base, "out": out, **limits, "seed": seed, "resume": resume})


@train_app.command(deprecated=True)
def encoder(
    data: Annotated[list[Path], typer.Option(help="Labelled trajectories, files or folders; may be repeated.")],
    base: Annotated[Path, typer.Option(help=_BASE)],
    out: Annotated[Path, typer.Option(help="Folder for the model, metrics.json and the checkpoint.")],
    epochs: Annotated[float, typer.Option(min=0.001, help="How often the data is gone through.")] = 1.5,
    max_minutes: Annotated[float, typer.Option(min=0.001, help="Stop training after so long.")] = 120.0,
    seed: Annotated[int, typer.Option(help="Of everything that is random.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in --out.")] = False,
    leave_out: Annotated[
        list[Architecture], typer.Option(help="Kind of team to leave out and report on; may be repeated.")
    ] = [],  # noqa: B006
    per_architecture: Annotated[
        int | None,
        typer.Option(
            min=1, help="Use at most so many trajectories of each kind of team; default all.", show_default=False
        ),
    ] = None,
    heads_only: Annotated[
        bool, typer.Option("--heads-only", help="Leave what --base brings as it is; train the rest.")
    ] = False,
    freeze: Annotated[int, typer.Option(min=0, help="How many of the lowest layers stay as they are.")] = 2,
    features: Annotated[bool, typer.Option(help="Whether structural features join at the head.")] = True,
    threads: Annotated[int, typer.Option(min=1, help="Processor threads.")] = 1,
    device: Annotated[str, typer.Option(help="cpu, cuda, or cuda:N.")] = "cpu",
) -> None:
    """Train the attributor `encoder` without contrast; `train contrastive` does that and more."""
    options = {
        "data": data,
        "base": base,
        "out": out,
        "epochs": epochs,
        "max_minutes": max_minutes,
        "seed": seed,
        "resume": resume,
        "leave_out_teams": [str(name) for name in leave_out],
        "per_team": per_architecture,
        "heads_only": heads_only,
        "freeze": freeze,
        "features": features,
        "threads": threads,
        "device": "cpu" if device == "cpu" else "auto",
        "contrast": "none",
        "bad_rows": "skip",
        "similarity": 1.0,
        **({"batch": 32, "head_rate": 1e-3} if heads_only else {}),
    }
    _train("encoder", None, options)


def _train(command: str, config: Path | None, options: dict[str, Any]) -> None:
    """Train as a file and the options that were given say, and print the metrics."""
    is_judge = command in ("sft", "grpo")
    require("trl" if is_judge else "accelerate", extra="train", feature=f"tracer-hooks train {command}")
    from tracer_hooks_models import training

    method = command if is_judge else "contrastive"
    kind = {"sft": "SFTConfig", "grpo": "GRPOConfig", "contrastive": "ContrastiveConfig"}[method]
    if command != "encoder":
        options = {name: value for name, value in options.items() if value not in (None, []) and value is not False}
    is_first = training.is_first_process()
    progress = training.OnConsole(err()) if is_first else training.Silent()
    metrics = getattr(training, f"train_{method}")(
        training.load_config(getattr(training, kind), config, options), progress
    )
    if is_first:
        print_json(metrics)
