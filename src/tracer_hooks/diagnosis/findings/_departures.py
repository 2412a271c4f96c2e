"""Departures of a run's values as findings: what was followed back, recomputed or compared with a record."""

from __future__ import annotations

from collections.abc import Iterator

from tracer_hooks.diagnosis._provenance import Departure, DepartureKind, provenance_of
from tracer_hooks.diagnosis._reading._run import RunReading
from tracer_hooks.diagnosis._reading._text import find_value
from tracer_hooks.diagnosis.findings._kind import finding
from tracer_hooks.schema import Finding, FindingKind, RunOutcome

SURE = 0.7
"""Strength from which a departure is a finding; weaker ones only help to rank the steps."""


def sure_departures(run: RunReading, *kinds: DepartureKind) -> Iterator[Departure]:
    """The departures of these kinds that are sure enough to be told."""
    return (each for each in provenance_of(run).departures if each.kind in kinds and each.strength >= SURE)


def from_departure(
    run: RunReading, kind: FindingKind, departure: Departure, *, detail: str = "", subject: str | None = None
) -> Finding:
    """A departure as a finding of one kind."""
    why, step, quote = departure.why[:1].upper() + departure.why[1:], departure.step, departure.quote
    first = _first_said(run, departure) if kind is FindingKind.RECORD_CONTRADICTED else None
    if first is not None:
        why, step, quote = f"{why}; it says so first in step {first}", first, run.locate(first, departure.value or "")
    return finding(
        run,
        kind,
        why,
        step=step,
        detail=detail,
        quote=quote,
        claimed=departure.value,
        right=departure.right or departure.missing,
        source=departure.sources[0] if departure.sources else None,
        subject=subject,
        leads_to_answer=leads(run, departure),
    )


def leads(run: RunReading, departure: Departure) -> bool:
    """Tell whether a failure rests on a departure: the answer was followed back to it, or it was an act on a record."""
    acts_on_it = departure.is_recorded and bool(run.steps[departure.step].tool_calls)
    number = (departure.value or "").split(" ")[0]
    is_answered = (
        departure.kind is DepartureKind.MISCALCULATED
        and len(number) > 1
        and find_value(run.final_text, number) >= 0
        and find_value(run.trajectory.task, number) < 0
    )
    is_failed = run.trajectory.outcome is RunOutcome.FAILED
    return is_failed and (departure.leads_to_answer or acts_on_it or is_answered)


def _first_said(run: RunReading, departure: Departure) -> int | None:
    """The step in which the agent of a departure from a record said the value before, as nobody else had; else None."""
    if not departure.is_recorded or departure.value is None:
        return None
    for index in range(departure.step):
        if any(run.locate(index, departure.value, part) is not None for part in ("content", "arguments")):
            return index if run.steps[index].agent == run.steps[departure.step].agent else None
        if run.locate(index, departure.value) is not None:
            return None
    return None
