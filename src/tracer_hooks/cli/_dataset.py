"""``tracer-hooks dataset``: the commands and their options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Optional

import typer

from tracer_hooks.cli._fault_options import Strategy, WriterName

BOTH = (Strategy.RESPONSE_CORRUPTION, Strategy.PROMPT_INJECTION)

dataset_app = typer.Typer(help="Labelled data of teams: build, count, audit, export.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a build, or a JSONL or Parquet file.")]


class Framework(StrEnum):
    """What the suites' teams are written in."""

    PYTHON = "python"
    AUTOGEN = "autogen"
    CREWAI = "crewai"
    LANGGRAPH = "langgraph"


class Level(StrEnum):
    """How hard the suites' tasks are."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class ExportTo(StrEnum):
    """What ``dataset export`` writes."""

    WHOWHEN = "whowhen"
    AEGIS = "aegis"
    PARQUET = "parquet"
    JSONL = "jsonl"


@dataset_app.callback()
def dataset() -> None:
    """Labelled data of teams: build, count, audit, export."""


@dataset_app.command()
def build(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder; the same command goes on in it.")],
    team: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time
        typer.Argument(metavar="[MODULE:build_team]", help="What builds your team; path/to/file.py:NAME will do."),
    ] = None,
    tasks: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Your team's tasks: a JSON object a line, with task and reference.", metavar="FILE"),
    ] = None,
    check: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="What says whether a run succeeded; default the tasks' references.", metavar="MODULE:check"),
    ] = None,
    suite: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Instead of your team: a suite of tasks, for the teams that come with it.", metavar="NAME"),
    ] = None,
    count: Annotated[int, typer.Option(help="Tasks of the suite.", min=1)] = 20,
    difficulty: Annotated[Level, typer.Option(help="How hard they are.")] = Level.EASY,
    framework: Annotated[
        list[Framework], typer.Option(help="What the suite's teams are written in; may be repeated.")
    ] = [Framework.PYTHON],  # noqa: B006
    architecture: Annotated[
        list[str], typer.Option(help="Which of them; may be repeated; default all.", metavar="NAME", show_default=False)
    ] = [],  # noqa: B006
    base_url: Annotated[
        str, typer.Option(envvar="OPENAI_BASE_URL", help="Endpoint of the suite's teams and the writer.")
    ] = "",
    model: Annotated[str, typer.Option(envvar="OPENAI_MODEL", help="Its model.")] = "",
    temperature: Annotated[Optional[float], typer.Option(help="Of the suite's teams.", min=0.0)] = None,  # noqa: UP045
    max_reply: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Tokens of one reply of the suite's teams, at most.", min=1),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Runs of each team on each task.", min=1)] = 1,
    faults: Annotated[int, typer.Option(help="Faults that are tried in each run that succeeds.", min=0)] = 2,
    modes: Annotated[
        list[str], typer.Option(help="Error modes; may be repeated; default all.", metavar="FM-x.y", show_default=False)
    ] = [],  # noqa: B006
    kinds: Annotated[
        list[str],
        typer.Option(
            help="Mutators that may be used, such as own_number_for_theirs; may be repeated; default all.",
            metavar="KIND",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    strategies: Annotated[list[Strategy], typer.Option(help="How faults are put in; may be repeated.")] = [*BOTH],  # noqa: B006
    writer: Annotated[WriterName, typer.Option(help="Who writes faults.")] = WriterName.PROGRAMMATIC,
    natural: Annotated[bool, typer.Option(help="Whether failures are labelled by replay.")] = True,
    proposer: Annotated[
        str, typer.Option(help="Who writes corrections for them: resample, template or feedback; several with commas.")
    ] = "resample",
    trials: Annotated[int, typer.Option(help="Replays of each kind for each step of a failure.", min=1)] = 6,
    tool: Annotated[
        list[str],
        typer.Option(
            help="What a tool may do in replays: rebuilt, live, replayable or blocked; may be repeated, * is all "
            "others.",
            metavar="NAME=USE",
        ),
    ] = [],  # noqa: B006
    workers: Annotated[int, typer.Option(help="Runs that go on at the same time.", min=1)] = 4,
    wanted_injected: Annotated[Optional[int], typer.Option(help="Stop at so many verified faults.", min=0)] = None,  # noqa: UP045
    wanted_natural: Annotated[Optional[int], typer.Option(help="Stop at so many labelled failures.", min=0)] = None,  # noqa: UP045
    max_runs: Annotated[Optional[int], typer.Option(help="Stop this session after so many runs.", min=1)] = None,  # noqa: UP045
    max_tokens: Annotated[Optional[int], typer.Option(help="Stop this session after so many tokens.", min=1)] = None,  # noqa: UP045
    max_seconds: Annotated[Optional[float], typer.Option(help="Stop this session after so long.", min=0.0)] = None,  # noqa: UP045
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    title: Annotated[str, typer.Option(help="Title of the data card.", show_default=False)] = "",
    as_json: Json = False,
) -> None:
    """Build labelled data: run teams, inject faults into runs that succeed, replay runs that fail.

    Ctrl-C leaves a folder that can be used; the same command goes on in it.
    """
    from tracer_hooks.cli._dataset_job import BuildJob, SuiteChoice

    job = BuildJob(
        out=out,
        team=team,
        tasks=tasks,
        check=check,
        suite=None
        if suite is None
        else SuiteChoice(
            name=suite,
            count=count,
            difficulty=difficulty.value,
            frameworks=tuple(map(str, framework)),
            architectures=tuple(architecture),
            temperature=temperature,
            max_reply=max_reply,
        ),
        base_url=base_url,
        model=model,
        writer=str(writer),
        tools=tuple(tool),
        max_runs=max_runs,
        max_tokens=max_tokens,
        max_seconds=max_seconds,
        options={
            "repeats": repeats,
            "faults": faults,
            **({"modes": modes} if modes else {}),
            "kinds": kinds,
            "strategies": [str(one) for one in strategies],
            "natural": natural,
            "proposer": proposer,
            "trials": trials,
            "workers": workers,
            "wanted_injected": wanted_injected,
            "wanted_natural": wanted_natural,
            "seed": seed,
            **({"title": title} if title else {}),
        },
        as_json=as_json,
    )
    raise typer.Exit(job.work())


@dataset_app.command("stats")
def show_stats(folder: Folder, as_json: Json = False) -> None:
    """Say what a data set holds, what its faults yielded, and what it cost."""
    from tracer_hooks.cli._dataset_read import show_stats as work

    raise typer.Exit(work(folder, as_json=as_json))


@dataset_app.command("audit")
def audit(
    folder: Folder,
    folds: Annotated[int, typer.Option(help="Folds of whole questions.", min=2)] = 5,
    seed: Annotated[int, typer.Option(help="Of the folds and samples.")] = 0,
    as_json: Json = False,
) -> None:
    """Say whether something that understands nothing finds the faults. Exits with 1 when it does."""
    from tracer_hooks.cli._dataset_read import show_audit as work

    raise typer.Exit(work(folder, folds=folds, seed=seed, as_json=as_json))


@dataset_app.command("export")
def export(
    folder: Folder,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file or folder; with --split a folder of parts.")],
    file_format: Annotated[ExportTo, typer.Option("--format", help="What to write.")] = ExportTo.WHOWHEN,
    split: Annotated[
        str, typer.Option(help="Parts and their shares; no question is torn apart.", metavar="train=0.8,test=0.2")
    ] = "",
    balanced: Annotated[
        bool, typer.Option("--balanced", help="As many injected faults at each step of a kind of run as at its rarest.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the split and the balance.")] = 0,
    as_json: Json = False,
) -> None:
    """Write a data set as Who&When, Aegis, Parquet or one JSONL file, whole or in parts."""
    from tracer_hooks.cli._dataset_read import ExportJob

    job = ExportJob(
        folder=folder,
        out=out,
        file_format=str(file_format),
        split=split,
        balanced=balanced,
        seed=seed,
        as_json=as_json,
    )
    raise typer.Exit(job.work())
