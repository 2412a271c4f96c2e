"""``tracer-hooks runs copy``."""

from __future__ import annotations

from typing import Annotated

import typer

from tracer_hooks._text import counted
from tracer_hooks.cli._options import Json, existing_store, needed_store, store_option
from tracer_hooks.cli.console import FAILED, ProgressDisplay, err, print_json
from tracer_hooks.cli.console import out as out_console

_MOST_SHOWN = 10


def copy_runs(
    from_store: Annotated[str | None, store_option("--from", "The store to copy from; default the usual one.")] = None,
    to_store: Annotated[str | None, store_option("--to", "The store to copy to; default the usual one.")] = None,
    as_json: Json = False,
) -> None:
    """Copy runs and prompts from one store into another, which keeps what it has; give it again to go on."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

    from tracer_hooks.store import RunStore, copy_store

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        existing_store(from_store) as source,
        RunStore(needed_store(to_store), stays_open=True) as target,
        ProgressDisplay(err(), *columns, on_terminals_only=True, hidden=as_json) as bars,
    ):
        try:
            copied = copy_store(source, target, lambda done, total: bars.update("runs", "runs", done, total))
        except KeyboardInterrupt:
            bars.say("stopped; what was copied stays, and the same command goes on from there")
            raise
    if as_json:
        print_json({**copied.model_dump(mode="json"), "from": source.name, "to": target.name})
    else:
        there = f", {copied.runs_there} were there already" if copied.runs_there else ""
        out_console().print(f"{counted(copied.runs, 'run')} copied to {target.name}{there}", soft_wrap=True)
        there = f", {copied.teams_there} had prompts there, which stay as they are" if copied.teams_there else ""
        if copied.teams or copied.teams_there:
            out_console().print(f"prompts of {counted(copied.teams, 'team')} copied{there}", soft_wrap=True)
    if copied.left_out:
        shown = ", ".join(run_id[:12] for run_id in copied.left_out[:_MOST_SHOWN])
        more = f" and {len(copied.left_out) - _MOST_SHOWN} more" if len(copied.left_out) > _MOST_SHOWN else ""
        err().print(f"damaged, and left out: {shown}{more}", soft_wrap=True)
        raise typer.Exit(FAILED)
