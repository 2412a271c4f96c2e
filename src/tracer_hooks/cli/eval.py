"""``tracer-hooks eval``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracer_hooks.cli._options import Concurrency, Json, existing_paths
from tracer_hooks.cli.console import FAILED, ProgressDisplay, err, out, print_json, writing_page

if TYPE_CHECKING:  # at run time with the work: help and usage errors need no records
    from tracer_hooks.evaluation import EvaluationOptions, EvaluationReport


class Dataset(StrEnum):
    """Kinds of data that can be measured on."""

    WHOWHEN = "whowhen"
    AEGIS = "aegis"
    AGENTRX = "agentrx"
    TRAIL = "trail"
    TRAJECTORY = "trajectory"
    GRADED = "graded"


def eval_command(
    dataset: Annotated[Dataset, typer.Option(help="What the data is.")],
    data: Annotated[Path, typer.Option(help="A file or a folder; each sub-folder is a group of its own.")],
    attributor: Annotated[list[str], typer.Option(help="Who is measured; may be repeated.")] = ["auto"],  # noqa: B006
    with_reference: Annotated[
        bool, typer.Option("--with-reference", help="Also measure with the expected answer told.")
    ] = False,
    cross_validate: Annotated[
        int | None,
        typer.Option(
            help="Also measure each attributor fitted to these runs, in K folds of whole questions.", min=2, metavar="K"
        ),
    ] = None,
    detection: Annotated[bool, typer.Option(help="Also diagnose every run with its outcome withheld.")] = True,
    limit: Annotated[int | None, typer.Option(help="So many runs at most, drawn at random.", min=1)] = None,
    concurrency: Concurrency = None,
    seed: Annotated[int, typer.Option(help="Of the draw, the folds and the bootstrap.")] = 0,
    as_json: Json = False,
    html: Annotated[Path | None, typer.Option(help="Also write a page.", metavar="FILE.html")] = None,
) -> None:
    """Measure attributors on labelled or graded runs, beside what can be had without reading them."""
    from tracer_hooks.evaluation import EvaluationOptions, evaluation_tables, render_evaluation
    from tracer_hooks.report import write_page

    options = EvaluationOptions(
        with_reference=with_reference, detection=detection, cross_validate=cross_validate, seed=seed
    )
    existing_paths("--data", data)
    report = _measure(dataset, data, attributor, limit, options)
    if html is not None:
        with writing_page(html, option="--html"):
            write_page(html, render_evaluation(report))
        err().print(f"page: {html}", soft_wrap=True)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        out().print(evaluation_tables(report, width=out().width))
    if report.problems:
        set_apart = "1 record or answer was" if len(report.problems) == 1 else f"{len(report.problems)} were"
        err().print(f"{report.runs} runs measured; {set_apart} set apart")
        raise typer.Exit(FAILED)


def _measure(
    dataset: Dataset, data: Path, names: list[str], limit: int | None, options: EvaluationOptions
) -> EvaluationReport:
    from tracer_hooks.diagnosis import get_attributor
    from tracer_hooks.evaluation import evaluate, read_data

    # wrong names are usage errors before any work, and so is what is not installed
    attributors = {name: get_attributor(name) for name in names}
    with ProgressDisplay(err(), transient=True, on_terminals_only=True) as progress:
        progress.update("reading", "reading", 0, None)
        cases = read_data(dataset.value, data, limit=limit, seed=options.seed)
        progress.update("reading", "reading", len(cases.cases), len(cases.cases))
        return evaluate(cases, attributors, options, progress=lambda *news: progress.update("diagnosing", *news))
