"""The commands and their options; each one's work is in a module of its own."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Optional

import typer

from tracer_hooks._version import __version__
from tracer_hooks.cli._calibrate import calibrate
from tracer_hooks.cli._dataset import dataset_app
from tracer_hooks.cli._improve import improve
from tracer_hooks.cli._inject import inject
from tracer_hooks.cli._prompts import prompts_app
from tracer_hooks.cli._replay import replay
from tracer_hooks.cli._stated_options import Expected, Failed, Outcome, Reason, stated_by
from tracer_hooks.cli._train import train_app

app = typer.Typer(
    help="Which agent, at which step, made a run of your LLM agents fail.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
runs_app = typer.Typer(help="The local run store.", invoke_without_command=True)
app.add_typer(runs_app, name="runs")
app.add_typer(prompts_app, name="prompts")
app.add_typer(dataset_app, name="dataset")
app.add_typer(train_app, name="train")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Store = Annotated[
    Optional[Path],  # noqa: UP045 - typer reads the annotation at run time
    typer.Option("--store", help="The run store's file; default TRACER_HOOKS_STORE or .tracer_hooks/runs.sqlite."),
]


class Format(StrEnum):
    """File formats of ``diagnose``."""

    AUTO = "auto"
    TRAJECTORY = "trajectory"
    WHOWHEN = "whowhen"
    AEGIS = "aegis"
    AGENTRX = "agentrx"
    TRAIL = "trail"
    OTLP = "otlp"


class Dataset(StrEnum):
    """Kinds of data that ``eval`` measures on."""

    WHOWHEN = "whowhen"
    AEGIS = "aegis"
    AGENTRX = "agentrx"
    TRAIL = "trail"
    TRAJECTORY = "trajectory"
    GRADED = "graded"


class Engine(StrEnum):
    """Where ``diagnose`` does its work."""

    LOCAL = "local"
    RAY = "ray"


class ExportFormat(StrEnum):
    """What ``runs export`` writes."""

    TRAJECTORY = "trajectory"
    OTLP = "otlp"
    HTML = "html"


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Which agent, at which step, made a run of your LLM agents fail."""
    if version:
        print(__version__)
        raise typer.Exit


@app.command()
def diagnose(
    targets: Annotated[
        list[str],
        typer.Argument(metavar="PATH|RUN...", help="Files, folders, or ids of stored runs.", show_default=False),
    ],
    failed: Failed = False,
    outcome: Outcome = None,
    reason: Reason = None,
    expected: Expected = None,
    attributor: Annotated[str, typer.Option(help="Who diagnoses.")] = "auto",
    file_format: Annotated[Format, typer.Option("--format", help="The files' format.")] = Format.AUTO,
    as_json: Json = False,
    report: Annotated[Optional[Path], typer.Option(help="Also write an HTML report.", metavar="FILE.html")] = None,  # noqa: UP045
    engine: Annotated[Engine, typer.Option(help="Work in this process, or spread over a Ray cluster.")] = Engine.LOCAL,
    passing: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Runs of the team that passed, a file or folder, to compare with.", metavar="PATH"),
    ] = None,
    store: Store = None,
) -> None:
    """Say which agent, at which step, made each run in PATH... fail, or the stored run RUN.

    Traces of other libraries mostly do not say that a run failed. Say it: --failed, with --reason or --expected where
    you know them. What you say holds for every run that is read.
    """
    from tracer_hooks.cli._diagnose import DiagnoseJob

    job = DiagnoseJob(
        targets=targets,
        stated=stated_by(failed=failed, outcome=outcome, reason=reason, expected=expected),
        store=store,
        attributor=attributor,
        file_format=file_format.value,
        as_json=as_json,
        report=report,
        engine=str(engine),
        passing=passing,
    )
    raise typer.Exit(job.run())


