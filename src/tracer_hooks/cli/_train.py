"""``tracer-hooks train``: training of the models that tracer-hooks ships."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Optional

import typer

train_app = typer.Typer(help="Train the models that tracer-hooks ships.", no_args_is_help=True)


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
    """Train the models that tracer-hooks ships."""


@train_app.command()
def encoder(
    data: Annotated[list[Path], typer.Option(help="Labelled trajectories, files or folders; may be repeated.")],
    base: Annotated[
        Path, typer.Option(help="Folder of all-MiniLM-L6-v2, of another small BERT, or of an earlier run.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the model, metrics.json and the checkpoint.")],
    epochs: Annotated[float, typer.Option(min=0.0, help="How often the data is gone through.")] = 1.5,
    max_minutes: Annotated[float, typer.Option(min=0.0, help="Stop training after so long.")] = 120.0,
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
    """Train the step encoder and its heads on labelled trajectories."""
    from tracer_hooks._optional import require
    from tracer_hooks.cli._console import err, print_json

    require("torch", extra="model", feature="tracer-hooks train encoder").set_num_threads(threads)
    from tracer_hooks.training.encoder import EncoderTraining, LoopOptions, OnConsole, train_encoder

    job = EncoderTraining(
        data=tuple(data),
        base=base,
        out=out,
        loop=LoopOptions(epochs=epochs, seed=seed, batch=32, head_rate=1e-3)
        if heads_only
        else LoopOptions(epochs=epochs, seed=seed),
        max_minutes=max_minutes,
        resume=resume,
        leave_out=tuple(str(name) for name in leave_out),
        per_architecture=per_architecture,
        heads_only=heads_only,
        freeze=freeze,
        features=features,
        device=device,
    )
    print_json(train_encoder(job, OnConsole(err())))
