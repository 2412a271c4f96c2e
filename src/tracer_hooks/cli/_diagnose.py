"""``tracer-hooks diagnose``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from rich.progress import Progress

from tracer_hooks._optional import require
from tracer_hooks.attribution import (
    Attributor,
    EnsembleAttributor,
    Scorer,
    diagnose_each,
    diagnose_trajectory,
    get_attributor,
)
from tracer_hooks.cli._console import DONE, FAILED, err, out, print_json
from tracer_hooks.cli._fidelity import fidelity_line, missing_from
from tracer_hooks.cli._inputs import FileFormat, records_of
from tracer_hooks.datasets import LoadedRecord, OutcomeSource, Stated
from tracer_hooks.errors import ConfigError, TracerHooksError
from tracer_hooks.report import IndexEntry, ReportAttempt, ReportRun, diagnosis_text, write_html, write_index
from tracer_hooks.schema import Attribution, Trajectory

_BATCH = 64


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
        """What the trace lacks, in words."""
        return missing_from(self.trajectory) if self.trajectory is not None else ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know beside the diagnosis."""
        return tuple(one for one in (self.note, fidelity_line(self.missing)) if one)

    def to_dict(self) -> dict[str, Any]:
        """The result as the command line's contract has it."""
        if self.attribution is None or self.trajectory is None:
            return {"source": self.source, "error": self.error or "no diagnosis"}
        data = self.attribution.model_dump(mode="json", include=_KEYS)
        data["certainty"] = self.attribution.certainty
        data["abstention_reason"] = self.attribution.abstained_reason
        data["outcome"] = self.trajectory.outcome.value
        data["outcome_reason"] = self.trajectory.outcome_reason
        data["outcome_source"] = self.outcome_source
        data["lacks"] = list(self.missing)
        data["provenance"] = [{key: one[key] for key in _LINK} for one in data["provenance"]]
        data["evidence"] = [self._with_agent(one) for one in data["evidence"]]
        return {"source": self.source, **{key: data[key] for key in _ORDER}}

    def _with_agent(self, evidence: dict[str, Any]) -> dict[str, Any]:
        steps = self.trajectory.steps if self.trajectory is not None else ()
        place = evidence.pop("step")
        return {"step": place, "agent": steps[place].agent if place < len(steps) else None, **evidence}


_ORDER = (
    "run_id",
    "outcome",
    "outcome_reason",
    "outcome_source",
    "agent",
    "step",
    "certainty",
    "error_mode",
    "confidence",
    "agent_confidence",
    "candidates",
    "faults",
    "evidence",
    "provenance",
    "abstained",
    "abstention_reason",
    "lacks",
    "attributor",
    "elapsed_s",
)
_LINK = ("value", "step", "origin", "source")
_KEYS = set(_ORDER) & set(Attribution.model_fields)


