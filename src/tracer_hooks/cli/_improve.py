"""``tracer-hooks improve``: the command and its options."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Optional

import typer


class Writer(StrEnum):
    """Who writes new instructions."""

    REWRITER = "rewriter"
    GEPA = "gepa"


class Chooser(StrEnum):
    """Whose instructions are rewritten next."""

    BLAME = "blame"
    ROUND_ROBIN = "round_robin"


def improve(
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
    base_url: Annotated[
        str, typer.Option(envvar="OPENAI_BASE_URL", help="Address of the model that writes prompts.", metavar="URL")
    ] = "",
    model: Annotated[
        str, typer.Option(envvar="OPENAI_MODEL", help="Name of the model that writes prompts.", metavar="NAME")
    ] = "",
    writer_model: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="A function that asks that model instead: messages in, text out.", metavar="MODULE:chat"),
    ] = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Folder of the journal; default .tracer_hooks/improvement/TEAM.", metavar="DIR"),
    ] = None,
    metric_calls: Annotated[int, typer.Option(help="Runs of the team that the search may take.", min=1)] = 200,
    pairs: Annotated[
        int, typer.Option(help="Pairs of runs, new prompts against old ones, that the trial may take.", min=10)
    ] = 200,
    agent: Annotated[
        list[str],
        typer.Option(help="Whose instructions may be rewritten; may be repeated. [default: all]", metavar="NAME"),
    ] = [],  # noqa: B006
    writer: Annotated[Writer, typer.Option(help="Who writes: our rewriter, or GEPA's own prompt.")] = Writer.REWRITER,
    selector: Annotated[
        Chooser, typer.Option(help="Whose instructions are next: by blame for the failures, or each in turn.")
    ] = Chooser.BLAME,
    attributor: Annotated[str, typer.Option(help="Who diagnoses the failures.")] = "auto",
    from_store: Annotated[
        bool, typer.Option("--from-store", help="Learn from the team's failed runs in the run store; the tasks accept.")
    ] = False,
    workers: Annotated[int, typer.Option(help="Runs that go on at the same time.", min=1)] = 4,
    max_runs: Annotated[Optional[int], typer.Option(help="Stop after so many runs; it can go on.", min=1)] = None,  # noqa: UP045
    max_tokens: Annotated[Optional[int], typer.Option(help="Stop after so many tokens.", min=1)] = None,  # noqa: UP045
    max_seconds: Annotated[Optional[float], typer.Option(help="Stop after so long.", min=0)] = None,  # noqa: UP045
    max_cost: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="Stop after so much money; needs the prices.", min=0),
    ] = None,
    input_price: Annotated[float, typer.Option(help="Price of a million tokens read.", min=0)] = 0.0,
    output_price: Annotated[float, typer.Option(help="Price of a million tokens written.", min=0)] = 0.0,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it will take, after two runs of the team.")
    ] = False,
    report: Annotated[Optional[Path], typer.Option(help="Also write an HTML report.", metavar="FILE.html")] = None,  # noqa: UP045
    store: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--store", help="The run store's file; default TRACER_HOOKS_STORE or .tracer_hooks/runs.sqlite."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> None:
    """Better prompts for your team: learnt from failures, accepted on other tasks, kept as a version."""
    from tracer_hooks._api import ImproveOptions
    from tracer_hooks.cli._improve_job import ImproveJob, WritingModel
    from tracer_hooks.improvement import AcceptanceRule
    from tracer_hooks.replay import CostCap

    options = ImproveOptions(
        metric_calls=metric_calls,
        rule=AcceptanceRule(most_pairs=pairs),
        agents=tuple(agent),
        writer=writer.value,
        selector=selector.value,
        attributor=attributor,
        workers=workers,
        cap=CostCap(
            max_runs=max_runs,
            max_tokens=max_tokens,
            max_seconds=max_seconds,
            max_cost=max_cost,
            input_price=input_price,
            output_price=output_price,
        ),
        seed=seed,
    )
    job = ImproveJob(
        team=team,
        tasks=tasks,
        check=check,
        model=WritingModel(base_url=base_url, model=model, function=writer_model),
        out=out,
        store=store,
        from_store=from_store,
        options=options,
        dry_run=dry_run,
        report=report,
        as_json=as_json,
    )
    raise typer.Exit(job.run())
