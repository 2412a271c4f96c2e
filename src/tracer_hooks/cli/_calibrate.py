"""``tracer-hooks calibrate``: the command and its options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Optional

import typer

from tracer_hooks.errors import ConfigError


class Trained(StrEnum):
    """What can be trained beside the fit."""

    JUDGE = "judge"


def calibrate(
    team: Annotated[
        str, typer.Argument(metavar="MODULE:build_team", help="What builds your team; path/to/file.py:NAME will do.")
    ],
    tasks: Annotated[
        Path,
        typer.Option(help="What the team is asked: a JSON object a line, with task and reference.", metavar="FILE"),
    ],
    check: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option(help="What says whether a run succeeded; default the tasks' references.", metavar="MODULE:check"),
    ] = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Folder of the labelled data; default .tracer_hooks/calibration/TEAM.", metavar="DIR"),
    ] = None,
    attributor: Annotated[str, typer.Option(help="Who is fitted.")] = "structural",
    injected: Annotated[int, typer.Option(help="Verified faults that are wanted.", min=0)] = 40,
    natural: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Natural failures to label at most; default all, 0 for none.", min=0),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Runs of the team on each task.", min=1)] = 1,
    faults: Annotated[int, typer.Option(help="Faults that are tried in each run that succeeds.", min=0)] = 3,
    trials: Annotated[int, typer.Option(help="Replays of each kind for a step of a natural failure.", min=1)] = 5,
    tool: Annotated[
        list[str],
        typer.Option(
            help="What a tool may do in replays: NAME=live, replayable, blocked or rebuilt. Default rebuilt: its state "
            "lives in the team's own process. May be repeated.",
            metavar="NAME=USE",
        ),
    ] = [],  # noqa: B006
    workers: Annotated[int, typer.Option(help="Runs that go on at the same time.", min=1)] = 2,
    max_runs: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Stop after so many runs; the same command goes on.", min=1),
    ] = None,
    max_tokens: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Stop after so many tokens.", min=1),
    ] = None,
    max_seconds: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="Stop after so many seconds.", min=0),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    train: Annotated[
        Optional[Trained],  # noqa: UP045
        typer.Option(
            help="Also train a judge on the labels, and compare it with what was fitted; see --model.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            help="Folder of the language model that the judge is trained from.", metavar="FOLDER", show_default=False
        ),
    ] = None,
    train_config: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            help="TOML, YAML or JSON with options of `train sft`; a table grpo with those of `train grpo` asks for "
            "training by rewards after it.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it will take, after a single run of the team.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> None:
    """Fit the attributor to your own team: run it, inject faults, replay failures, fit, measure on tasks left out."""
    from tracer_hooks._api import CalibrateOptions, JudgeTraining
    from tracer_hooks.cli._calibrate_job import CalibrateJob
    from tracer_hooks.cli._fault_options import tool_rules
    from tracer_hooks.replay import CostCap

    if train is None and (model or train_config):
        named = "--model" if model else "--train-config"
        raise ConfigError(f"{named} says how a judge is trained, expected --train judge with it. Add --train judge")
    options = CalibrateOptions(
        attributor=attributor,
        injected=injected,
        natural=natural,
        repeats=repeats,
        faults_per_run=faults,
        trials=trials,
        tools=tool_rules(tool),
        workers=workers,
        cap=CostCap(max_runs=max_runs, max_tokens=max_tokens, max_seconds=max_seconds),
        seed=seed,
        judge=None if train is None else JudgeTraining(model=model, config=train_config),
    )
    job = CalibrateJob(team=team, tasks=tasks, check=check, out=out, options=options, dry_run=dry_run, as_json=as_json)
    raise typer.Exit(job.run())
