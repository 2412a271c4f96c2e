"""``tracer-hooks diagnose``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracer_hooks._flight import in_order
from tracer_hooks._lazy import require
from tracer_hooks.cli._backends import BackendRuns, is_url
from tracer_hooks.cli._options import (
    Concurrency,
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
)
from tracer_hooks.cli.console import FAILED, ProgressDisplay, err, out, print_json, writing_page
from tracer_hooks.errors import ConfigError, StoreError

if TYPE_CHECKING:  # at run time with the work: help and usage errors need no records
    from tracer_hooks.datasets import LoadedRecord, OutcomeOverride, OutcomeSource
    from tracer_hooks.diagnosis import Attributor
    from tracer_hooks.report import ReportRun
    from tracer_hooks.schema import Attribution, Trajectory
    from tracer_hooks.telemetry import LateEmitter

_BATCH = 64
_TRACES = 100
_AT_ONCE = 4
_ANSWER = "the final answer"


class Engine(StrEnum):
    """Place where the work is done."""

    LOCAL = "local"
    RAY = "ray"


def diagnose_command(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH|RUN|URL...",
            help="Files, folders, ids of stored runs, or projects such as phoenix://localhost:6006/project and "
            "mlflow://localhost:5000/experiment.",
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
    engine: Annotated[Engine, typer.Option(help="Work in this process, or spread over a Ray cluster.")] = Engine.LOCAL,
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
    and each diagnosis is written to its trace.
    """
    from tracer_hooks.datasets import OutcomeOverride
    from tracer_hooks.diagnosis import explainer
    from tracer_hooks.telemetry import LateEmitter

    if as_json and as_markdown:
        raise ConfigError("--json and --markdown exclude each other, expected one of them")
    stated = stated_by(failed=failed, outcome=outcome, reason=reason, expected=expected)
    backends = _backends(targets, since, limit, no_publish, only_failed=stated == OutcomeOverride())
    attributor_of(attributor, passing)  # a wrong name or a missing extra ends the call before any work
    explained = explainer(explain)
    attribute: Callable[..., Iterator[Attribution | str]] = _in_process
    if engine is Engine.RAY:
        attribute = partial(_on_ray, require("ray", extra="ray", feature="diagnosing on a Ray cluster"))
    emitter = LateEmitter()  # for a command that runs under opentelemetry-instrument
    stored: set[str] = set()
    records = _records(targets, file_format, store, stored, backends)
    results = []
    with ProgressDisplay(err(), transient=True, on_terminals_only=True, hidden=as_json) as progress:
        progress.update("runs", "diagnosing", 0, None)
        while batch := list(itertools.islice(records, _BATCH)):
            answers = partial(attribute, attributor, passing, expected)
            at_once = (concurrency or _AT_ONCE) if explain else 0
            with closing(_diagnosed(batch, stated, answers, explained, emitter, at_once)) as found:
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


def _backends(
    targets: Sequence[str], since: str | None, limit: int | None, no_publish: bool, *, only_failed: bool
) -> BackendRuns:
    if (since is not None or limit is not None or no_publish) and not all(map(is_url, targets)):
        raise ConfigError("--since, --limit and --no-publish are for URLs such as phoenix://localhost:6006/project")
    return BackendRuns(since=since_of(since), limit=limit or _TRACES, only_failed=only_failed, is_silent=no_publish)


def _records(
    targets: Sequence[str], file_format: Format, store: Path | None, stored: set[str], backends: BackendRuns
) -> Iterator[LoadedRecord]:
    """The runs that are named; the ids of those from the run store are added to ``stored``."""
    for target in targets:
        if is_url(target):
            yield from backends.read(target)
            continue
        for record in records_of(target, file_format=file_format, store=store):
            if not is_path(target):
                stored.add(record.source)
            yield record


def _keep(store: Path | None, results: Sequence[Diagnosed]) -> None:
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