@app.command("eval")
def evaluate(
    dataset: Annotated[Dataset, typer.Option(help="What the data is.")],
    data: Annotated[Path, typer.Option(help="A file or a folder; each sub-folder is a group of its own.")],
    attributor: Annotated[list[str], typer.Option(help="Who is measured; may be repeated.")] = ["auto"],  # noqa: B006
    labels: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="A second team's labels of the same Who&When logs.", metavar="FILE"),
    ] = None,
    with_reference: Annotated[
        bool, typer.Option("--with-reference", help="Also measure with the expected answer told.")
    ] = False,
    cross_validate: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            help="Also measure each attributor fitted to these runs, in K folds of whole questions.", min=2, metavar="K"
        ),
    ] = None,
    detection: Annotated[bool, typer.Option(help="Also diagnose every run with its outcome withheld.")] = True,
    limit: Annotated[Optional[int], typer.Option(help="So many runs at most, drawn at random.", min=1)] = None,  # noqa: UP045
    seed: Annotated[int, typer.Option(help="Of the draw, the folds and the bootstrap.")] = 0,
    as_json: Json = False,
    html: Annotated[Optional[Path], typer.Option(help="Also write a page with plots.", metavar="FILE.html")] = None,  # noqa: UP045
) -> None:
    """Measure attributors on labelled or graded runs, beside what can be had without reading them."""
    from tracer_hooks.cli._eval import EvalJob

    job = EvalJob(
        dataset=dataset.value,
        data=data,
        attributors=attributor,
        labels=labels,
        with_reference=with_reference,
        cross_validate=cross_validate,
        detection=detection,
        limit=limit,
        seed=seed,
        as_json=as_json,
        html=html,
    )
    raise typer.Exit(job.run())


@app.command()
def fit(
    labels: Annotated[
        list[Path],
        typer.Option(help="Labelled runs: files or folders, as in --labels A B; may be repeated.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the fitted attributor.", show_default=False)],
    more: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Argument(metavar="[PATH]...", help="Further labelled runs, as after --labels.", show_default=False),
    ] = None,
    attributor: Annotated[str, typer.Option(help="Which attributor to fit.")] = "structural",
    seed: Annotated[int, typer.Option(help="Of the folds and of the trees.")] = 0,
    as_json: Json = False,
) -> None:
    """Adapt an attributor to labelled runs of your own team, and say what that gained."""
    from tracer_hooks.cli._fit import FitJob

    raise typer.Exit(
        FitJob(labels=[*labels, *(more or ())], out=out, attributor=attributor, seed=seed, as_json=as_json).run()
    )


@app.command()
def demo(
    base_url: Annotated[str, typer.Option(envvar="OPENAI_BASE_URL", help="A real OpenAI-compatible endpoint.")] = "",
    model: Annotated[str, typer.Option(envvar="OPENAI_MODEL", help="Its model.")] = "",
    framework: Annotated[list[str], typer.Option(help="Only this framework; may be repeated.")] = [],  # noqa: B006
    out: Annotated[Path, typer.Option(help="Folder for the reports.")] = Path("tracer-hooks-demo"),
) -> None:
    """Hook a team that fails in each installed framework, diagnose it, repair it, and write a report."""
    from tracer_hooks.cli._demo import run_demo

    raise typer.Exit(run_demo(base_url=base_url, model=model, frameworks=framework, out=out))


@app.command()
def doctor(as_json: Json = False) -> None:
    """Say what is installed, which adapters and attributors work, and what to install for the rest."""
    from tracer_hooks.cli._doctor import examine

    raise typer.Exit(examine(as_json=as_json))


@runs_app.callback()
def runs(context: typer.Context) -> None:
    """The local run store; without a command, the list of runs."""
    if context.invoked_subcommand is None:
        list_runs()


@runs_app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option(help="How many at most.", min=1)] = 20,
    team: Annotated[Optional[str], typer.Option(help="Only this team.")] = None,  # noqa: UP045
    outcome: Annotated[Optional[str], typer.Option(help="Only succeeded, failed or unknown ones.")] = None,  # noqa: UP045
    as_json: Json = False,
    store: Store = None,
) -> None:
    """List runs, newest first."""
    from tracer_hooks.cli._runs import list_runs as work

    raise typer.Exit(work(store, limit=limit, team=team, outcome=outcome, as_json=as_json))


