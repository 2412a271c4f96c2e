"""``tracer-hooks replay``: the command and its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer


def replay(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id, or the beginning of it.")],
    step: Annotated[
        Optional[int],  # noqa: UP045 - typer reads the annotation at run time
        typer.Option("--from", help="Correct step K, and go on live from there.", min=0, metavar="K"),
    ] = None,
    correction: Annotated[Optional[str], typer.Option(help="The reply at step K.", metavar="TEXT")] = None,  # noqa: UP045
    correction_file: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="A file with the reply at step K.", metavar="FILE"),
    ] = None,
    guidance: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="What the agent is told before it tries step K again.", metavar="TEXT"),
    ] = None,
    find: Annotated[
        bool, typer.Option("--find", help="Find the earliest step whose correction saves the run.")
    ] = False,
    team: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="What builds the team; path/to/file.py:NAME will do.", metavar="MODULE:NAME"),
    ] = None,
    check: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="What says whether a run succeeded.", metavar="MODULE:NAME"),
    ] = None,
    expected: Annotated[Optional[str], typer.Option(help="The expected answer.", metavar="TEXT")] = None,  # noqa: UP045
    task: Annotated[Optional[str], typer.Option(help="The task; default the run's.", metavar="TEXT")] = None,  # noqa: UP045
    trials: Annotated[int, typer.Option(help="Runs with the correction at most, and as many without.", min=1)] = 6,
    suspect_trials: Annotated[
        int,
        typer.Option(
            help="With --find, the same for the likeliest steps where no step was found; 0 for no more than --trials.",
            min=0,
        ),
    ] = 20,
    tool: Annotated[
        list[str],
        typer.Option(
            help="What a tool may do after step K: live, replayable, blocked or rebuilt; may be repeated, * is all "
            "others.",
            metavar="NAME=USE",
        ),
    ] = [],  # noqa: B006
    lenient: Annotated[bool, typer.Option("--lenient", help="Go on where the team leaves the tape.")] = False,
    proposer: Annotated[
        list[str],
        typer.Option(
            help="Who writes the correction: resample (ask again), template (a word of care), feedback (what the check "
            "said), guidance (a language model). With --find several, with commas or repeated: the next one is asked "
            "where those before it show no step. [default: resample]",
            metavar="WHO",
        ),
    ] = [],  # noqa: B006
    base_url: Annotated[str, typer.Option(help="Address of the model that writes guidance.", metavar="URL")] = "",
    model: Annotated[str, typer.Option(help="Name of the model that writes guidance.", metavar="NAME")] = "",
    max_runs: Annotated[Optional[int], typer.Option(help="Stop after so many runs.", min=1)] = None,  # noqa: UP045
    max_tokens: Annotated[Optional[int], typer.Option(help="Stop after so many live tokens.", min=1)] = None,  # noqa: UP045
    max_seconds: Annotated[Optional[float], typer.Option(help="Stop after so long.", min=0.0)] = None,  # noqa: UP045
    store: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--store", help="The run store's file; default TRACER_HOOKS_STORE or .tracer_hooks/runs.sqlite."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
) -> None:
    """Replay a stored run from its tape: as it was, with step K corrected, or to find the decisive step."""
    from tracer_hooks.cli._replay_job import ReplayJob

    job = ReplayJob(
        run=run,
        step=step,
        correction=correction,
        correction_file=correction_file,
        guidance=guidance,
        find=find,
        team=team,
        check=check,
        expected=expected,
        task=task,
        trials=trials,
        suspect_trials=suspect_trials,
        tools=tuple(tool),
        lenient=lenient,
        proposer=",".join(proposer) or "resample",
        base_url=base_url,
        model=model,
        max_runs=max_runs,
        max_tokens=max_tokens,
        max_seconds=max_seconds,
        store=store,
        as_json=as_json,
    )
    raise typer.Exit(job.work())
