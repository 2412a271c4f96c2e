"""``tracer-hooks train``: training of the models that diagnose runs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

if TYPE_CHECKING:
    from tracer_hooks.training import Progress

train_app = typer.Typer(help="Train models that diagnose runs.", no_args_is_help=True)


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


Config = Annotated[
    Optional[Path],  # noqa: UP045 - typer reads the annotation at run time
    typer.Option("--config", help="TOML, YAML or JSON file with any of the options.", show_default=False),
]
Data = Annotated[
    Optional[list[Path]],  # noqa: UP045
    typer.Option(help="Labelled trajectories, files or folders; may be repeated.", show_default=False),
]
Model = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(help="Folder of a language model, or of an adapter of an earlier run.", show_default=False),
]
Out = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(help="Folder for the model, its card, metrics.json and the checkpoints.", show_default=False),
]
Epochs = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option(help="How often the data is gone through.", show_default=False),
]
MaxSteps = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(help="Steps of the optimiser; goes before --epochs.", show_default=False),
]
MaxMinutes = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option(help="Stop after so long, with a checkpoint.", show_default=False),
]
Seed = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(help="Of everything that is random.", show_default=False),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the last good checkpoint in --out.")]


@train_app.command()
def sft(
    config: Config = None,
    data: Data = None,
    model: Model = None,
    out: Out = None,
    epochs: Epochs = None,
    max_steps: MaxSteps = None,
    max_minutes: MaxMinutes = None,
    seed: Seed = None,
    resume: Resume = False,
) -> None:
    """Fine-tune a language model as a judge on labelled trajectories."""
    from tracer_hooks._optional import require

    require("trl", extra="train", feature="tracer-hooks train sft")
    from tracer_hooks.training import SFTConfig, load_config, train_sft

    stated = _stated(
        data=data,
        model=model,
        out=out,
        epochs=epochs,
        max_steps=max_steps,
        max_minutes=max_minutes,
        seed=seed,
        resume=resume,
    )
    _finish(train_sft(load_config(SFTConfig, config, stated), _progress()))


@train_app.command()
def grpo(
    config: Config = None,
    data: Data = None,
    model: Model = None,
    out: Out = None,
    epochs: Epochs = None,
    max_steps: MaxSteps = None,
    max_minutes: MaxMinutes = None,
    seed: Seed = None,
    resume: Resume = False,
) -> None:
    """Train a judge by rewards of its own replies to labelled trajectories."""
    from tracer_hooks._optional import require

    require("trl", extra="train", feature="tracer-hooks train grpo")
    from tracer_hooks.training import GRPOConfig, load_config, train_grpo

    stated = _stated(
        data=data,
        model=model,
        out=out,
        epochs=epochs,
        max_steps=max_steps,
        max_minutes=max_minutes,
        seed=seed,
        resume=resume,
    )
    _finish(train_grpo(load_config(GRPOConfig, config, stated), _progress()))


@train_app.command()
def contrastive(
    config: Config = None,
    data: Data = None,
    base: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            help="Folder of all-MiniLM-L6-v2, of another small BERT, or of an earlier run.", show_default=False
        ),
    ] = None,
    out: Out = None,
    epochs: Epochs = None,
    max_steps: MaxSteps = None,
    max_minutes: MaxMinutes = None,
    seed: Seed = None,
    resume: Resume = False,
) -> None:
    """Train the attributor `encoder` on labelled trajectories, by contrast of faulty and other steps."""
    from tracer_hooks._optional import require

    require("accelerate", extra="train", feature="tracer-hooks train contrastive")
    from tracer_hooks.training import ContrastiveConfig, load_config, train_contrastive

    stated = _stated(
        data=data,
        base=base,
        out=out,
        epochs=epochs,
        max_steps=max_steps,
        max_minutes=max_minutes,
        seed=seed,
        resume=resume,
    )
    _finish(train_contrastive(load_config(ContrastiveConfig, config, stated), _progress()))


def _stated(**options: Any) -> dict[str, Any]:
    """The options that were given."""
    return {key: value for key, value in options.items() if value is not None and value is not False and value != []}


def _progress() -> Progress:
    from tracer_hooks.cli._console import err
    from tracer_hooks.training import OnConsole, Silent, is_first_process

    return OnConsole(err()) if is_first_process() else Silent()


def _finish(metrics: dict[str, Any]) -> None:
    from tracer_hooks.cli._console import print_json
    from tracer_hooks.training import is_first_process

    if is_first_process():
        print_json(metrics)


@train_app.command(deprecated=True)
def encoder(
    data: Annotated[list[Path], typer.Option(help="Labelled trajectories, files or folders; may be repeated.")],
    base: Annotated[
        Path, typer.Option(help="Folder of all-MiniLM-L6-v2, of another small BERT, or of an earlier run.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the model, metrics.json and the checkpoint.")],
    epochs: Annotated[float, typer.Option(min=0.001, help="How often the data is gone through.")] = 1.5,
    max_minutes: Annotated[float, typer.Option(min=0.001, help="Stop training after so long.")] = 120.0,
    seed: Annotated[int, typer.Option(help="Of everything that is random.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in --out.")] = False,
    leave_out: Annotated[
        list[Architecture], typer.Option(help="Kind of team to leave out and report on; may be repeated.")
    ] = [],  # noqa: B006
    per_architecture: Annotated[
        Optional[int],  # noqa: UP045 - typer reads the annotation at run time
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
    from tracer_hooks._optional import require

    require("accelerate", extra="train", feature="tracer-hooks train encoder")
    from tracer_hooks.training import ContrastiveConfig, load_config, train_contrastive

    stated = {
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
    _finish(train_contrastive(load_config(ContrastiveConfig, None, stated), _progress()))