@dataclass(frozen=True, kw_only=True)
class Diagnosed:
    """One input with its diagnosis or its error."""

    source: str
    trajectory: Trajectory | None = None
    attribution: Attribution | None = None
    error: str | None = None
    outcome_source: OutcomeSource = "trace"
    note: str = ""
    """Who decided the outcome, in a sentence; empty where the trace did."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Return what the trace lacks, in words."""
        from tracer_hooks.datasets import lacks

        if self.trajectory is None:
            return ()
        found = lacks(self.trajectory)  # a conversation's last message is its answer, so that it lacks none
        return found if self.trajectory.trace_id is not None else tuple(part for part in found if part != _ANSWER)

    @property
    def told(self) -> tuple[Trajectory, Attribution] | None:
        """Return run and diagnosis where that says something of the trace: the run failed, or a step is named."""
        if self.trajectory is None or self.attribution is None:
            return None
        is_named = self.attribution.certainty in ("clear", "likely")
        return (self.trajectory, self.attribution) if is_named or self.trajectory.outcome == "failed" else None

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what a reader should know beside the diagnosis."""
        return tuple(note for note in (self.note, _fidelity(self.missing)) if note)

    def to_dict(self) -> dict[str, Any]:
        """The result as the command line's contract has it."""
        if self.attribution is None or self.trajectory is None:
            return {"source": self.source, "error": self.error or "no diagnosis"}
        run = self.trajectory
        data = self.attribution.model_dump(mode="json", include=set(_ORDER))
        blamed = None if self.attribution.step is None else run.steps[self.attribution.step]
        data.update(
            certainty=self.attribution.certainty,
            headline=self.attribution.headline,
            abstention_reason=self.attribution.abstained_reason,
            outcome=run.outcome.value,
            outcome_reason=run.outcome_reason,
            outcome_source=self.outcome_source,
            lacks=list(self.missing),
            team=run.team,
            trace_id=run.trace_id,
            span_id=None if blamed is None else blamed.span_id,
            final_answer=run.final_output,
            findings=[{key: each[key] for key in _FINDING} for each in data["findings"]],
            provenance=[{key: each[key] for key in _LINK} for each in data["provenance"]],
            evidence=[self._with_agent(each) for each in data["evidence"]],
        )
        result = {"source": self.source, **{key: data[key] for key in _ORDER}}
        if (words := self.attribution.explanation) is not None:
            result["explanation"] = {**words.model_dump(mode="json", exclude={"usage"}), "tokens": words.usage.total}
        return result

    def _with_agent(self, evidence: dict[str, Any]) -> dict[str, Any]:
        steps = self.trajectory.steps if self.trajectory is not None else ()
        place = evidence.pop("step")
        return {"step": place, "agent": steps[place].agent if place < len(steps) else None, **evidence}


_ORDER = (
    "run_id", "outcome", "outcome_reason", "outcome_source", "agent", "step", "certainty", "error_mode", "confidence",
    "agent_confidence", "candidates", "faults", "evidence", "provenance", "abstained", "abstention_reason", "lacks",
    "attributor", "elapsed_s", "headline", "findings", "advice", "expected", "got", "final_answer", "team", "trace_id",
    "span_id",
)  # fmt: skip
_FINDING = ("kind", "detail", "step", "agent", "quote", "text", "values")
_LINK = ("value", "step", "origin", "source")


def _diagnosed(
    batch: Sequence[LoadedRecord],
    stated: OutcomeOverride,
    attribute: Callable[[Sequence[Trajectory]], Iterator[Attribution | str]],
    explained: Callable[[Trajectory, Attribution], Attribution],
    emitter: LateEmitter,
    at_once: int,
) -> Generator[Diagnosed, None, None]:
    read = [
        stated.of(record.trajectory) if record.error is None and record.trajectory is not None else None
        for record in batch
    ]
    given = [run.trajectory for run in read if run is not None]

    def in_words(pair: tuple[Trajectory, Attribution | str]) -> Attribution | str:
        return pair[1] if isinstance(pair[1], str) else explained(pair[0], pair[1])

    pairs = zip(given, attribute(given), strict=True)
    answers = in_order(in_words, pairs, at_once) if at_once else map(in_words, pairs)
    for record, run in zip(batch, read, strict=True):
        if run is None:
            yield Diagnosed(source=record.source, error=str(record.error or "no trajectory"))
            continue
        answer = next(answers)
        found = None if isinstance(answer, str) else answer
        if found is not None:
            emitter.emit(run.trajectory, found)
        yield Diagnosed(
            source=record.source,
            trajectory=run.trajectory,
            attribution=found,
            error=answer if isinstance(answer, str) else None,
            outcome_source=run.source,
            note=run.note,
        )