@runs_app.command("show")
def show_run(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id, or the beginning of it.")],
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Show one run: its steps and its diagnosis."""
    from tracer_hooks.cli._runs import show_run as work

    raise typer.Exit(work(store, run, as_json=as_json))


@runs_app.command("export")
def export_run(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id, or the beginning of it.")],
    file_format: Annotated[ExportFormat, typer.Option("--format", help="What to write.")] = ExportFormat.TRAJECTORY,
    out: Annotated[Optional[Path], typer.Option("--out", "-o", help="The file; default stdout.")] = None,  # noqa: UP045
    store: Store = None,
) -> None:
    """Write one run as a trajectory, an OTLP trace, or an HTML report."""
    from tracer_hooks.cli._runs import export_run as work

    raise typer.Exit(work(store, run, file_format=str(file_format), out=out))


Yes = Annotated[bool, typer.Option("--yes", "-y", help="Ask nobody.")]


@runs_app.command("delete")
def delete_runs(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Ids of runs, or their beginnings.", show_default=False)
    ],
    only: Annotated[bool, typer.Option("--only", help="Leave the other attempts of the same calls.")] = False,
    yes: Yes = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Delete runs for good, with the other attempts of their calls: their bytes are out of the file afterwards."""
    from tracer_hooks.cli._delete_job import DeleteJob

    raise typer.Exit(DeleteJob(store=store, yes=yes, as_json=as_json, only=only).delete(runs))


@runs_app.command("prune")
def prune_runs(
    older_than: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--older-than", help="Delete runs that began longer ago: 30d, 12h, 4w.", metavar="AGE"),
    ] = None,
    keep: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            "--keep", help="Keep the newest N whatever their age; alone, delete all others.", min=0, metavar="N"
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many would be deleted.")] = False,
    yes: Yes = False,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Delete old runs for good. Prompts and counts that were learnt from them stay."""
    from tracer_hooks.cli._delete_job import DeleteJob

    raise typer.Exit(DeleteJob(store=store, yes=yes, as_json=as_json, dry_run=dry_run).prune(older_than, keep))


@runs_app.command("import")
def import_runs(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files or folders.", show_default=False)],
    failed: Failed = False,
    outcome: Outcome = None,
    reason: Reason = None,
    expected: Expected = None,
    file_format: Annotated[Format, typer.Option("--format", help="The files' format.")] = Format.AUTO,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Take runs from traces and files into the run store; a run that is there already is not taken twice.

    What is said of the runs holds for every run that is read, also for those that were imported before.
    """
    from tracer_hooks.cli._import_job import ImportJob

    stated = stated_by(failed=failed, outcome=outcome, reason=reason, expected=expected)
    job = ImportJob(paths=paths, stated=stated, file_format=file_format.value, as_json=as_json, store=store)
    raise typer.Exit(job.run())


@app.command()
def label(
    targets: Annotated[
        list[str],
        typer.Argument(metavar="PATH|RUN...", help="Files, folders, or ids of stored runs.", show_default=False),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The labelled file, JSON lines; it is added to.")],
    from_csv: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--from-csv", help="Take labels from a table: run, agent, step, mode.", metavar="FILE"),
    ] = None,
    failed: Failed = False,
    outcome: Outcome = None,
    reason: Reason = None,
    expected: Expected = None,
    attributor: Annotated[str, typer.Option(help="Whose candidates are shown.")] = "auto",
    file_format: Annotated[Format, typer.Option("--format", help="The files' format.")] = Format.AUTO,
    as_json: Json = False,
    store: Store = None,
) -> None:
    """Say which agent, at which step, made runs fail, for tracer-hooks fit and eval to read.

    Shows each run with the first candidates of the diagnosis and asks. Runs that are in the labelled file are not
    asked again, so that the same command goes on where it stopped.
    """
    from tracer_hooks.cli._label_job import LabelJob

    job = LabelJob(
        targets=targets,
        out=out,
        from_csv=from_csv,
        stated=stated_by(failed=failed, outcome=outcome, reason=reason, expected=expected),
        attributor=attributor,
        file_format=file_format.value,
        as_json=as_json,
        store=store,
    )
    raise typer.Exit(job.run())


app.command()(replay)
app.command()(inject)
app.command()(calibrate)
app.command()(improve)