@dataclass(frozen=True, kw_only=True)
class DiagnoseJob:
    """One call of the command."""

    targets: Sequence[str]
    """Paths, and ids of stored runs."""
    attributor: str
    file_format: FileFormat
    as_json: bool
    report: Path | None
    engine: str
    passing: Path | None = None
    stated: Stated = field(default_factory=Stated)
    store: Path | None = None

    def run(self) -> int:
        """Diagnose everything, bad records set apart; gives the exit code."""
        attributor_of(self.attributor, self.passing)  # a wrong name or a missing extra ends the call before any work
        ray = require("ray", extra="ray", feature="diagnosing on a Ray cluster") if self.engine == "ray" else None
        results = []
        # Results go to stdout; a live display would send them to its own console.
        with Progress(
            console=err(), transient=True, disable=self.as_json, redirect_stdout=False, redirect_stderr=False
        ) as progress:
            task = progress.add_task("diagnosing", total=None)
            for batch in _batches(self._records()):
                for result in self._diagnose(batch, ray):
                    results.append(result)
                    progress.advance(task)
                    if not self.as_json:
                        _show(result)
        self._write_reports(results)
        if self.as_json:
            print_json({"results": [result.to_dict() for result in results]})
        else:
            _summarise(results)
        return FAILED if any(result.error is not None for result in results) else DONE

    def _records(self) -> Iterator[LoadedRecord]:
        for target in self.targets:
            yield from records_of(target, file_format=self.file_format, store=self.store)

    def _diagnose(self, batch: Sequence[LoadedRecord], ray: Any) -> Iterator[Diagnosed]:
        read = [
            self.stated.of(record.trajectory) if record.error is None and record.trajectory is not None else None
            for record in batch
        ]
        attributions = self._attribute([run.trajectory for run in read if run is not None], ray)
        for record, run in zip(batch, read, strict=True):
            if run is None:
                yield Diagnosed(source=record.source, error=str(record.error or "no trajectory"))
                continue
            answer = next(attributions)
            yield Diagnosed(
                source=record.source,
                trajectory=run.trajectory,
                attribution=answer if isinstance(answer, Attribution) else None,
                error=None if isinstance(answer, Attribution) else answer,
                outcome_source=run.source,
                note=run.note,
            )

    def _attribute(self, trajectories: Sequence[Trajectory], ray: Any) -> Iterator[Attribution | str]:
        told = (self.passing, self.stated.expected)
        if ray is not None:
            remote = ray.remote(attribute_one)
            calls = [remote.remote(self.attributor, trajectory, *told) for trajectory in trajectories]
            return iter(ray.get(calls))
        asked = ((trajectory, self.stated.expected) for trajectory in trajectories)
        answers = diagnose_each(asked, attributor=attributor_of(self.attributor, self.passing))
        return (one if isinstance(one, Attribution) else _failure(one) for one in answers)

    def _write_reports(self, results: Sequence[Diagnosed]) -> None:
        if self.report is None:
            return
        entries = [
            IndexEntry(source=result.source, run=_report_run(result), problem=result.error) for result in results
        ]
        try:
            if len(entries) == 1 and entries[0].run is not None:
                write_html(self.report, entries[0].run)
            else:
                write_index(self.report, entries)
        except OSError as error:
            raise TracerHooksError(
                f"cannot write {str(self.report)!r}: {error.strerror}; expected a path for --report"
            ) from error
        err().print(f"report: {self.report}", soft_wrap=True)


@cache
def attributor_of(name: str, passing: Path | None) -> Attributor:
    """The attributor of a call, made once in each process: making it may read a model.

    Args:
        name: A name, or the directory of a fitted attributor.
        passing: Runs that passed, for the attributor ``contrast``; with any other name it joins an ensemble.
    """
    if passing is None:
        return get_attributor(name)
    from tracer_hooks._api import contrast_attributor

    contrast = contrast_attributor(passing=passing)
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
    try:
        return diagnose_trajectory(trajectory, attributor=attributor_of(attributor, passing), reference=expected)
    except Exception as error:  # one odd trajectory must not stop the others
        return _failure(error)


def _failure(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _batches(records: Iterator[LoadedRecord]) -> Iterator[list[LoadedRecord]]:
    while batch := list(itertools.islice(records, _BATCH)):
        yield batch


def _report_run(result: Diagnosed) -> ReportRun | None:
    if result.trajectory is None or result.attribution is None:
        return None
    attempt = ReportAttempt(number=1, trajectory=result.trajectory, attribution=result.attribution, notes=result.notes)
    return ReportRun(attempts=[attempt])


def _show(result: Diagnosed) -> None:
    out().rule(result.source, align="left", style="dim")
    if result.attribution is None or result.trajectory is None:
        out().print(f"cannot be diagnosed: {result.error}", style="red", soft_wrap=True)
    else:
        for note in result.notes:
            out().print(note, style="dim", soft_wrap=True)
        out().print(diagnosis_text(result.trajectory, result.attribution))


def _summarise(results: Sequence[Diagnosed]) -> None:
    named = sum(1 for r in results if r.attribution is not None and not r.attribution.abstained)
    abstained = sum(1 for r in results if r.attribution is not None and r.attribution.abstained)
    failed = sum(1 for r in results if r.error is not None)
    inputs = "1 input" if len(results) == 1 else f"{len(results)} inputs"
    err().print(f"{inputs}: {named} attributed, {abstained} abstained, {failed} not diagnosed")