def _on_ray(
    ray: Any, attributor: str, passing: Path | None, expected: str | None, trajectories: Sequence[Trajectory]
) -> Iterator[Attribution | str]:
    remote = ray.remote(attribute_one)
    return iter(ray.get([remote.remote(attributor, trajectory, passing, expected) for trajectory in trajectories]))


def _in_process(
    attributor: str, passing: Path | None, expected: str | None, trajectories: Sequence[Trajectory]
) -> Iterator[Attribution | str]:
    from tracer_hooks.diagnosis import diagnose_each

    asked = ((trajectory, expected) for trajectory in trajectories)
    for answer in diagnose_each(asked, attributor=attributor_of(attributor, passing)):
        yield f"{type(answer).__name__}: {answer}" if isinstance(answer, Exception) else answer


@cache
def attributor_of(name: str, passing: Path | None) -> Attributor:
    """The attributor of a call, made once in each process: making it may read a model."""
    from tracer_hooks.diagnosis import EnsembleAttributor, Scorer, get_attributor

    if passing is None:
        return get_attributor(name)
    from tracer_hooks.diagnosis import ContrastAttributor
    from tracer_hooks.runtime import FiledRuns

    contrast = ContrastAttributor(passing=FiledRuns(passing))
    if name == contrast.name:
        return contrast
    made = EnsembleAttributor() if name == "auto" else get_attributor(name)
    if isinstance(made, EnsembleAttributor):
        return made.with_member(contrast.name, contrast)
    if isinstance(made, Scorer):
        return EnsembleAttributor({made.name: made}, shares={made.name: 1.0}).with_member(contrast.name, contrast)
    raise ConfigError(f"the attributor {name!r} cannot be joined with passing runs, expected 'contrast' or 'ensemble'")


def attribute_one(
    attributor: str, trajectory: Trajectory, passing: Path | None = None, expected: str | None = None
) -> Attribution | str:
    """The diagnosis of one trajectory, or the reason why there is none."""
    return next(_in_process(attributor, passing, expected, [trajectory]))


def _write_report(report: Path, results: Sequence[Diagnosed]) -> None:
    from tracer_hooks.report import IndexEntry, write_html, write_index

    entries = [IndexEntry(source=result.source, run=_report_run(result), problem=result.error) for result in results]
    with writing_page(report, option="--report"):
        if len(entries) == 1 and entries[0].run is not None:
            write_html(report, entries[0].run)
        else:
            write_index(report, entries)
    err().print(f"report: {report}", soft_wrap=True)


def _report_run(result: Diagnosed) -> ReportRun | None:
    from tracer_hooks.report import ReportAttempt, ReportRun

    if result.trajectory is None or result.attribution is None:
        return None
    attempt = ReportAttempt(number=1, trajectory=result.trajectory, attribution=result.attribution, notes=result.notes)
    return ReportRun(attempts=[attempt])


def _fidelity(missing: Sequence[str]) -> str:
    """One sentence on what a trace lacks; empty where nothing is missing."""
    if not missing:
        return ""
    listed = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} and {missing[-1]}"
    return f"This trace lacks {listed}: expect lower accuracy."


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
    parts = (
        (named, "with a step to blame"),
        (len(found) - named, "without"),
        (len(results) - len(found), "that could not be diagnosed"),
    )
    if len(results) > 1:
        said = ", ".join(f"{count} {words}" for count, words in parts if count)
        err().print(f"{len(results)} runs: {said}", soft_wrap=True)
