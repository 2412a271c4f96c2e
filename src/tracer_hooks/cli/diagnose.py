"""``tracer-hooks diagnose``."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracer_hooks._text import counted
from tracer_hooks.cli._options import (
    Address,
    Concurrency,
    Engine,
    Expected,
    Failed,
    FileFormat,
    Format,
    Json,
    Outcome,
    Reason,
    Report,
    Since,
    Store,
    existing_store,
    is_path,
    records_of,
    since_of,
    stated_by,
    store_named,
)
from tracer_hooks.cli.console import FAILED, ProgressDisplay, err, out, print_json, writing_page
from tracer_hooks.config import CaptureConfig
from tracer_hooks.errors import BackendError, ConfigError, StoreError

if TYPE_CHECKING:  # at run time with the work: help and usage errors need no records
    from tracer_hooks.batch import BatchCounts, Diagnosed, DiagnoseSettings, Part
    from tracer_hooks.datasets import LoadedRecord
    from tracer_hooks.publishing import Destination
    from tracer_hooks.report import ReportRun
    from tracer_hooks.schema import Attribution, Trajectory
    from tracer_hooks.telemetry import Capture

_BATCH = 64
_TRACES = 100


def diagnose_command(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH|RUN|URL...",
            help="Files, folders, ids of stored runs, run stores such as sqlite:///runs.sqlite, or projects such as "
            "phoenix://localhost:6006/project and mlflow://localhost:5000/experiment.",
            show_default=False,
        ),
    ],
    failed: Failed = False,
    outcome: Outcome = None,
    reason: Reason = None,
    expected: Expected = None,
    attributor: Annotated[str, typer.Option(help="Who diagnoses.")] = "auto",
    file_format: FileFormat = Format.AUTO,
    as_json: Json = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown, for an issue or a message.")] = False,
    report: Report = None,
    out_file: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write results to a file, JSON lines or Parquet; the same command goes on."),
    ] = None,
    engine: Annotated[
        Engine, typer.Option(help="Work in this process, or on a Ray cluster; of files only with --out.")
    ] = Engine.LOCAL,
    address: Address = None,
    workers: Annotated[int, typer.Option(help="Processes of the Ray cluster that are at work.", min=1)] = 2,
    worker_gpus: Annotated[float, typer.Option(help="The share of a GPU that each of them has.", min=0)] = 0.0,
    passing: Annotated[
        Path | None,
        typer.Option(help="Runs of the team that passed, a file or folder, to compare with.", metavar="PATH"),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also have the judge's model say what each diagnosis means.")
    ] = False,
    concurrency: Concurrency = None,
    since: Since = None,
    limit: Annotated[int | None, typer.Option(help="So many traces of a URL at most; default 100.", min=1)] = None,
    no_publish: Annotated[
        bool, typer.Option("--no-publish", help="Do not write diagnoses to the traces of a URL.")
    ] = False,
    store: Store = None,
) -> None:
    """Say which agent, at which step, made each run in PATH... fail, or the stored run RUN.

    Traces of other libraries mostly do not say that a run failed. Say it: --failed, with --reason or --expected where
    you know them. What you say holds for every run that is read. The diagnosis of a stored run is kept with it.

    Of a URL the newest traces are read that Phoenix or MLflow shows as failed, all of them if you say how they ended,
    and each diagnosis is written to its trace. Of a store all runs are diagnosed that did not succeed and have no
    diagnosis, which is kept with them.
    """
    from tracer_hooks.batch import DiagnoseSettings
    from tracer_hooks.datasets import OutcomeOverride

    in_parts = out_file is not None or engine is Engine.RAY or any(map(_is_store, targets))
    if as_markdown and (as_json or in_parts):
        raise ConfigError("--markdown excludes --json, and results in a file or store, expected one of them")
    if report is not None and in_parts:
        raise ConfigError("--report excludes results in a file or store. Run: tracer-hooks report --out site")
    stated = stated_by(failed=failed, outcome=outcome, reason=reason, expected=expected)
    settings = DiagnoseSettings(
        attributor=attributor, passing=passing, stated=stated, explain=explain, concurrency=concurrency
    )
    backends = _backends(targets, since, limit, no_publish, only_failed=stated == OutcomeOverride())
    if in_parts:
        parts = _parts(targets, file_format, backends)
        _in_batch(parts, backends, settings, out_file, engine, (address, workers, worker_gpus), as_json=as_json)
        return
    settings.prepare()  # a wrong name or a missing extra ends the call before any work
    stored: set[str] = set()
    records = _records(targets, file_format, store, stored, backends)
    results = []
    with ProgressDisplay(err(), transient=True, on_terminals_only=True, hidden=as_json) as progress:
        progress.update("runs", "diagnosing", 0, None)
        with closing(_one_by_one(records, settings)) as found:
            for result in found:
                results.append(result)
                progress.update("runs", "diagnosing", len(results), None)
                if as_markdown:
                    _print_markdown(result)
                elif not as_json:
                    _show(result)
        is_written = backends.write_back(results, progress)
    _keep(store, [result for result in results if result.source in stored])
    if report is not None:
        _write_report(report, results)
    if as_json:
        print_json({"results": [result.to_dict() for result in results]})
    else:
        _summarise(results)
    if not is_written or any(result.error is not None for result in results):
        raise typer.Exit(FAILED)


def _one_by_one(records: Iterator[LoadedRecord], settings: DiagnoseSettings) -> Generator[Diagnosed, None, None]:
    from tracer_hooks.batch import diagnosed
    from tracer_hooks.telemetry import LateEmitter

    emitter = LateEmitter()  # for a command that runs under opentelemetry-instrument
    while batch := list(itertools.islice(records, _BATCH)):
        with closing(diagnosed(batch, settings)) as found:
            for result in found:
                if result.trajectory is not None and result.attribution is not None:
                    emitter.emit(result.trajectory, result.attribution)
                yield result


def _in_batch(
    parts: Iterator[Part],
    backends: _BackendRuns,
    settings: DiagnoseSettings,
    out_file: Path | None,
    engine: Engine,
    cluster: tuple[str | None, int, float],
    *,
    as_json: bool,
) -> None:
    """Diagnose in parts, into a file or the store, and print what it came to."""
    from tracer_hooks.batch import BatchJob, RecordsPart, in_process, on_ray

    address, workers, gpus = cluster
    does = on_ray(address=address, workers=workers, gpus=gpus) if engine is Engine.RAY else in_process
    settings.prepare()
    job = BatchJob(parts, settings, out=out_file)
    told: list[BatchCounts] = []
    with ProgressDisplay(err(), transient=True, on_terminals_only=True, hidden=as_json) as progress:

        def show(counts: BatchCounts) -> None:
            progress.update("runs", f"{counted(counts.runs, 'run')} diagnosed", counts.parts, len(job.parts))
            told.append(counts)

        try:
            counts = job.run(does, show)
        except KeyboardInterrupt:
            done = told[-1] if told else None
            progress.say(f"stopped after {counted(done.runs if done else 0, 'run')}; the same command goes on")
            raise typer.Exit(FAILED) from None
        read = [record for part in job.parts if isinstance(part, RecordsPart) for record in part.records]
        is_written = backends.write_back([_answered(each, job.answers, settings) for each in read], progress)
    without = counts.runs - counts.named - counts.failed
    if as_json:
        place = None if out_file is None else str(out_file)
        print_json(
            {"out": place, "runs": counts.runs, "named": counts.named, "without": without, "failed": counts.failed}
        )
    else:
        _say_counts(counts.runs, counts.named, without, counts.failed)
        if out_file is not None:
            err().print(f"results: {out_file}", soft_wrap=True)
    if counts.failed or not is_written:
        raise typer.Exit(FAILED)


def _answered(record: LoadedRecord, answers: Mapping[str, Attribution], settings: DiagnoseSettings) -> Diagnosed:
    from tracer_hooks.batch import Diagnosed

    run = None if record.trajectory is None else settings.stated.of(record.trajectory).trajectory
    return Diagnosed(source=record.source, trajectory=run, attribution=answers.get(record.source))


def _parts(targets: Sequence[str], file_format: Format, backends: _BackendRuns) -> Iterator[Part]:
    from tracer_hooks.batch import record_parts, store_parts
    from tracer_hooks.datasets import parts_of

    for target in targets:
        if _is_store(target):
            yield from store_parts(store_named(target))
        elif _is_url(target):
            yield from record_parts(backends.read(target))
        elif not is_path(target):
            raise ConfigError(f"there is no file or folder {target!r}. Of a stored run: tracer-hooks diagnose {target}")
        else:
            yield from parts_of(target, format=file_format.value)


def _backends(
    targets: Sequence[str], since: str | None, limit: int | None, no_publish: bool, *, only_failed: bool
) -> _BackendRuns:
    if (since is not None or limit is not None or no_publish) and not all(map(_is_url, targets)):
        raise ConfigError("--since, --limit and --no-publish are for URLs such as phoenix://localhost:6006/project")
    return _BackendRuns(since=since_of(since), limit=limit or _TRACES, only_failed=only_failed, is_silent=no_publish)


def _records(
    targets: Sequence[str], file_format: Format, store: str | None, stored: set[str], backends: _BackendRuns
) -> Iterator[LoadedRecord]:
    """The runs that are named; the ids of those from the run store are added to ``stored``."""
    for target in targets:
        if _is_url(target):
            yield from backends.read(target)
            continue
        for record in records_of(target, file_format=file_format, store=store):
            if not is_path(target):
                stored.add(record.source)
            yield record


def _keep(store: str | None, results: Sequence[Diagnosed]) -> None:
    """Keep diagnoses of stored runs with the runs; where the store does not take one, a line says so."""
    from tracer_hooks.telemetry import ContentPolicy, redacted_attribution

    policy = ContentPolicy.of_record()
    for result in results:
        if result.attribution is None:
            continue
        try:
            with existing_store(store, read_only=False) as kept:
                kept.set_attribution(result.source, redacted_attribution(result.attribution, policy))
        except StoreError as error:
            err().print(f"the diagnosis is not kept with the run: {error}", style="yellow", soft_wrap=True)


def _write_report(report: Path, results: Sequence[Diagnosed]) -> None:
    from tracer_hooks.report import write_html, write_index

    entries = [(result.source, _report_run(result) or result.error or "no diagnosis") for result in results]
    first = entries[0][1] if len(entries) == 1 else ""
    with writing_page(report, option="--report"):
        if not isinstance(first, str):
            write_html(report, first)
        else:
            write_index(report, entries)
    err().print(f"report: {report}", soft_wrap=True)


def _report_run(result: Diagnosed) -> ReportRun | None:
    from tracer_hooks.report import ReportAttempt, ReportRun

    if result.trajectory is None or result.attribution is None:
        return None
    attempt = ReportAttempt(number=1, trajectory=result.trajectory, attribution=result.attribution, notes=result.notes)
    return ReportRun(attempts=[attempt])


def _show(result: Diagnosed) -> None:
    from tracer_hooks.report import diagnosis_text

    out().rule(result.source, align="left", style="dim")
    if result.attribution is None or result.trajectory is None:
        out().print(f"cannot be diagnosed: {result.error}", style="red", soft_wrap=True)
    else:
        for note in result.notes:
            out().print(note, style="dim", soft_wrap=True)
        out().print(diagnosis_text(result.trajectory, result.attribution))


def _print_markdown(result: Diagnosed) -> None:
    """The diagnosis in Markdown; text of the run is escaped."""
    from tracer_hooks.report import suggestion
    from tracer_hooks.schema import ExplanationLine, explanation

    if result.attribution is None or result.trajectory is None:
        lines = [ExplanationLine("heading", f"{result.source}: cannot be diagnosed: {result.error}")]
    else:
        lines = [*explanation(result.attribution)]
        told = suggestion(result.attribution, result.trajectory)
        if told and not result.attribution.advice:
            lines.append(ExplanationLine("advice", told))
    out().print(*(line.markdown for line in lines), sep="\n", markup=False, highlight=False, soft_wrap=True)


def _summarise(results: Sequence[Diagnosed]) -> None:
    """How many runs came to what; of one run that was diagnosed, nothing that does not stand above."""
    found = [result.attribution for result in results if result.attribution is not None]
    named = sum(each.certainty in ("clear", "likely") for each in found)
    if len(results) > 1:
        _say_counts(len(results), named, len(found) - named, len(results) - len(found))


def _say_counts(runs: int, named: int, without: int, failed: int) -> None:
    parts = ((named, "with a step to blame"), (without, "without"), (failed, "that could not be diagnosed"))
    said = ", ".join(f"{count} {words}" for count, words in parts if count)
    err().print(f"{counted(runs, 'run')}{': ' if said else ''}{said}", soft_wrap=True)


def _is_store(target: str) -> bool:
    """Tell whether a target is the URL of a run store."""
    return target.lower().startswith(("sqlite:", "postgresql:", "postgresql+psycopg:", "postgres:"))


def _is_url(target: str) -> bool:
    """Tell whether a target is the URL of a backend, and no path, run or store."""
    return "://" in target and not _is_store(target)


@dataclass(kw_only=True)
class _BackendRuns:
    """Runs of the projects that URLs name, and where each of them is from."""

    since: datetime | None
    """Only traces that began then or later."""
    limit: int
    """So many traces of each project at most."""
    only_failed: bool
    """Only traces that the backend shows as failed."""
    is_silent: bool
    """Nothing is written back."""
    _origins: dict[str, Destination] = field(default_factory=dict)

    def read(self, url: str) -> Iterator[LoadedRecord]:
        """The runs of the project, newest first; where the backend cannot be read, the reason, and no more of them.

        Raises:
            ConfigError: The URL cannot be used.
        """
        from tracer_hooks.datasets import refused
        from tracer_hooks.publishing import destinations_of, traces_in

        for destination in destinations_of(url):
            is_empty = True
            try:
                for record in traces_in(destination, since=self.since, limit=self.limit, only_failed=self.only_failed):
                    is_empty = False
                    self._origins[record.source] = destination
                    yield record
            except BackendError as error:  # one result, as of a file that cannot be read
                is_empty = False
                yield refused(url, str(error))
            if is_empty:
                hint = "failed trace; --failed reads the others, and says that they failed"
                err().print(f"{destination.title} shows no {hint if self.only_failed else 'trace'}", soft_wrap=True)

    def write_back(self, results: Sequence[Diagnosed], progress: ProgressDisplay) -> bool:
        """Write each diagnosis that says something to its trace, and say how many; False if one cannot be written."""
        from tracer_hooks.telemetry import Capture

        if self.is_silent:
            return True
        capture = Capture(CaptureConfig.from_env())
        problems: list[str] = []
        for destination in dict.fromkeys(self._origins.values()):
            mine = [each.told for each in results if self._origins.get(each.source) == destination]
            told = [each for each in mine if each is not None]
            written = 0
            for trajectory, attribution in told:
                error = _written(destination, trajectory, attribution, capture)
                if error is None:
                    written += 1
                else:
                    problems.append(str(error))
                    if error.kind not in ("missing", "refused"):  # the backend itself: others come to no more
                        break
                progress.update(destination.url, f"writing to {destination.url}", written, len(told))
            said = f"{written} of {counted(len(told), 'diagnosis', 'diagnoses')} written to {destination.title}"
            if not told:
                said = f"nothing is written to {destination.title}: no run is said to have failed, no step is named"
            elif written and capture.export_policy.blocks_all:
                said += ", without texts of the runs; TRACER_HOOKS_CAPTURE=redacted sends what was found, too"
            err().print(said, soft_wrap=True)
        for problem in dict.fromkeys(problems):
            err().print(problem, style="red", soft_wrap=True)
        return not problems


def _written(
    destination: Destination, trajectory: Trajectory, attribution: Attribution, capture: Capture
) -> BackendError | None:
    """None, or why a diagnosis cannot be written."""
    from tracer_hooks.publishing import publish_now

    try:
        publish_now(destination, trajectory, attribution, capture)
    except BackendError as error:
        return error
    return None
