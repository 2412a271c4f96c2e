"""Runs that were read, diagnosed: what the command line prints of each, and what a batch writes down."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tracer_hooks._flight import REQUESTS, in_order
from tracer_hooks.datasets import LoadedRecord, OutcomeOverride, OutcomeSource, lacks
from tracer_hooks.diagnosis import (
    Attributor,
    ContrastAttributor,
    EnsembleAttributor,
    Scorer,
    diagnose_each,
    explainer,
    get_attributor,
)
from tracer_hooks.errors import ConfigError
from tracer_hooks.runtime import FiledRuns
from tracer_hooks.schema import Attribution, Trajectory

_ANSWER = "the final answer"
_AT_ONCE = 4


@dataclass(frozen=True, kw_only=True)
class DiagnoseSettings:
    """How runs are diagnosed, in whatever process."""

    attributor: str = "auto"
    """Who diagnoses."""
    passing: Path | None = None
    """Runs of the team that passed, to compare with."""
    stated: OutcomeOverride = field(default_factory=OutcomeOverride)
    """What is said of every run."""
    explain: bool = False
    """Whether the judge's model says what each diagnosis means."""
    concurrency: int | None = None
    """Requests to a model that each process has under way; None for what is usual."""

    def prepare(self) -> None:
        """Load all that diagnosing needs, once in each process.

        Raises:
            ConfigError: There is no such attributor, or no model to explain with.
            MissingExtraError: Something that it needs is not installed.
        """
        if self.concurrency is not None:
            REQUESTS.set(self.concurrency)
        attributor_of(self.attributor, self.passing)
        _explainer(self.explain)


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


def diagnosed(records: Sequence[LoadedRecord], settings: DiagnoseSettings) -> Generator[Diagnosed, None, None]:
    """Each of ``records`` with its diagnosis, in their order; one that cannot be diagnosed says why."""
    read = [
        settings.stated.of(record.trajectory) if record.error is None and record.trajectory is not None else None
        for record in records
    ]
    given = [run.trajectory for run in read if run is not None]

    def in_words(pair: tuple[Trajectory, Attribution | Exception]) -> Attribution | Exception:
        run, answer = pair
        return answer if isinstance(answer, Exception) else _explainer(settings.explain)(run, answer)

    asked = ((run, settings.stated.expected) for run in given)
    found = diagnose_each(asked, attributor=attributor_of(settings.attributor, settings.passing))
    pairs = zip(given, found, strict=True)
    answers = in_order(in_words, pairs, settings.concurrency or _AT_ONCE) if settings.explain else map(in_words, pairs)
    for record, run in zip(records, read, strict=True):
        if run is None:
            yield Diagnosed(source=record.source, error=str(record.error or "no trajectory"))
            continue
        answer = next(answers)
        yield Diagnosed(
            source=record.source,
            trajectory=run.trajectory,
            attribution=None if isinstance(answer, Exception) else answer,
            error=f"{type(answer).__name__}: {answer}" if isinstance(answer, Exception) else None,
            outcome_source=run.source,
            note=run.note,
        )


@cache
def attributor_of(name: str, passing: Path | None) -> Attributor:
    """The attributor of a call, made once in each process: making it may read a model."""
    if passing is None:
        return get_attributor(name)
    contrast = ContrastAttributor(passing=FiledRuns(passing))
    if name == contrast.name:
        return contrast
    made = EnsembleAttributor() if name == "auto" else get_attributor(name)
    if isinstance(made, EnsembleAttributor):
        return made.with_member(contrast.name, contrast)
    if isinstance(made, Scorer):
        return EnsembleAttributor({made.name: made}, shares={made.name: 1.0}).with_member(contrast.name, contrast)
    raise ConfigError(f"the attributor {name!r} cannot be joined with passing runs, expected 'contrast' or 'ensemble'")


_explainer = cache(explainer)


def _fidelity(missing: Sequence[str]) -> str:
    """One sentence on what a trace lacks; empty where nothing is missing."""
    if not missing:
        return ""
    listed = missing[0] if len(missing) == 1 else f"{', '.join(missing[:-1])} and {missing[-1]}"
    return f"This trace lacks {listed}: expect lower accuracy."
