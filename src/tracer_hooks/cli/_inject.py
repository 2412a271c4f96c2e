"""``tracer-hooks inject``: the command and its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from tracer_hooks.cli._fault_options import Strategy, WriterName


def inject(
    team: Annotated[
        str, typer.Argument(metavar="MODULE:build_team", help="What builds the team; path/to/file.py:NAME will do.")
    ],
    task: Annotated[str, typer.Option(help="What the team is asked.", metavar="TEXT", show_default=False)],
    mode: Annotated[
        Optional[str],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option(help="How the agent errs: a MAST mode. Tool and channel faults go without.", metavar="FM-x.y"),
    ] = None,
    strategy: Annotated[Strategy, typer.Option(help="How the fault is put in.")] = Strategy.RESPONSE_CORRUPTION,
    kind: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="The mutator, tool fault or channel fault; default one that fits.", metavar="KIND"),
    ] = None,
    agent: Annotated[Optional[str], typer.Option(help="The agent that errs; default any.", metavar="NAME")] = None,  # noqa: UP045
    step: Annotated[Optional[int], typer.Option(help="The step that errs; default any.", min=0, metavar="N")] = None,  # noqa: UP045
    check: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="What says whether a run succeeded.", metavar="MODULE:check"),
    ] = None,
    expected: Annotated[Optional[str], typer.Option(help="The expected answer.", metavar="TEXT")] = None,  # noqa: UP045
    trials: Annotated[int, typer.Option(help="Runs with the fault at most.", min=1)] = 3,
    failures: Annotated[int, typer.Option(help="How many of them have to fail.", min=1)] = 2,
    controls: Annotated[int, typer.Option(help="Runs without it; all have to succeed.", min=0)] = 3,
    clean_runs: Annotated[int, typer.Option(help="Tries to get a run that succeeds.", min=1)] = 3,
    tool: Annotated[
        list[str],
        typer.Option(
            help="What a tool may do after the fault: rebuilt, live, replayable or blocked; may be repeated, * is all "
            "others.",
            metavar="NAME=USE",
        ),
    ] = [],  # noqa: B006
    writer: Annotated[WriterName, typer.Option(help="Who writes the fault.")] = WriterName.PROGRAMMATIC,
    base_url: Annotated[str, typer.Option(envvar="OPENAI_BASE_URL", help="The writer's endpoint.")] = "",
    model: Annotated[str, typer.Option(envvar="OPENAI_MODEL", help="The writer's model.")] = "",
    max_runs: Annotated[Optional[int], typer.Option(help="Stop after so many runs.", min=1)] = None,  # noqa: UP045
    seed: Annotated[int, typer.Option(help="Of every choice that is left open.")] = 0,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--out", "-o", help="Append the labelled run to this file.", metavar="FILE.jsonl"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> None:
    """Put one fault into one step of one agent, and verify that it, and nothing else, makes the run fail.

    Exits with 0 when the fault is verified, with 1 when it is discarded.
    """
    from tracer_hooks.cli._inject_job import InjectJob

    job = InjectJob(
        team=team,
        task=task,
        fault={
            "mode": mode,
            "strategy": str(strategy),
            "kind": kind,
            "agent": agent,
            "step": step,
            "writer": str(writer),
            "seed": seed,
        },
        check=check,
        expected=expected,
        rule={"trials": trials, "failures": failures, "controls": controls},
        clean_runs=clean_runs,
        tools=tuple(tool),
        base_url=base_url,
        model=model,
        max_runs=max_runs,
        out=out,
        as_json=as_json,
    )
    raise typer.Exit(job.work())
