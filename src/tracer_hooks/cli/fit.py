"""``tracer-hooks fit``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracer_hooks.cli._options import Json, existing_paths
from tracer_hooks.cli.console import FAILED, err, print_json
from tracer_hooks.cli.console import out as out_console
from tracer_hooks.errors import ConfigError, TracerHooksError

if TYPE_CHECKING:  # at run time with the work: help and usage errors need no records
    from tracer_hooks.diagnosis import FitReport, Fittable

REPORT = "fit.json"
"""Written beside the fitted attributor: what it was fitted to and what that gained."""
_NO_RUN = "unknown format"


def fit_command(
    labels: Annotated[
        list[Path],
        typer.Option(help="Labelled runs: files or folders, as in --labels A B; may be repeated.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the fitted attributor.", show_default=False)],
    more: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH]...", help="Further labelled runs, as after --labels.", show_default=False),
    ] = None,
    attributor: Annotated[str, typer.Option(help="Which attributor to fit.")] = "structural",
    seed: Annotated[int, typer.Option(help="Of the folds and of the trees.")] = 0,
    as_json: Json = False,
) -> None:
    """Adapt an attributor to labelled runs of your own team, and say what that gained."""
    from tracer_hooks.datasets import load
    from tracer_hooks.diagnosis import Fittable, get_attributor
    from tracer_hooks.evaluation import without_reference

    paths = existing_paths("--labels", *labels, *(more or ()))
    chosen = get_attributor(attributor)
    if not isinstance(chosen, Fittable):
        raise ConfigError(
            f"the attributor {attributor!r} cannot be fitted, expected 'structural', 'encoder' or 'prefill'"
        )
    if any(place.is_file() for place in (out, *out.parents)):  # said before the fit, which may take minutes
        raise TracerHooksError(f"cannot write {str(out)!r}: a file is in the way; expected a directory for --out")
    records = [record for path in dict.fromkeys(paths) for record in load(path)]
    failed = [record for record in records if record.error is not None]
    # A file may be no run at all, such as a second team's labels beside the runs; a damaged one is.
    bad = [record for record in failed if _NO_RUN not in str(record.error)]
    for record in failed:
        if _NO_RUN in str(record.error):
            err().print(f"passed over, no run: {record.source}", style="dim", soft_wrap=True)
    labeled = [without_reference(record.labeled) for record in records if record.labeled is not None]
    with err().status(f"fitting {attributor!r} to {len(labeled)} labelled trajectories"):
        fitted, report = chosen.fit(labeled, seed=seed)
        summary = {**asdict(report), "labels": [str(path) for path in paths], "seed": seed}
        if not isinstance(fitted, Fittable):
            raise ConfigError(f"the attributor {attributor!r} cannot be saved after a fit")
        _save(fitted, summary, out)
    for record in bad:
        err().print(f"left out: {record.error}", style="yellow", soft_wrap=True)
    if as_json:
        print_json({"out": str(out), "left_out": len(bad), **asdict(report), "gain": report.gain})
    else:
        _show(report, len(labeled), out)
    if bad:
        raise typer.Exit(FAILED)


def _save(fitted: Fittable, summary: dict[str, object], out: Path) -> None:
    from tracer_hooks._files import write_files

    try:
        fitted.save(out)
        write_files({out / REPORT: (json.dumps(summary, indent=2) + "\n").encode()})
    except OSError as error:
        raise TracerHooksError(
            f"cannot write {str(out)!r}: {error.strerror}; expected a directory for --out"
        ) from error


def _show(report: FitReport, labelled: int, out: Path) -> None:
    from rich.table import Table

    table = Table(
        title=f"{report.trajectories} labelled trajectories, {report.questions} questions", title_justify="left"
    )
    for column in ("", "exact step", "exact agent"):
        table.add_column(column, justify="right" if column else "left")
    table.add_row("as shipped", f"{report.shipped_step:.1%}", f"{report.shipped_agent:.1%}")
    table.add_row("fitted, on questions left out", f"{report.fitted_step:.1%}", f"{report.fitted_agent:.1%}")
    console = out_console()
    console.print(table)
    console.print(f"fitted: {report.chosen}", soft_wrap=True)
    if labelled > report.trajectories:
        console.print(f"{labelled - report.trajectories} have no decisive step and were not used")
    console.print(f"use it: tracer-hooks diagnose PATH --attributor {out}", soft_wrap=True)
